use super::*;

fn at(ms: u64) -> Time {
    Time::from_nanos(ms * 1_000_000)
}

fn answer(law: &mut Envoy, start_ms: u64, rtt_ms: u64) -> Decision {
    let (start, end) = (at(start_ms), at(start_ms + rtt_ms));
    let sample = Sample {
        start,
        sent: start,
        end,
        in_flight_at_start: 1,
        in_flight_at_end: 1,
        limit_at_start: 1,
        outcome: Outcome::Success,
        bytes: 0,
    };
    law.on_sample(end, &sample)
}

/// A law that has measured 10 ms as the minimum by 500 ms.
fn measured(config: Config) -> Envoy {
    let mut law = config.build(&Streams::new(1));
    for request in 0..50 {
        assert_eq!(law.baseline, None);
        let _ = answer(&mut law, request * 10, 10);
    }
    assert_eq!(law.baseline, Some(Nanos::from_millis(10)));
    law
}

/// Updates, each after an answer of `rtt_ms`, until the limit passes `is_there`.
fn updates_until(law: &mut Envoy, rtt_ms: u64, mut is_there: impl FnMut(u64) -> bool) -> u32 {
    let mut updates = 0;
    while !is_there(law.limit()) {
        let due = law.next_wake().unwrap();
        let _ = answer(law, due.as_nanos() / 1_000_000 - rtt_ms, rtt_ms);
        let _ = law.on_wake(due);
        updates += 1;
    }
    updates
}

#[test]
fn an_idle_backend_lets_it_grow_from_3_to_1000_in_17_updates() {
    let mut law = measured(Config::default());
    assert_eq!(law.limit(), 3);
    assert_eq!(updates_until(&mut law, 10, |limit| limit == 1000), 17);
}

#[test]
fn a_held_gradient_of_08_settles_near_20() {
    let mut law = measured(Config { buffer: Coefficient::percent(0), ..Config::default() });
    law.window = 100.0;
    law.baseline = Some(Nanos::from_millis(80));
    updates_until(&mut law, 100, |limit| limit <= 20);
    let mut before = 0;
    updates_until(&mut law, 100, |limit| std::mem::replace(&mut before, limit) == limit);
    assert_eq!(law.limit(), 20);
}

#[test]
fn five_updates_at_the_floor_measure_anew_and_old_requests_do_not_count() {
    let mut law = measured(Config::default());
    // 125 ms are 10 times the minimum with its buffer: the gradient is 0.5.
    for _ in 0..5 {
        let due = law.next_wake().unwrap();
        let _ = answer(&mut law, due.as_nanos() / 1_000_000 - 125, 125);
        assert!(
            matches!(law.on_wake(due), Decision::Updated(update) if update.reason == "gradient")
        );
    }
    let due = law.next_wake().unwrap();
    assert!(matches!(law.on_wake(due), Decision::Updated(update) if update.reason == "measure"));
    assert_eq!(law.next_wake(), None, "only answers end a measurement");
    let now_ms = due.as_nanos() / 1_000_000;
    for request in 0..60 {
        assert_eq!(answer(&mut law, now_ms - 1, 200 + request), Decision::Waiting);
    }
    for request in 0..50 {
        let _ = answer(&mut law, now_ms + request, 125);
    }
    assert_eq!(law.baseline, Some(Nanos::from_millis(125)));
}

#[test]
fn measurements_come_by_their_interval_and_up_to_a_jitter_more() {
    let config = Config { min_rtt_interval: Nanos::from_secs(10), ..Config::default() };
    let mut law = measured(config);
    law.window = 200.0;
    let mut due = at(500);
    while !matches!(law.phase, Phase::Measuring { .. }) {
        due = law.next_wake().unwrap();
        let _ = law.on_wake(due);
    }
    assert!((10_500..12_000).contains(&(due.as_nanos() / 1_000_000)), "{due}");
    assert_eq!(law.limit(), 3, "pinned");
    for request in 0..50 {
        let _ = answer(&mut law, 20_000 + request, 10);
    }
    assert_eq!(law.limit(), 200, "restored");
}
