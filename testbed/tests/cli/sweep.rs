//! Sweeps: every point once, whatever happens in between, and the map of the stall.

use crate::shipped;
use crate::support::process::eventually;
use crate::support::{HUNG, Scratch};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::SystemTime;

/// A law over two starts and two gradients, with what the integer law's arithmetic says of them.
const SWEPT: &str = "
version: 1
name: swept
arms:
  a: { controller: { fixed: { limit: 2 } } }
backend: { servers: 4, service: { exponential: 10ms } }
load: { closed: { clients: 8 } }
phases: [{ name: p, for: 20s }]
expect: [{ id: little, that: 'p50(rpc.latency) >= 20ms' }]
sweep:
  axes:
    limit: { paths: [arms.a.controller.fixed.limit], values: [1, 2, 4, 8] }
    servers: { paths: [backend.servers], values: [1, 4] }
  seeds: 3
  predict: { expect: little, when: '(limit < 4) || (servers < 4)' }
";

fn sweep(scratch: &Scratch, args: &[&str]) -> (i32, String, String) {
    let finished = scratch.run(&[&["sweep", "swept.yaml"], args].concat());
    (finished.code, finished.stdout, finished.stderr)
}

fn scratch() -> Scratch {
    let scratch = Scratch::new();
    scratch.file("swept.yaml", SWEPT);
    scratch
}

/// Points by name, each with when it was written.
fn points(scratch: &Scratch) -> BTreeMap<PathBuf, SystemTime> {
    let Ok(entries) = fs::read_dir(scratch.path().join("runs/points")) else {
        return BTreeMap::new();
    };
    let whole = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "json"));
    whole.map(|path| (path.clone(), fs::metadata(&path).unwrap().modified().unwrap())).collect()
}

#[test]
fn a_sweep_runs_every_point_once_and_a_second_one_none() {
    let scratch = scratch();
    let (code, text, stderr) = sweep(&scratch, &["--json"]);
    assert_eq!(code, 0, "{text}{stderr}");
    let first = points(&scratch);
    assert_eq!(first.len(), 4 * 2 * 3);
    let json: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["points"].as_array().unwrap().len(), 24);
    assert_eq!(json["points"][3]["axes"], serde_json::json!({ "limit": "1", "servers": "4" }));
    assert_eq!(sweep(&scratch, &["--json", "--jobs", "1"]).0, 0);
    assert_eq!(points(&scratch), first, "nothing was written again");
}

#[test]
fn a_killed_sweep_goes_on_without_losing_or_repeating_a_point() {
    let scratch = scratch();
    let long = ["--set", "phases[0].for=100s"];
    let mut running = scratch.start(&[&["sweep", "swept.yaml"], &long[..]].concat());
    let some = || Some(points(&scratch)).filter(|points| points.len() >= 3);
    let before = eventually(HUNG, "three points", some);
    running.child.kill().unwrap();
    running.child.wait().unwrap();
    assert!(before.len() < 24, "it was over before it could be killed");
    let (code, text, stderr) = sweep(&scratch, &long);
    assert_eq!(code, 0, "{text}{stderr}");
    let after = points(&scratch);
    assert_eq!(after.len(), 24);
    for (point, written) in before {
        assert_eq!(after[&point], written, "{} was run again", point.display());
    }
    // What was half written when it was killed is in nobody's way.
    let csv = fs::read_to_string(sweep_dir(&scratch).join("sweep.csv"));
    assert_eq!(csv.unwrap().lines().count(), 25);
}

#[test]
fn one_thread_and_many_come_to_the_same() {
    let csv = |jobs| {
        let scratch = scratch();
        assert_eq!(sweep(&scratch, &["--jobs", jobs]).0, 0);
        fs::read_to_string(sweep_dir(&scratch).join("sweep.csv")).unwrap()
    };
    assert_eq!(csv("1"), csv("4"));
}

fn sweep_dir(scratch: &Scratch) -> PathBuf {
    let entries =
        fs::read_dir(scratch.path().join("runs")).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.join("sweep.csv").exists()).last().unwrap()
}

#[test]
fn a_wrong_prediction_is_exit_code_99_and_marked_on_the_map() {
    let scratch = scratch();
    let (code, text, _) = sweep(&scratch, &["--set", "sweep.predict.when=limit < 4"]);
    assert_eq!(code, 99, "{text}");
    assert!(text.contains("6 of 8 points are as predicted"), "{text}");
    let rows: Vec<Vec<&str>> =
        text.lines().skip(3).take(4).map(|row| row.split_whitespace().collect()).collect();
    let expected: [Vec<&str>; 4] =
        [vec!["1", "#", "#"], vec!["2", "#", "#"], vec!["4", "!", "."], vec!["8", "!", "."]];
    assert_eq!(rows, expected, "{text}");
    let report = fs::read_to_string(sweep_dir(&scratch).join("report.html")).unwrap();
    let data = crate::report::data(&report);
    let cell = |cell: &Value| (cell["held"] == cell["of"], cell["agrees"] == true);
    let cells: Vec<_> = data["cells"].as_array().unwrap().iter().map(cell).collect();
    let (as_told, wrong, not) = ((true, true), (true, false), (false, true));
    assert_eq!(cells, [as_told, as_told, as_told, as_told, wrong, not, wrong, not]);
    assert_eq!((&data["agree"], &data["when"]), (&6.into(), &"limit < 4".into()));
    assert_eq!(data["rows"].as_array().unwrap().len(), 8);
}

#[test]
fn an_axis_from_the_command_line_stands_beside_those_of_the_file() {
    let axis = ["--axis", "service=backend.service.exponential=[10ms, 11ms]", "--seeds", "1"];
    let (code, text, stderr) = sweep(&scratch(), &axis);
    assert_eq!(code, 0, "{stderr}");
    assert_eq!(text.matches("service=11ms").count(), 8, "{text}");
}

#[test]
fn mistakes_in_a_sweep_are_found_where_they_stand() {
    for (set, says) in [
        ("sweep.axes.limit.values=[1, none]", "expected a whole number, found text `none`"),
        ("sweep.axes.limit.paths=[arms.b.controller.fixed.limit]", "there is no `b`"),
        ("sweep.axes.limit.values=[]", "either `values` or `named`"),
        (
            "sweep.predict.when=limit < sevrers",
            "there is no axis `sevrers` (did you mean `servers`?)",
        ),
        ("sweep.predict.when=limit + 1", "compares nothing"),
        ("sweep.predict.expect=litle", "there is no expectation `litle`"),
        ("sweep.seeds=1001", "1000"),
    ] {
        let (code, text, stderr) = sweep(&scratch(), &["--set", set]);
        assert_eq!((code, &*text), (3, ""), "{set}");
        assert!(stderr.contains(says), "{set}: {stderr}");
    }
    let scratch = scratch();
    scratch.file("plain.yaml", SWEPT.split("sweep:").next().unwrap());
    let finished = scratch.run(&["sweep", "plain.yaml"]);
    assert_eq!(finished.code, 2, "{}", finished.stderr);
    assert!(finished.stderr.contains("has no `sweep`"), "{}", finished.stderr);
}

#[test]
fn the_map_of_the_stall_has_no_cell_that_disagrees() {
    let scratch = Scratch::new();
    let finished = scratch.run(&["sweep", &shipped("stall/map.yaml")]);
    assert_eq!(finished.code, 0, "{}{}", finished.stdout, finished.stderr);
    assert!(finished.stdout.contains("160 of 160 points are as predicted"), "{}", finished.stdout);
}
