//! Gates and aborts: runs that end before their last phase.

use crate::support::Scratch;
use crate::support::run_dir::json;

/// Goodput is 100/s; from 2 s on every request is turned away.
const FILE: &str = "
version: 1
name: early
arms: { a: { controller: { fixed: { limit: 10 } } } }
backend: { servers: 10, service: { constant: 5ms } }
load: { open: { constant: { rate: 100/s } } }
phases: [{ name: steady, for: 1s }, { name: quiet, for: 1s }, { name: storm, for: 8s }]
faults: [{ name: reject, during: storm, backend: { reject: { status: 429, share: 100% } } }]
expect: [{ id: some, that: count(rpc.latency) >= 1 }]
";

/// Runs the file with this more; the exit code, verdict.json and the lines of events.jsonl.
fn run(more: &str) -> (i32, serde_json::Value, String) {
    let scratch = Scratch::new();
    scratch.file("early.yaml", format!("{FILE}{more}"));
    let finished = scratch.run(&["run", "early.yaml", "--quiet"]);
    let run_dir = scratch.run_dir();
    let events = std::fs::read_to_string(run_dir.join("events.jsonl")).unwrap();
    (finished.code, json(&run_dir.join("verdict.json")), events)
}

#[test]
fn a_gate_that_is_not_met_ends_the_run_before_the_first_fault() {
    let gate = "gate: [{ in: quiet, that: mean(rpc.goodput) >= 150/s }]\n";
    let (code, verdict, events) = run(gate);
    assert_eq!((code, &verdict["verdict"]), (4, &"inconclusive".into()));
    assert_eq!(verdict["ended"]["by"], "gate");
    assert_eq!(verdict["ended"]["at"]["t_ns"], 2_000_000_000_u64);
    assert!(!events.contains(r#""event":"fault""#), "{events}");
}

#[test]
fn a_gate_that_is_met_and_an_abort_that_never_is_change_nothing() {
    let more = "gate: [{ in: quiet, that: mean(rpc.goodput) within 100/s +- 1/s }]\n\
                abort: [{ when: rpc.goodput < 50/s for 9s }]\n";
    let (code, verdict, _) = run(more);
    assert_eq!((code, &verdict["verdict"]), (0, &"pass".into()));
    assert!(verdict["ended"].is_null());
}

#[test]
fn an_abort_ends_the_run_once_it_has_been_true_for_long_enough_and_heals_the_fault() {
    for (ends_as, code) in [("fail", 99), ("inconclusive", 4)] {
        let more = format!("abort: [{{ when: rpc.goodput < 50/s for 2s, as: {ends_as} }}]\n");
        let (got, verdict, events) = run(&more);
        assert_eq!((got, &verdict["verdict"]), (code, &ends_as.into()));
        // The first interval without a success ends at 2.1 s.
        assert_eq!(verdict["ended"]["at"]["t_ns"], 4_100_000_000_u64);
        assert!(events.contains(r#""on":false"#), "{events}");
    }
}

#[test]
fn gates_and_aborts_that_make_no_sense_are_refused() {
    let scratch = Scratch::new();
    for (more, cure) in [
        ("gate: [{ in: storm, that: makespan < 1s }]", "write it under `expect`"),
        ("abort: [{ when: max(rpc.goodput) < 1 }]", "is known at the end only"),
        ("abort: [{ when: rpc.goodput < 9ms }]", "cannot be compared"),
        ("abort: [{ when: rpc.goodput }]", "expected a comparison, found the end"),
    ] {
        scratch.file("early.yaml", format!("{FILE}{more}\n"));
        let finished = scratch.run(&["check", "early.yaml"]);
        assert_eq!(finished.code, 3, "{more}");
        assert!(finished.stdout.contains(cure), "{more}: {}", finished.stdout);
    }
}
