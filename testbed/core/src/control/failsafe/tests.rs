use super::super::Update;
use super::*;

/// A window of 50 successes that took `rtt_ms`, `in_flight` of them at a time; the window's update.
fn window(law: &mut Failsafe, second: u64, rtt_ms: u64, in_flight: u32) -> Update {
    let mut last = None;
    for step in 0..50 {
        let end = Time::from_nanos(second * 1_000_000_000 + 500_000_000 + step * 10_000_000 + 1);
        let start = Time::ZERO.after(end.since(Time::ZERO).minus(Nanos::from_millis(rtt_ms)));
        let sample = Sample {
            start,
            sent: start,
            end,
            in_flight_at_start: in_flight,
            in_flight_at_end: in_flight,
            limit_at_start: law.limit(),
            outcome: Outcome::Success,
            bytes: 0,
        };
        if let Decision::Updated(update) = law.on_sample(end, &sample) {
            last = Some(update);
        }
    }
    last.expect("50 successes, a second after the last window, end one")
}

/// `count` windows alike, from `second` on.
fn windows(law: &mut Failsafe, second: u64, count: u64, rtt_ms: u64, in_flight: u32) -> Update {
    let run = (second..second + count).map(|second| window(law, second, rtt_ms, in_flight));
    run.last().unwrap()
}

#[test]
fn without_a_queue_it_grows_by_one_a_window_up_to_what_is_used() {
    let mut law = Config::default().build(&Streams::new(1));
    let update = windows(&mut law, 1, 5, 20, 20);
    assert_eq!((update.new, update.reason), (25.0, "short_queue"));
    let update = windows(&mut law, 6, 30, 20, 2);
    // Ten is five times the two in flight: there it turns.
    assert!((9.0..=10.0).contains(&update.new), "{update:?}");
}

#[test]
fn a_tripled_rtt_is_a_queue_until_the_baseline_has_followed() {
    let mut law = Config::default().build(&Streams::new(1));
    let _ = windows(&mut law, 1, 12, 20, 10);
    let before = law.window();
    let reasons: Vec<_> = (20..80).map(|second| window(&mut law, second, 60, 10).reason).collect();
    assert!(reasons.contains(&"queue"), "{reasons:?}");
    assert_eq!(reasons.last(), Some(&"short_queue"), "{reasons:?}");
    assert!(law.window() > before, "an incident has become the yardstick");
}

#[test]
fn when_more_in_flight_only_makes_it_slower_a_full_window_shrinks() {
    let mut law = Config { baseline_age: 1, ..Config::default() }.build(&Streams::new(1));
    // Throughput stands still: latency in proportion to what is in flight.
    let mut reasons = Vec::new();
    for second in 1..40 {
        let in_flight = law.limit();
        reasons.push(window(&mut law, second, in_flight, in_flight as u32).reason);
    }
    let by_correlation = ["throughput", "throughput_and_rtt", "steady_throughput"];
    assert!(reasons.iter().any(|reason| by_correlation.contains(reason)), "{reasons:?}");
}
