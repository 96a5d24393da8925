//! The backend model as tables of (time, what comes out).

use testbed_core::codel::Codel;
use testbed_core::distribution::Distribution;
use testbed_core::hold::{Feed, Hold};
use testbed_core::quantity::Share;
use testbed_core::rng::Streams;
use testbed_core::service::{
    Calls, Contention, Discipline, Expired, HttpFault, Knee, Reject, Request, Rule, Service,
    ServiceConfig, SlowStart, Which,
};
use testbed_core::time::{Nanos, Time};
use testbed_core::trace::{Rows, Trace};

fn ms(ms: u64) -> Time {
    Time::ZERO.after(Nanos::from_millis(ms))
}

fn backend(servers: u32, service: Distribution, backlog: u32) -> Service<u32> {
    Service::new(&ServiceConfig::new(servers, service, backlog), &Streams::new(1))
}

fn arrive(service: &mut Service<u32>, at: Time, job: u32) {
    service.arrive(at, Request::CALL, job);
}

fn rejecting(reject: Reject) -> Vec<Rule> {
    vec![Rule { name: "storm".to_owned(), fault: HttpFault::Reject(reject) }]
}

fn constant(servers: u32, backlog: u32) -> Service<u32> {
    backend(servers, Distribution::Constant(Nanos::from_millis(10)), backlog)
}

fn recorded(services_ms: &[u64]) -> Distribution {
    let services = services_ms.iter().map(|ms| Nanos::from_millis(*ms)).collect();
    let rows = Rows::default().with_services(services);
    let (file, arm, sha256, classes) = ("t.csv".to_owned(), None, None, Vec::new());
    Distribution::Trace(Trace { file, arm, sha256, rows: rows.into(), classes })
}

/// Lets the model go on by itself: everything that comes out, as (ms, job, status).
fn run(service: &mut Service<u32>) -> Vec<(f64, u32, u16)> {
    let mut out = Vec::new();
    while let Some(at) = service.next_wake() {
        while let Some(released) = service.release(at) {
            assert_eq!(released.served.lateness, Nanos::ZERO, "virtual answers are never late");
            out.push((at.as_secs_f64() * 1e3, released.job, released.status));
        }
    }
    out
}

#[test]
fn servers_work_side_by_side_and_the_backlog_is_first_come_first_served() {
    let mut service = constant(2, 10);
    (0..5).for_each(|job| arrive(&mut service, ms(0), job));
    let out = [(10.0, 0, 200), (10.0, 1, 200), (20.0, 2, 200), (20.0, 3, 200), (30.0, 4, 200)];
    assert_eq!(run(&mut service), out);
}

#[test]
fn those_at_work_make_each_other_slower_as_they_begin() {
    let knee = Some(Knee { after: 2, grows: Share::percent(100) });
    let contention = Contention { linear: Share::percent(10), knee };
    let service = Distribution::Constant(Nanos::from_millis(10));
    let config = ServiceConfig { contention, ..ServiceConfig::new(4, service, 100) };
    assert_eq!(config.contention.best(4), 2);
    assert!((config.capacity(4) - 2.0 / 0.011).abs() < 1e-9);
    let mut service = Service::new(&config, &Streams::new(1));
    // 1.0, 1.1, 1.2 + 1 and 1.3 + 3 times 10 ms, as many begin; then each with the three that still are.
    (0..6).for_each(|job| arrive(&mut service, ms(0), job));
    let out = [(10.0, 0), (11.0, 1), (22.0, 2), (43.0, 3), (53.0, 4), (54.0, 5)];
    assert_eq!(run(&mut service), out.map(|(at, job)| (at, job, 200)));
}

/// One server that takes 10 ms, and this for those that wait.
fn queueing(queue: Discipline, expired: Expired) -> Service<u32> {
    let service = Distribution::Constant(Nanos::from_millis(10));
    let config = ServiceConfig { queue, expired, ..ServiceConfig::new(1, service, 100) };
    Service::new(&config, &Streams::new(1))
}

#[test]
fn lifo_serves_the_newest_of_those_that_wait() {
    let mut service = queueing(Discipline::Lifo, Expired::Serve);
    (0..4).for_each(|job| arrive(&mut service, ms(u64::from(job)), job));
    assert_eq!(run(&mut service), [(10.0, 0, 200), (20.0, 3, 200), (30.0, 2, 200), (40.0, 1, 200)]);
}

