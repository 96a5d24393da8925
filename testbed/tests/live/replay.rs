//! A recorded run in a Prometheus of the test's own: nothing is lost on the way, and no update of a law.

use crate::machine;
use crate::prometheus::{Server, installed};
use crate::support::{Scratch, run_dir};
use std::process::{Command, Stdio};
use testbed::watch::names;

/// A virtual run whose law is never silent for long, and often computes twice in a millisecond.
const RUN: &str = "
version: 1
name: replayed
run: { mode: virtual, seed: 3 }
arms:
  law: { controller: { velox: { start: 4, min: 2, max: 64 } } }
backend: { servers: 64, service: { exponential: 5ms } }
load: { closed: { clients: 40 } }
phases: [{ name: calm, for: 2s }, { name: rough, for: 2s }]
faults:
  - { name: slow, during: rough, backend: { hold: { gradient: 0.7, at_most: 5s } } }
";
/// The run is put there, in seconds since 1970.
const START: u64 = 1_800_000_000;

#[test]
fn a_store_has_every_update_of_a_published_run() {
    let _machine = machine();
    if !installed("promtool") || !installed("prometheus") {
        return;
    }
    let scratch = Scratch::new();
    scratch.file("file.yaml", RUN);
    assert_eq!(scratch.run(&["run", "file.yaml", "--quiet"]).code, 0);
    let dir = scratch.run_dir();
    let (path, start) = (dir.to_string_lossy().into_owned(), START.to_string());
    let published = scratch.run(&["publish", &path, "--out", "run.om", "--start", &start]);
    assert_eq!(published.code, 0, "{}", published.stderr);
    let mut blocks = Command::new("promtool");
    blocks.args(["tsdb", "create-blocks-from", "openmetrics", "run.om", "data"]);
    let made = blocks.current_dir(scratch.path()).stdout(Stdio::null()).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));

    let recorded: Vec<_> = run_dir::events(&dir)
        .iter()
        .filter(|event| event["event"] == "update")
        .map(|event| event["new"].as_f64().unwrap())
        .collect();
    assert!(recorded.len() > 100, "{} updates", recorded.len());
    let server = Server::start(&scratch, &[]);
    let name = names::WINDOW.name;
    let raw = format!("/api/v1/query?query={name}%5B10s%5D&time={}", START + 9);
    let found = server.until(&raw, |data| data["result"][0].is_object());
    let stored = values(&found["result"][0]["values"]);
    assert_eq!(stored, recorded);
    // As a dashboard asks, though at every millisecond: which value is the newest then.
    let newest = format!("timestamp({name})&start={START}&end={}&step=0.001", START + 5);
    let found = server.until(&format!("/api/v1/query_range?query={newest}"), |data| {
        data["result"][0].is_object()
    });
    let mut instants = values(&found["result"][0]["values"]);
    instants.dedup();
    assert_eq!(instants.len(), recorded.len());
}

/// The values of a series in an answer.
fn values(answer: &serde_json::Value) -> Vec<f64> {
    let value = |point: &serde_json::Value| point[1].as_str().unwrap().parse().unwrap();
    answer.as_array().unwrap().iter().map(value).collect()
}
