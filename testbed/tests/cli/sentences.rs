//! Expectations about values that are known exactly, down to the nanosecond.

use crate::support::Scratch;

/// Answers after exactly 5 ms, one every 10 ms. In `short` one request arrives, and the end of the
/// run cuts it off after 2 ms.
const EXACT: &str = "
version: 1
name: exact
arms: { a: { controller: { fixed: { limit: 10 } } } }
backend: { servers: 10, service: { constant: 5ms } }
load: { open: { constant: { rate: 100/s } } }
phases: [{ name: steady, for: 1s }, { name: short, for: 2ms }]
expect: [{ id: sentence, that: max(controller.limit) == 10 }]
";

/// That each sentence comes true over the whole run.
fn assert_true(sentences: &[&str]) {
    let scratch = Scratch::new();
    scratch.file("exact.yaml", EXACT);
    for sentence in sentences {
        let set = format!("expect[0].that={sentence}");
        let finished = scratch.run(&["run", "exact.yaml", "--set", &set]);
        assert_eq!(finished.code, 0, "{sentence}: {}", finished.stdout);
    }
}

#[test]
fn a_value_exactly_on_its_bound_is_within_it() {
    assert_true(&[
        "mean(backend.age) == 5ms",
        "p50(backend.age) within 5ms +- 5us",
        "max(admission.wait) == 0s",
        "last(rpc.ok) == 100",
        "time_to(rpc.ok >= 10) <= 100ms",
        "mean(admission.in_flight) within 0.5 +- 0.01",
        "mean(backend.utilisation) within 5% +- 0.1%",
    ]);
}

#[test]
fn the_least_and_the_greatest_of_a_distribution_are_exact_and_bound_its_percentiles() {
    assert_true(&[
        "min(backend.age) >= 5ms",
        "max(backend.age) <= 5ms",
        "p1(backend.age) >= 5ms",
        "p50(backend.age) <= 5ms",
        "p99(backend.age) <= 5ms",
    ]);
}

#[test]
fn the_last_value_is_the_last_there_was_though_the_last_phase_had_none() {
    assert_true(&["last(backend.age) == 5ms"]);
}

#[test]
fn a_request_that_the_end_of_the_run_cuts_off_has_no_latency() {
    assert_true(&[
        "last(rpc.cancelled) <= 1",
        "last(rpc.latency) == 5ms",
        "mean(rpc.latency) == 5ms",
        "mean(rpc.rtt) == 5ms",
    ]);
}
