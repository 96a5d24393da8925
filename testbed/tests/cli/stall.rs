//! The project's main question, end to end: does a window that was halved climb back while the
//! backend is held at a gradient of 0.7? As a whole number it does not.

use crate::shipped;
use crate::support::Scratch;
use crate::support::process::Finished;
use crate::support::run_dir::{events, json, rows};
use serde_json::Value;
use std::path::Path;

/// When the phase `degraded` begins.
const DEGRADED: u64 = 4_000_000_000;

fn run(scratch: &Scratch) -> Finished {
    let experiment = shipped("stall/overload-recovery.yaml");
    scratch.run(&["run", &experiment, "--mode", "virtual", "--json"])
}

/// The windows that an arm's law computed in `degraded`, in order.
fn windows(run_dir: &Path, arm: &str) -> Vec<f64> {
    let of_arm = rows(run_dir).into_iter().filter(|row| row.arm == arm && row.t_ns >= DEGRADED);
    of_arm.filter(|row| row.series == "controller.window").map(|row| row.value).collect()
}

#[test]
fn the_integer_window_stays_at_2_and_the_double_one_settles_at_11() {
    let scratch = Scratch::new();
    assert_eq!(run(&scratch).code, 0);

    let integer = windows(&scratch.run_dir(), "integer");
    assert!(integer.len() > 30, "{} windows", integer.len());
    assert!(integer.iter().all(|window| *window == 2.0), "{integer:?}");

    let double = windows(&scratch.run_dir(), "double");
    let climbed = double.iter().position(|window| *window >= 11.0).unwrap() + 1;
    assert!((29..=31).contains(&climbed), "at window {climbed}");
    let last = double.last().unwrap();
    assert!((last - 100.0 / 9.0).abs() < 0.01, "{last} is not (1 / (1 - 0.7))^2");
}

#[test]
fn the_verdict_is_printed_as_json_and_kept_in_the_run_directory() {
    let scratch = Scratch::new();
    let printed: Value = serde_json::from_str(&run(&scratch).stdout).unwrap();
    let run_dir = scratch.run_dir();
    assert_eq!(printed, json(&run_dir.join("verdict.json")));
    assert_eq!(scratch.path().join(printed["run_dir"].as_str().unwrap()), run_dir);
    for (field, expected) in [
        ("experiment", Value::from("overload-recovery")),
        ("mode", "virtual".into()),
        ("seed", 7.into()),
        ("verdict", "pass".into()),
    ] {
        assert_eq!(printed[field], expected, "{field}");
    }
    for (at, id, arm, observed, limit) in [
        (0, "stall-shown", "integer", 2.0..=2.0, "<= 2"),
        (1, "climbs-back", "double", 0.0..=15.0, "<= 15"),
        (2, "settles", "double", 9.5..=12.5, "within 11 +- 1.5"),
    ] {
        let judged = &printed["expectations"][at];
        assert_eq!((&judged["id"], &judged["arm"]), (&id.into(), &arm.into()));
        assert_eq!(judged["verdict"], "pass");
        assert!(observed.contains(&judged["observed"].as_f64().unwrap()), "{judged}");
        assert!(judged["limit"].as_str().unwrap().starts_with(limit), "{judged}");
    }
}

#[test]
fn the_journal_has_every_phase_fault_edge_and_healing_at_its_instant() {
    let scratch = Scratch::new();
    run(&scratch);
    let events = events(&scratch.run_dir());
    let of_an_arm = |event: &Value| event["event"] == "update" || event["event"] == "regime";
    let edges = events.iter().filter(|event| !of_an_arm(event));
    let edges: Vec<String> = edges.map(Value::to_string).collect();
    let expected = [
        r#"{"event":"phase","phase":"healthy","t_ns":0}"#,
        r#"{"event":"phase","phase":"storm","t_ns":3000000000}"#,
        r#"{"event":"fault","fault":"rate-limit-storm","on":true,"t_ns":3000000000}"#,
        r#"{"event":"fault","fault":"rate-limit-storm","on":false,"t_ns":4000000000}"#,
        r#"{"event":"phase","phase":"degraded","t_ns":4000000000}"#,
        r#"{"event":"fault","fault":"held-at-70-percent","on":true,"t_ns":4000000000}"#,
        r#"{"event":"fault","fault":"held-at-70-percent","on":false,"t_ns":30000000000}"#,
        r#"{"arm":"integer","event":"healed","left":[],"t_ns":30000000000,"up":true}"#,
        r#"{"arm":"double","event":"healed","left":[],"t_ns":30000000000,"up":true}"#,
        r#"{"event":"end","t_ns":30000000000}"#,
    ];
    assert_eq!(edges, expected);
}
