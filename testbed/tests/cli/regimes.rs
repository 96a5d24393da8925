//! What the arms of shipped experiments are called while they run: those that go wrong by the name of
//! what goes wrong, and their controls healthy.

use crate::shipped;
use crate::support::Scratch;
use crate::support::run_dir::events;
use serde_json::Value;
use std::collections::BTreeMap;

/// The regimes of each arm of a run in order, with their first instants in milliseconds.
type Regimes = BTreeMap<String, Vec<(u64, String)>>;

fn regimes(experiment: &str) -> Regimes {
    let scratch = Scratch::new();
    let finished = scratch.run(&["run", &shipped(experiment), "--mode", "virtual", "--quiet"]);
    assert_eq!(finished.code, 0, "{}", finished.stderr);
    let mut regimes = Regimes::new();
    for event in events(&scratch.run_dir()).iter().filter(|event| event["event"] == "regime") {
        let text = |field: &str| event[field].as_str().unwrap().to_owned();
        let ms = event["t_ns"].as_u64().unwrap() / 1_000_000;
        regimes.entry(text("arm")).or_default().push((ms, text("regime")));
    }
    regimes
}

/// The names alone; of an arm that was healthy all the time there are none.
fn names(regimes: &Regimes, arm: &str) -> Vec<String> {
    regimes.get(arm).into_iter().flatten().map(|(_, regime)| regime.clone()).collect()
}

#[test]
fn each_arm_is_called_what_its_experiment_shows() {
    for (experiment, arms) in [
        (
            "stall/overload-recovery.yaml",
            &[
                ("integer", &["collapse", "healthy", "stall"][..]),
                ("double", &["collapse", "healthy"]),
            ][..],
        ),
        (
            "stall/floor-is-forever.yaml",
            &[
                ("integer", &["collapse", "healthy", "stall"]),
                ("noisy", &["collapse", "healthy", "stall", "healthy"]),
                ("spared", &[]),
            ],
        ),
        (
            "faults/capacity-drop.yaml",
            &[
                ("velox", &["oscillation", "healthy"]),
                ("fixed", &["saturated", "healthy"]),
                ("no-drop", &[]),
            ],
        ),
        (
            "faults/black-hole.yaml",
            &[
                ("velox", &["collapse", "healthy"]),
                ("aimd", &["collapse", "healthy"]),
                ("no-hole", &[]),
            ],
        ),
        ("faults/gc-pause.yaml", &[("velox", &[]), ("fixed", &[]), ("no-pause", &[])]),
        ("starvation/one-nanosecond-late.yaml", &[("late", &["starvation"]), ("fifo", &[])]),
        (
            "starvation/twenty-downloads.yaml",
            &[("by-id", &["starvation", "healthy"]), ("fifo", &[])],
        ),
    ] {
        let regimes = regimes(experiment);
        for (arm, expected) in arms {
            assert_eq!(names(&regimes, arm), *expected, "{experiment}: {arm}: {regimes:?}");
        }
    }
}

#[test]
fn the_integer_window_stalls_within_two_seconds_of_the_hold_and_to_the_end() {
    let regimes = regimes("stall/overload-recovery.yaml");
    // The phase `degraded` begins at 4 s. Until 5 s the storm is in the sums.
    let (since, last) = regimes["integer"].last().unwrap();
    assert_eq!(last, "stall");
    assert!((4_000..=6_000).contains(since), "since {since} ms");
}

/// How the journal writes it; the documents say the same.
#[test]
fn a_change_of_regime_is_a_line_of_the_journal() {
    let scratch = Scratch::new();
    let file = shipped("stall/floor-is-forever.yaml");
    assert_eq!(scratch.run(&["run", &file, "--mode", "virtual", "--quiet"]).code, 0);
    let events = events(&scratch.run_dir());
    let line = events.iter().find(|event| event["event"] == "regime" && event["regime"] == "stall");
    let t_ns = line.unwrap()["t_ns"].clone();
    let expected = serde_json::json!({
        "t_ns": t_ns, "event": "regime", "arm": "integer", "regime": "stall"
    });
    assert_eq!(line, Some(&expected));
    assert!(matches!(t_ns, Value::Number(_)));
}
