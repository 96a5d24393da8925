//! Fair queueing, worked by hand: requests of one second and servers that are always at work.

use super::*;

/// Who is worked for in each of so many seconds, `servers` at a time, if of each flow as many come at the
/// beginning of each second as `demand` says of it.
fn served(
    start: Start,
    servers: usize,
    seconds: u64,
    demand: impl Fn(u64) -> Vec<u32>,
) -> Vec<Vec<u32>> {
    let second = Nanos::from_secs(1);
    let mut flows = Flows::new(Fair { start, guess: second, ..Fair::default() });
    let names: Vec<_> = (0..9).map(|n| n.to_string()).collect();
    let (mut at_work, mut served) = (Vec::new(), Vec::new());
    for at in 0..seconds {
        let now = Time::ZERO.after(Nanos::from_secs(at));
        let demand = demand(at);
        for (name, count) in names.iter().zip(&demand) {
            for _ in 0..*count {
                let request = Request { arm: Some(name), ..Request::CALL };
                let (flow, slot) = (flows.arrive(now, request), 0);
                flows.push(Waiting { slot, since: now, until: Time::NEVER, service: second, flow });
            }
        }
        at_work.drain(..).for_each(|flow| flows.end(now, flow, second));
        let mut counts = vec![0; demand.len()];
        while at_work.len() < servers
            && let Some(next) = flows.pop(now)
        {
            flows.begin(now, next.flow);
            at_work.push(next.flow);
            counts[next.flow as usize - 1] += 1;
        }
        served.push(counts);
    }
    served
}

/// The report: 3 a second, of which one flow asks for 2 and the other for 1, and after 20 s for 2.
fn report(at: u64) -> Vec<u32> {
    vec![2, if at < 20 { 1 } else { 2 }]
}

#[test]
fn who_asked_for_less_makes_up_for_all_of_it_or_only_for_what_is_not_behind() {
    // start -> for how many seconds the first has no more than 1
    for (start, held_back) in [(Start::MayLag, 20), (Start::NotBehind, 10)] {
        let served = served(start, 3, 60, report);
        assert!(served[..20].iter().all(|counts| *counts == [2, 1]), "{start:?}: {served:?}");
        let at_most_one = served[20..].iter().take_while(|counts| counts[0] <= 1).count();
        assert!(at_most_one.abs_diff(held_back) <= 1, "{start:?}: {at_most_one} s");
        let later: u32 = served[50..].iter().map(|counts| counts[0]).sum();
        assert_eq!(later, 15, "{start:?}: half of 10 s, which is what is fair");
    }
}

#[test]
fn flows_that_always_wait_get_the_same_whatever_their_number() {
    for start in [Start::MayLag, Start::NotBehind] {
        let served = served(start, 4, 60, |_| vec![9, 4, 2]);
        let sum = |flow: usize| served.iter().map(|counts| counts[flow]).sum::<u32>();
        // 4 a second: 2 are asked for by the last, which is more than a third, 80 of 240.
        assert!((0..3).all(|flow| sum(flow).abs_diff(80) <= 1), "{start:?}: {served:?}");
    }
}

#[test]
fn what_was_guessed_is_put_right_once_it_is_known() {
    let guess = Nanos::from_millis(3);
    let mut flows = Flows::new(Fair { guess, ..Fair::default() });
    let ms = |ms| Time::ZERO.after(Nanos::from_millis(ms));
    let long = flows.arrive(ms(0), Request { arm: Some("long"), ..Request::CALL });
    flows.begin(ms(0), long);
    assert_eq!(flows.start_ns(long as usize), 3e6);
    flows.end(ms(10), long, Nanos::from_millis(10));
    assert_eq!(flows.start_ns(long as usize), 10e6);
    // One server at work for one flow: global time has grown as much.
    assert_eq!(flows.global_ns, 10e6);
}

#[test]
fn who_comes_after_the_last_name_is_one_of_those_without() {
    let mut flows = Flows::new(Fair::default());
    let mut arrive = |name: Option<&str>| {
        flows.arrive(Time::ZERO, Request { arm: name, ..Request::CALL }) as usize
    };
    let indices: Vec<_> = (0..70).map(|n| arrive(Some(&format!("arm{n}")))).collect();
    assert_eq!(indices[..MAX_FLOWS], (1..=MAX_FLOWS).collect::<Vec<_>>());
    assert!(indices[MAX_FLOWS..].iter().all(|index| *index == 0));
    assert_eq!((arrive(None), arrive(Some("arm3"))), (0, 4));
}