#[test]
fn what_nobody_waits_for_any_more_takes_no_server_if_it_is_to_be_dropped() {
    for (expired, out) in [
        (Expired::Serve, &[(10.0, 0, 200), (20.0, 1, 200), (30.0, 2, 200), (40.0, 3, 200)][..]),
        // Their clients wait 15 ms: at 20 ms, when the server is free again, those of 1 and 2 have gone.
        (Expired::Drop, &[(10.0, 0, 200), (20.0, 1, 200), (30.0, 3, 200)]),
        // At 10 ms those of 1 and 2 wait 6 ms more, which is too short for 10 ms of service.
        (Expired::DropHopeless, &[(10.0, 0, 200), (29.0, 3, 200)]),
    ] {
        let mut service = queueing(Discipline::Fifo, expired);
        for (job, at) in [(0, 0), (1, 1), (2, 1), (3, 19)] {
            let patience = Some(Nanos::from_millis(15));
            let request = Request { patience, ..Request::CALL };
            while let Some(at) = service.next_wake().filter(|wake| *wake <= ms(at)) {
                assert!(service.release(at).is_some());
            }
            service.arrive(ms(at), request, job);
        }
        let late = |(at, ..): &&(f64, u32, u16)| *at > 19.0;
        let expected: Vec<_> = out.iter().filter(late).copied().collect();
        assert_eq!(run(&mut service), expected, "{expired:?}");
        assert_eq!(service.look(ms(50)).in_system, 0, "{expired:?}");
    }
}

#[test]
fn codel_turns_away_what_has_waited_above_its_target_for_an_interval() {
    let mut service = queueing(Discipline::Codel(Codel::default()), Expired::Serve);
    (0..40).for_each(|job| arrive(&mut service, ms(0), job));
    let away = run(&mut service).into_iter().filter(|(.., status)| *status == 503);
    let away: Vec<_> = away.map(|(at, job, _)| (at, job)).collect();
    // Waits are above 5 ms from 10 ms on, so the first goes at 110. A turn that is given away goes to
    // the next at once, so 11 is turned away at 110, 22 at 210, 30 at 290 (due at 280.7) and so on.
    assert_eq!(away, [(111.0, 11), (211.0, 22), (291.0, 31), (341.0, 37)]);
}

#[test]
fn background_jobs_fill_the_servers_up_to_the_utilisation_that_is_held() {
    let milliseconds = Nanos::from_millis;
    for (servers, held, every_ms, expected) in
        [(1, 50, 0, 0.5), (8, 85, 0, 0.85), (8, 85, 4, 0.85), (8, 10, 4, 0.32)]
    {
        let mut service = backend(servers, Distribution::Exponential(milliseconds(10)), 10_000);
        let hold = Hold::Utilisation { share: Share::percent(held), tolerance: Share::percent(1) };
        service.set_hold(ms(0), Some(hold));
        // Requests by themselves: 250 a second of 10 ms keep 2.5 servers busy, 31 % of 8. There is
        // background only while they keep fewer than 0.8 busy: e^-2.5 of the time, another 0.8 %.
        let mut answered = 0;
        for at in 0..100_000 {
            while service.next_wake().is_some_and(|wake| wake <= ms(at)) {
                let wake = service.next_wake().expect("there is one");
                answered += u32::from(service.release(wake).is_some());
            }
            if every_ms > 0 && at % every_ms == 0 {
                arrive(&mut service, ms(at), 0);
            }
        }
        let measured = service.look(ms(100_000)).utilisation;
        assert!((measured - expected).abs() < 0.015, "{servers} servers at {held} %: {measured}");
        assert_eq!(answered > 0, every_ms > 0, "nobody is answered who has not asked");
        service.set_hold(ms(100_000), None);
        run(&mut service);
        assert_eq!(service.look(ms(200_000)).in_system, 0);
        assert_eq!(service.next_wake(), None, "no background without a hold");
    }
}

#[test]
fn background_jobs_stand_still_with_the_backend_and_come_again_after_it() {
    let mut service = backend(4, Distribution::Exponential(Nanos::from_millis(10)), 100);
    let hold = Hold::Utilisation { share: Share::percent(50), tolerance: Share::percent(1) };
    service.set_frozen(ms(0), true);
    service.set_hold(ms(10), Some(hold));
    service.set_servers(ms(20), None);
    assert_eq!(service.next_wake(), None);
    service.set_frozen(ms(50), false);
    assert!(service.next_wake().is_some_and(|wake| wake > ms(50)));
    while service.next_wake().is_some_and(|wake| wake <= ms(20_000)) {
        let wake = service.next_wake().expect("there is one");
        assert!(service.release(wake).is_none(), "nobody has asked");
    }
    let measured = service.look(ms(20_000)).utilisation;
    assert!((measured - 0.5).abs() < 0.03, "{measured}");
}

