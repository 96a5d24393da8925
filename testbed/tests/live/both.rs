//! One file in both modes, and how far they are apart.

use crate::machine;
use crate::support::Scratch;
use crate::support::run_dir::json;
use std::fs;

/// A queue of one behind a window of two, and two downloads that wait for tokens.
const FILE: &str = "
version: 1
name: twice
arms:
  calls: { controller: { fixed: { limit: 2 } } }
  tokens: { limiter: { fifo: { levels: { global: { rate: 1MiB/s, capacity: 16KiB } } } } }
backend: { servers: 1, service: { constant: 20ms } }
load: { closed: { clients: 2 } }
download: { tasks: 2, chunk: { fixed: 16KiB } }
phases: [{ name: first, for: 1s }, { name: second, for: 1s }]
expect:
- { id: never-early, arm: calls, that: min(backend.age) >= 20ms }
- { id: live-only, arm: calls, mode: live, that: max(controller.window) < 1 }
";

#[test]
fn both_modes_leave_their_distance_and_the_worse_verdict_counts() {
    let _machine = machine();
    let scratch = Scratch::new();
    scratch.file("file.yaml", FILE);
    let args = ["run", "file.yaml", "--mode", "both", "--quiet", "--listen", "off"];
    let finished = scratch.run(&args);
    let dir = scratch.run_dir();
    let both = json(&dir.join("both.json"));
    assert_eq!(both["virtual"]["verdict"], "pass", "{both:#}");
    // On a busy machine the live run cannot say; otherwise it fails, as its own expectation does.
    let live = both["live"]["verdict"].as_str().unwrap();
    let codes = [("fail", 99), ("inconclusive", 4)];
    assert!(codes.contains(&(live, finished.code)), "{live}: {}", finished.code);
    assert_eq!(both["verdict"], live);

    let distributions = both["distance"]["distributions"].as_array().unwrap();
    let named: Vec<_> = distributions.iter().map(|row| (&row["arm"], &row["series"])).collect();
    let expected =
        [("calls", "admission.wait"), ("calls", "rpc.latency"), ("tokens", "limiter.wait")];
    assert_eq!(named.len(), expected.len(), "{named:?}");
    for (row, (arm, series)) in distributions.iter().zip(expected) {
        assert_eq!((&row["arm"], &row["series"]), (&arm.into(), &series.into()));
        let distance = row["distance"].as_f64().unwrap();
        assert!((0.0..=1.0).contains(&distance), "{row}");
        for mode in ["virtual", "live"] {
            assert!(row[mode]["values"].as_u64().unwrap() > 10, "{row}");
        }
    }
    // No server is early in either world.
    let median = |mode: &str| distributions[1][mode]["p50"].as_f64().unwrap();
    assert!(median("virtual") >= 0.020 && median("live") >= 0.020, "{}", distributions[1]);
    let windows = &both["distance"]["windows"];
    assert_eq!(windows[1]["in"], "second");
    assert_eq!((&windows[1]["virtual"], &windows[1]["live"]), (&2.0.into(), &2.0.into()));

    let table = fs::read_to_string(dir.join("both.md")).unwrap();
    assert!(table.contains("| calls | second | 2 | 2 |\n"), "{table}");
    let runs = fs::read_dir(&dir).unwrap().filter(|entry| entry.as_ref().unwrap().path().is_dir());
    assert_eq!(runs.count(), 2);
}
