//! The shell in the simulated world: faults on the way, ends of runs, conservation.

use super::*;
use crate::drive::interrupt::Interrupt;
use crate::drive::sim::Sim;
use crate::experiment::{Overrides, load};
use testbed_core::time::Nanos;

/// Counts what a run did.
#[derive(Default, Debug)]
struct Count {
    arrived: u64,
    admitted: u64,
    outcomes: [u64; Outcome::ALL.len()],
    rejected: u64,
    abandoned: u64,
    rtts: Vec<(Time, Nanos)>,
    faults: Vec<(String, bool)>,
    makespan: Option<Nanos>,
    ended: bool,
}

impl Observer for Count {
    fn on_event(&mut self, now: Time, event: &Event<'_>) {
        assert!(!self.ended, "nothing follows the end");
        match event {
            Event::Arrived { .. } => self.arrived += 1,
            Event::Admitted { .. } => self.admitted += 1,
            Event::Finished { sample, .. } => {
                self.outcomes[sample.outcome as usize] += 1;
                self.rtts.push((now, sample.rtt()));
            }
            Event::Rejected { .. } => self.rejected += 1,
            Event::Abandoned { .. } => self.abandoned += 1,
            Event::Fault { name, on, .. } => self.faults.push(((*name).to_owned(), *on)),
            Event::InputDone { makespan, .. } => self.makespan = Some(*makespan),
            Event::End => self.ended = true,
            _ => {}
        }
    }
}

impl Count {
    fn of(&self, outcome: Outcome) -> u64 {
        self.outcomes[outcome as usize]
    }
}

fn plan(rest: &str) -> Plan {
    let text = format!(
        "version: 1\nname: test\narms: {{ one: {{ controller: {{ fixed: {{ limit: 4 }} }} }} }}\n\
         backend: {{ servers: 8, service: {{ constant: 10ms }} }}\n{rest}"
    );
    load("test", &text, &Overrides::default()).unwrap_or_else(|report| panic!("{report}"))
}

fn run(plan: &Plan, interrupt: Interrupt) -> (Result<Ending, WorldError>, Count) {
    let mut count = Count::default();
    let sim = Sim::new(&plan.arms, &Streams::new(plan.seed), interrupt).with_patience(100_000);
    let ending = Shell::new(plan, sim, &mut count).run();
    (ending, count)
}

fn complete(rest: &str) -> Count {
    let (ending, count) = run(&plan(rest), Interrupt::default());
    assert_eq!(ending.unwrap(), Ending::Complete);
    assert!(count.ended);
    let finished: u64 = count.outcomes.iter().sum();
    assert_eq!(finished, count.admitted, "every ticket ended");
    let gone = count.admitted + count.rejected + count.abandoned;
    assert_eq!(count.arrived, gone, "nothing was lost");
    count
}

const CLOSED: &str = "load: { closed: { clients: 6 } }\n";
const PHASES: &str =
    "phases: [ { name: a, for: 1s }, { name: b, for: 1s }, { name: c, for: 1s } ]\n";

#[test]
fn a_window_of_4_does_400_a_second_of_10_ms() {
    let count = complete(&format!("{CLOSED}{PHASES}"));
    assert_eq!(count.of(Outcome::Success), 4 * 300);
    assert_eq!((count.of(Outcome::Cancelled), count.abandoned), (4, 2), "six clients at the end");
}

#[test]
fn a_client_that_has_waited_for_too_long_is_told_and_asks_again() {
    // Whoever is answered asks again at once and is the newest, so of six clients four have all the places.
    // The two others leave each 15 ms and ask again: 2 x 3 s / 15 ms = 400, but those at the very end.
    let admission = "admission: { queue: lifo, max_wait: 15ms }\n";
    let count = complete(&format!("{CLOSED}{PHASES}{admission}"));
    assert_eq!(count.of(Outcome::Success), 4 * 300, "none of the places is lost");
    assert!((396..=400).contains(&count.rejected), "{} were turned away", count.rejected);
}

#[test]
fn a_latency_toxic_adds_to_every_round_trip_of_its_phase_and_no_other() {
    let fault = "faults: [ { name: far, during: b, toxic: { latency: { latency: 5ms } } } ]\n";
    let count = complete(&format!("{CLOSED}{PHASES}{fault}"));
    let within = |phase: u64| {
        let bounds =
            (Nanos::from_millis(phase * 1000 + 20), Nanos::from_millis(phase * 1000 + 1000));
        let inside =
            move |at: &Time| *at > Time::ZERO.after(bounds.0) && *at < Time::ZERO.after(bounds.1);
        count.rtts.iter().filter(move |(at, _)| inside(at)).map(|(_, rtt)| rtt.get())
    };
    assert!(within(0).all(|ns| ns == 10_000_000));
    assert!(within(1).all(|ns| ns == 15_000_000));
    assert!(within(2).all(|ns| ns == 10_000_000));
    assert_eq!(count.faults, [("far".to_owned(), true), ("far".to_owned(), false)]);
}