#[test]
fn what_cannot_work_is_refused() {
    let invalid = |yaml: &str| {
        let yaml = serde_yaml::Deserializer::from_str(yaml);
        let config: ServiceConfig =
            serde_yaml::with::singleton_map_recursive::deserialize(yaml).expect("a backend");
        config.invalid().into_iter().map(|(at, invalid)| (at, invalid.field)).collect::<Vec<_>>()
    };
    let service = "servers: 1, service: { constant: 1ms }";
    for (yaml, expected) in [
        (format!("{{ {service} }}"), vec![]),
        (format!("{{ {service}, queue: lifo, expired: drop }}"), vec![]),
        (format!("{{ {service}, queue: {{ codel: {{}} }} }}"), vec![]),
        (
            format!("{{ {service}, queue: {{ codel: {{ interval: 0s }} }} }}"),
            vec![("queue/codel", "interval")],
        ),
        (
            "{ servers: 1, service: { bimodal: { fast: 2ms, slow: 1ms, share: 1% } } }".to_owned(),
            vec![("service", "bimodal/slow")],
        ),
    ] {
        assert_eq!(invalid(&yaml), expected, "{yaml}");
    }
}

#[test]
fn what_does_not_fit_into_the_backlog_gets_503() {
    let mut service = constant(1, 1);
    (0..3).for_each(|job| arrive(&mut service, ms(0), job));
    assert_eq!(run(&mut service), [(1.0, 2, 503), (10.0, 0, 200), (20.0, 1, 200)]);
}

#[test]
fn a_server_takes_the_next_job_when_it_became_free_however_late_that_is_noticed() {
    let mut service = constant(1, 10);
    arrive(&mut service, ms(0), 0);
    arrive(&mut service, ms(0), 1);
    let first = service.release(ms(17));
    assert_eq!(
        first.map(|r| (r.job, r.served.age, r.served.lateness)),
        Some((0, Nanos::from_millis(17), Nanos::from_millis(7)))
    );
    assert_eq!(service.next_wake(), Some(ms(20)), "not 27");
}

#[test]
fn rejections_take_no_server_and_keep_to_their_calls() {
    let mut service = constant(1, 10);
    let which = Which { calls: Some(Calls { from: 1, until: 3 }), ..Which::ALL };
    service.set_rules(rejecting(Reject { which, ..Reject::all(429) }));
    (0..4).for_each(|job| arrive(&mut service, ms(0), job));
    assert_eq!(run(&mut service), [(1.0, 1, 429), (1.0, 2, 429), (10.0, 0, 200), (20.0, 3, 200)]);
}

#[test]
fn the_nth_call_takes_as_long_whatever_was_rejected_before() {
    let exponential = || backend(64, Distribution::Exponential(Nanos::from_millis(10)), 10);
    let departures = |rejected: bool| {
        let mut service = exponential();
        if rejected {
            let share = Share::new(0.5).expect("within 0 to 1");
            let which = Which { share, ..Which::ALL };
            let reject = Reject { after: Nanos::ZERO, which, ..Reject::all(429) };
            service.set_rules(rejecting(reject));
        }
        (0..50).for_each(|job| arrive(&mut service, ms(0), job));
        run(&mut service)
    };
    let all = departures(false);
    let some: Vec<_> = departures(true).into_iter().filter(|(.., status)| *status == 200).collect();
    assert!(some.len() > 10 && some.len() < 40);
    assert!(some.iter().all(|served| all.contains(served)));
}

#[test]
fn a_latency_hold_keeps_answers_until_that_age_and_lifting_it_lets_them_go() {
    let mut service = constant(8, 10);
    service.set_hold(ms(0), Some(Hold::Latency(Nanos::from_millis(30))));
    arrive(&mut service, ms(0), 0);
    arrive(&mut service, ms(5), 1);
    assert!(service.release(ms(29)).is_none());
    assert_eq!(service.release(ms(30)).map(|r| r.job), Some(0));
    assert!(service.release(ms(31)).is_none());
    service.set_hold(ms(31), None);
    assert_eq!(service.release(ms(31)).map(|r| r.job), Some(1));
}

#[test]
fn a_scale_hold_stretches_service_that_starts_under_it() {
    let mut service = constant(8, 10);
    arrive(&mut service, ms(0), 0);
    service.set_hold(ms(0), Some(Hold::Scale(1.43)));
    arrive(&mut service, ms(0), 1);
    assert_eq!(run(&mut service), [(10.0, 0, 200), (14.3, 1, 200)]);
}

