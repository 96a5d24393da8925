//! Expectations about values that are known exactly, down to the nanosecond.

use crate::support::Scratch;

/// Answers after exactly 5 ms, one every 10 ms, then none.
const EXACT: &str = "
version: 1
name: exact
arms: { a: { controller: { fixed: { limit: 10 } } } }
backend: { servers: 10, service: { constant: 5ms } }
load: { open: { constant: { rate: 100/s } } }
phases: [{ name: steady, for: 1s }, { name: short, for: 2ms }]
expect: [{ id: sentence, that: max(controller.limit) == 10 }]
";

#[test]
fn a_value_exactly_on_its_bound_is_within_it() {
    let scratch = Scratch::new();
    scratch.file("exact.yaml", EXACT);
    for sentence in [
        "min(backend.age) >= 5ms",
        "max(backend.age) <= 5ms",
        "p50(backend.age) within 5ms +- 5us",
        "p99(backend.age) <= 5ms",
        "mean(backend.age) == 5ms",
        "last(backend.age) == 5ms",
        "max(admission.wait) == 0s",
        "last(rpc.ok) == 100",
        "time_to(rpc.ok >= 10) <= 100ms",
    ] {
        let finished = scratch.run(&["run", "exact.yaml", "--set", &set(sentence)]);
        assert_eq!(finished.code, 0, "{sentence}: {}", finished.stdout);
    }
}

fn set(sentence: &str) -> String {
    format!("expect[0].that={sentence}")
}