#[test]
fn a_proxy_that_is_down_fails_what_is_under_way_and_what_comes() {
    let fault = "faults: [ { name: cut, during: b, proxy: down } ]\n";
    let load = "load: { closed: { clients: 6, think: { constant: 1ms } } }\n";
    let count = complete(&format!("{load}{PHASES}{fault}"));
    let failed: Vec<_> = count.rtts.iter().filter(|(_, rtt)| rtt.get() < 10_000_000).collect();
    assert!(count.of(Outcome::Error) > 100, "clients go on trying");
    assert!(failed.iter().all(|(at, _)| *at >= Time::ZERO.after(Nanos::from_secs(1))));
    let last_second = Time::ZERO.after(Nanos::from_millis(2020));
    let end = Time::ZERO.after(Nanos::from_secs(3));
    let recovered = count.rtts.iter().filter(|(at, _)| *at > last_second && *at < end);
    assert!(
        recovered.clone().count() > 200
            && recovered.clone().all(|(_, rtt)| rtt.get() == 10_000_000)
    );
}

#[test]
fn equal_faults_that_overlap_end_each_by_itself() {
    let storm = "backend: { reject: { status: 429 } }";
    let fault = format!("faults: [ {{ name: f, during: b, {storm} }}, {{ name: g, {storm} }} ]\n");
    let count = complete(&format!("{CLOSED}{PHASES}{fault}"));
    assert_eq!(count.of(Outcome::Success), 0, "the second goes on when the first has ended");
    let down = "faults: [ { name: f, during: b, proxy: down }, { name: g, proxy: down } ]\n";
    let load = "load: { closed: { clients: 6, think: { constant: 10ms } } }\n";
    let count = complete(&format!("{load}{PHASES}{down}"));
    assert_eq!(count.of(Outcome::Success), 0);
}

#[test]
fn a_flushed_input_takes_one_round_trip_and_a_gated_one_several() {
    for (end_of_input, round_trips) in [("gated", 3), ("flush", 1)] {
        let load = format!("load: {{ input: {{ requests: 12, end_of_input: {end_of_input} }} }}\n");
        // The eight servers are enough for all but four of a flush: those wait for the second turn.
        let expected = if end_of_input == "flush" { 2 } else { round_trips };
        let count = complete(&format!("{load}{PHASES}"));
        assert_eq!(count.makespan, Some(Nanos::from_millis(10 * expected)), "{end_of_input}");
    }
}

#[test]
fn clients_that_think_ask_after_their_thought() {
    let load = "load: { closed: { clients: 4, think: { constant: 10ms } } }\n";
    let count = complete(&format!("{load}{PHASES}"));
    assert_eq!(count.of(Outcome::Success), 4 * 150);
}

#[test]
fn an_interrupted_run_heals_its_faults_and_ends_every_ticket() {
    let fault = "faults: [ { name: far, toxic: { latency: { latency: 5ms } } } ]\n";
    let interrupt = Interrupt::default();
    interrupt.raise(Signal::Interrupt);
    let (ending, count) = run(&plan(&format!("{CLOSED}{PHASES}{fault}")), interrupt);
    assert_eq!(ending.unwrap(), Ending::Interrupted(Signal::Interrupt));
    assert_eq!(count.faults, [("far".to_owned(), true), ("far".to_owned(), false)]);
    assert_eq!(count.of(Outcome::Cancelled), count.admitted);
    assert!(count.ended);
}

#[test]
fn time_that_stands_still_is_an_error_and_no_hang() {
    // A proxy that is down answers in 100 us, rejections in 0s pass the check only with a range.
    let fault = "faults: [ { name: spin, backend: { reject: { status: 429, after: 0s, calls: { from: 0, until: 18446744073709551615 } } } } ]\n";
    let (ending, count) = run(&plan(&format!("{CLOSED}{PHASES}{fault}")), Interrupt::default());
    assert!(matches!(ending, Err(WorldError::StandsStill { .. })));
    assert!(count.ended, "tickets have ended even so");
}

#[test]
fn clients_give_up_what_takes_too_long_and_go_on() {
    let fault = "faults: [ { name: stuck, during: b, backend: { hold: { latency: 10s } } } ]\n";
    let impatient = "client: { timeout: 101ms }\n";
    let count = complete(&format!("{CLOSED}{PHASES}{fault}{impatient}"));
    // Four go each 101 ms in the second phase. Those on at its end are answered: the hold is lifted.
    assert_eq!(count.of(Outcome::Timeout), 4 * 9);
    let in_time = Nanos::from_millis(101);
    assert!(count.rtts.iter().all(|(_, rtt)| *rtt <= in_time), "nobody waits for longer");
    assert!(count.of(Outcome::Success) > 4 * 190, "the phases around it are as ever");
}

#[test]
fn a_timeout_that_nobody_reaches_changes_nothing() {
    let patient = "client: { timeout: 10s }\n";
    let rtts = |rest: &str| complete(&format!("{CLOSED}{PHASES}{rest}")).rtts;
    assert_eq!(rtts(patient), rtts(""));
}

