//! Open load in real time: what was planned is offered and served in no less than its time; where
//! the machine cannot keep up, the run says so instead of judging.

use crate::machine;
use crate::support::Scratch;
use crate::support::run_dir::{events, rows};
use serde_json::Value;

/// Light enough for any machine.
const LIGHT: &str = "
version: 1
name: light
run: { mode: live }
arms: { a: { controller: { fixed: { limit: 100 } } } }
backend: { servers: 100, service: { constant: 5ms } }
load: { open: { constant: { rate: 200/s } } }
phases: [{ name: steady, for: 3s }]
expect:
  - { id: never-early, that: p50(backend.age) >= 5ms }
  - { id: no-errors, that: max(rpc.error) == 0 }
";

/// Runs a file; the exit code, the verdict as JSON, and the directory that keeps the run.
fn run(experiment: &str) -> (i32, Value, Scratch) {
    let scratch = Scratch::new();
    scratch.file("experiment.yaml", experiment);
    let finished = scratch.run(&["run", "experiment.yaml", "--listen", "off", "--json"]);
    let verdict = serde_json::from_str(&finished.stdout).unwrap();
    println!("exit {}: {verdict:#}", finished.code);
    (finished.code, verdict, scratch)
}

/// Whether the load generator did what was asked, by its own account.
fn kept_up(generator: &Value) -> bool {
    let number = |field: &str| generator[field].as_f64().unwrap();
    let late = number("lag_p99").max(number("send_lag_p99"));
    let offered = number("offered") / number("planned");
    late <= 0.010 && offered >= 0.99 && number("lateness_p50") <= 0.000_2
}

/// That a run is inconclusive, and says why, exactly if the load generator could not keep up.
fn assert_honest(code: i32, verdict: &Value) {
    let breaches = verdict["breaches"].as_array().unwrap();
    if kept_up(&verdict["generators"][0]) {
        assert_eq!((code, &verdict["verdict"]), (0, &"pass".into()));
        assert!(breaches.is_empty(), "{breaches:?}");
    } else {
        assert_eq!((code, &verdict["verdict"]), (4, &"inconclusive".into()));
        let measured = |breach: &Value| breach["message"].as_str().unwrap().contains("allowed");
        let share =
            |breach: &Value| breach["message"].as_str().unwrap().contains(" planned requests");
        assert!(!breaches.is_empty() && breaches.iter().all(|b| measured(b) || share(b)));
    }
}

#[test]
fn what_is_planned_is_offered_and_no_answer_is_early() {
    let _machine = machine();
    let (code, verdict, scratch) = run(LIGHT);
    assert_honest(code, &verdict);
    for (id, judged) in ["never-early", "no-errors"].iter().zip(0..) {
        let expectation = &verdict["expectations"][judged];
        assert_eq!((&expectation["id"], &expectation["verdict"]), (&(*id).into(), &"pass".into()));
    }
    let generator = &verdict["generators"][0];
    assert_eq!(generator["offered"], generator["planned"], "{generator}");
    assert!(generator["planned"].as_u64().unwrap() >= 600, "{generator}");
    assert!(events(&scratch.run_dir()).last().unwrap()["t_ns"].as_u64() >= Some(3_000_000_000));
    let latencies = rows(&scratch.run_dir()).into_iter().filter(|row| row.series == "rpc.latency");
    assert!(latencies.map(|row| row.value).all(|mean| mean >= 0.005));
}

#[test]
fn more_than_the_machine_can_do_is_not_judged() {
    let _machine = machine();
    let heavy = LIGHT.replace("200/s", "200000/s").replace("for: 3s", "for: 1s");
    let (code, verdict, _) = run(&heavy.replace("limit: 100", "limit: 1000"));
    assert_honest(code, &verdict);
}

/// The first arrival of so rare a load lies far behind the end.
#[test]
fn where_nothing_was_planned_nothing_is_missing() {
    let _machine = machine();
    let rare = LIGHT.replace("constant: { rate: 200/s }", "poisson: { rate: 0.000001/s }");
    let rare = rare.replace("p50(backend.age) >= 5ms", "max(rpc.ok) == 0");
    let (code, verdict, _) = run(&rare.replace("for: 3s", "for: 200ms"));
    assert_eq!(verdict["generators"][0]["planned"], 0);
    assert_eq!((code, &verdict["breaches"]), (0, &Value::Array(Vec::new())));
}