#[test]
fn a_gradient_hold_is_decided_at_release_by_the_baseline_of_that_moment() {
    let feed = |baseline_ms| Feed {
        baseline: Some(Nanos::from_millis(baseline_ms)),
        overhead: Nanos::ZERO,
    };
    let mut service = constant(8, 10);
    service.feed(feed(10));
    service.set_hold(ms(0), Some(Hold::Gradient { gradient: 0.5, at_most: Nanos::from_secs(1) }));
    arrive(&mut service, ms(0), 0);
    arrive(&mut service, ms(0), 1);
    assert!(service.release(ms(10)).is_none(), "ready, and held");
    assert_eq!(service.next_wake(), Some(ms(20)));
    assert_eq!(service.release(ms(20)).map(|r| r.job), Some(0));
    assert!(service.release(ms(20)).is_none(), "the client has not reacted to the first yet");
    service.feed(feed(11));
    assert!(service.release(ms(20)).is_none(), "its baseline moved: the second is held longer");
    assert_eq!(service.next_wake(), Some(ms(22)));
    assert_eq!(service.release(ms(22)).map(|r| r.job), Some(1));
}

#[test]
fn utilisation_is_the_share_of_busy_servers_since_the_last_look() {
    let mut service = constant(2, 10);
    arrive(&mut service, ms(0), 0);
    assert_eq!(service.look(ms(5)).utilisation, 0.5);
    assert_eq!(service.release(ms(10)).map(|r| r.job), Some(0));
    let state = service.look(ms(15));
    assert_eq!((state.utilisation, state.in_system), (0.25, 0));
}

#[test]
fn what_stands_still_goes_on_as_if_that_time_had_not_been() {
    let mut service = constant(1, 10);
    (0..2).for_each(|job| arrive(&mut service, ms(0), job));
    service.set_frozen(ms(4), true);
    arrive(&mut service, ms(5), 2);
    service.set_rules(rejecting(Reject { after: Nanos::ZERO, ..Reject::all(429) }));
    arrive(&mut service, ms(6), 3);
    assert_eq!(service.next_wake(), None);
    assert!(service.release(ms(50)).is_none());
    assert_eq!((service.look(ms(50)).in_system, service.look(ms(50)).queued), (4, 3));
    service.set_frozen(ms(104), false);
    let out = [(104.0, 3, 429), (110.0, 0, 200), (120.0, 1, 200), (130.0, 2, 200)];
    assert_eq!(run(&mut service), out);
}

#[test]
fn fewer_servers_let_go_on_what_has_begun_and_more_begin_at_once() {
    let mut service = constant(4, 10);
    (0..8).for_each(|job| arrive(&mut service, ms(0), job));
    service.set_servers(ms(5), Some(1));
    let mut out = Vec::new();
    while let Some(at) = service.next_wake().filter(|at| *at <= ms(20)) {
        while let Some(released) = service.release(at) {
            out.push((at, released.job));
        }
    }
    assert_eq!(out, [(ms(10), 0), (ms(10), 1), (ms(10), 2), (ms(10), 3), (ms(20), 4)]);
    service.set_servers(ms(22), None);
    assert_eq!(run(&mut service), [(30.0, 5, 200), (32.0, 6, 200), (32.0, 7, 200)]);
}

#[test]
fn servers_that_start_slowly_get_faster_from_the_moment_that_is_switched_on() {
    let mut service = constant(8, 10);
    let half = Share::new(0.5).expect("within 0 to 1");
    let start = |name: &str, over_ms| {
        let over = Nanos::from_millis(over_ms);
        (name.to_owned(), SlowStart { from: half, over })
    };
    service.set_slow_starts(ms(100), &[start("cold", 100)]);
    // What is switched beside it does not begin it anew; of two the slower counts.
    let both = [start("cold", 100), start("brief", 10)];
    for (at, on, done) in [
        (100, &both[..1], 120.0),
        (110, &both[..], 130.0),
        (150, &both[..], 150.0 + 10.0 / 0.75),
        (160, &both[..1], 160.0 + 10.0 / 0.8),
        (200, &both[..1], 210.0),
        (210, &[], 220.0),
        (220, &both[..1], 240.0),
    ] {
        service.set_slow_starts(ms(at), on);
        arrive(&mut service, ms(at), 0);
        let out = run(&mut service);
        assert!((out[0].0 - done).abs() < 1e-5, "at {at} ms: {out:?}, not {done}");
    }
    assert!(SlowStart { from: half, over: Nanos::ZERO }.invalid().len() == 1);
    let never = SlowStart { from: Share::new(0.0).expect("within 0 to 1"), over: Nanos::ZERO };
    assert_eq!(never.invalid().len(), 2);
}

#[test]
fn recorded_service_times_are_taken_in_the_order_of_arrival() {
    let mut service = backend(8, recorded(&[30, 5, 20]), 10);
    (0..4).for_each(|job| arrive(&mut service, Time::ZERO, job));
    assert_eq!(run(&mut service), [(5.0, 1, 200), (20.0, 2, 200), (30.0, 0, 200), (30.0, 3, 200)]);
}