#[test]
fn a_fault_can_begin_and_end_within_its_phase() {
    let storm = "backend: { reject: { status: 429 } }";
    for (when, begin_ms, end_ms) in [
        ("during: b, at: 300ms, for: 200ms", 1300, 1500),
        ("at: 300ms, for: 200ms", 300, 500),
        ("during: b, at: 300ms", 1300, 2000),
        ("for: 200ms", 0, 200),
    ] {
        let fault = format!("faults: [ {{ name: f, {when}, {storm} }} ]\n");
        let fault = &plan(&format!("{CLOSED}{PHASES}{fault}")).faults[0];
        let ms = |ms| Time::ZERO.after(Nanos::from_millis(ms));
        assert_eq!((fault.begin, fault.end), (ms(begin_ms), ms(end_ms)), "{when}");
    }
}

#[test]
fn what_fails_is_tried_again_and_a_client_goes_on_when_it_is_over() {
    let load = "load: { closed: { clients: 1, think: { constant: 100ms } } }\n";
    let storm = "faults: [ { name: f, during: a, backend: { reject: { status: 429 } } } ]\n";
    for (client, instants) in [
        // Answers take 1 ms. The back-off doubles; then the client gives up, thinks and asks anew.
        ("{ retry: { times: 2, first: 200ms } }", &[1, 202, 603, 704, 905][..]),
        ("{ retry: { times: 1, first: 200ms } }", &[1, 202, 303, 504]),
        ("{}", &[1, 102, 203, 304]),
    ] {
        let count = complete(&format!("{load}{PHASES}{storm}client: {client}\n"));
        let ms = |(at, _): &(Time, Nanos)| at.as_nanos() / 1_000_000;
        let ends: Vec<_> = count.rtts.iter().map(ms).take(instants.len()).collect();
        assert_eq!(ends, instants, "{client}");
    }
}

#[test]
fn a_retry_is_not_given_up_by_the_timeout_of_the_attempt_before() {
    // Rejected after 1 ms, tried again 89 ms later: at 90 ms. The first attempt's 95 ms are over at
    // 95 ms, when the second is under way.
    let load = "load: { closed: { clients: 1, think: { constant: 1s } } }\n";
    let storm = "faults: [ { name: f, for: 50ms, backend: { reject: { status: 429 } } } ]\n";
    let client = "client: { timeout: 95ms, retry: { times: 1, first: 89ms } }\n";
    let count = complete(&format!("{load}{PHASES}{storm}{client}"));
    assert_eq!((count.of(Outcome::Timeout), count.of(Outcome::Overload)), (0, 1));
    assert_eq!(count.rtts[1].1, Nanos::from_millis(10));
}

#[test]
fn an_input_is_done_when_the_last_of_its_retries_is() {
    let load = "load: { input: { requests: 12 } }\n";
    let storm = "faults: [ { name: f, for: 50ms, backend: { reject: { status: 429 } } } ]\n";
    let client = "client: { retry: { times: 1, first: 100ms } }\n";
    let count = complete(&format!("{load}{PHASES}{storm}{client}"));
    // Four a millisecond are turned away; 12 come again 100 ms later, 4, 4 and 4.
    assert_eq!((count.of(Outcome::Overload), count.of(Outcome::Success)), (12, 12));
    assert_eq!(count.makespan, Some(Nanos::from_millis(131)));
}

#[test]
fn a_deadline_ends_what_is_under_way_and_what_still_waits_is_not_sent() {
    // Four at a time, 10 ms each: 4 are done at 10 ms, 4 at 20 ms, 4 are under way at 25 ms and 2 wait.
    let input = "load: { input: { requests: 14 } }\nclient: { deadline: 25ms }\n";
    let count = complete(&format!("{input}{PHASES}"));
    let ended = Outcome::ALL.map(|outcome| count.of(outcome));
    assert_eq!(ended, [8, 0, 0, 4, 2], "ok, overload, error, timeout, cancelled");
    assert_eq!(count.makespan, Some(Nanos::from_millis(25)));
}

#[test]
fn arms_that_share_a_backend_get_together_what_it_can_do() {
    let successes = |share: &str| {
        let arm = "{ controller: { fixed: { limit: 8 } } }";
        let text = format!(
            "version: 1\nname: test\n{share}\narms: {{ one: {arm}, two: {arm} }}\n\
             backend: {{ servers: 8, service: {{ constant: 10ms }} }}\n\
             load: {{ closed: {{ clients: 8 }} }}\n{PHASES}"
        );
        let plan = load("test", &text, &Overrides::default()).unwrap_or_else(|e| panic!("{e}"));
        let (ending, count) = run(&plan, Interrupt::default());
        assert_eq!(ending.unwrap(), Ending::Complete);
        count.of(Outcome::Success)
    };
    // 8 servers do 800 a second; the last 8 or 16 are under way at the end of the 3 s.
    assert_eq!(successes(""), 2 * 2400);
    assert_eq!(successes("share: backend"), 2400);
    assert_eq!(successes("share: { groups: { both: [two, one] } }"), 2400);
}
