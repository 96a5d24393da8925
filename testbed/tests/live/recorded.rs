//! Recorded arrivals and real time: a known schedule is kept, and what came of a live run stands before another law.

use crate::machine;
use crate::support::Scratch;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// The arrivals of an arm, as the run in a directory recorded them.
fn arrivals(dir: &Path, arm: &str) -> Vec<String> {
    let text = fs::read_to_string(dir.join("arrivals.csv")).unwrap();
    let of = |row: &str| Some(row.strip_prefix(arm)?.strip_prefix(',')?.to_owned());
    text.lines().filter_map(of).collect()
}

#[test]
fn every_request_of_a_known_schedule_is_offered_and_keeps_the_instant_it_was_meant_for() {
    let _machine = machine();
    let scratch = Scratch::new();
    // Three at once, and then one after an odd while: 400 in 3 s.
    let instants = (0..400).map(|n| (n / 4) * 30_000_000 + u64::from(n % 4 == 3) * 7_654_321);
    let cell = |ns: u64| format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000);
    let instants: Vec<_> = instants.map(cell).collect();
    let mut schedule = "arrival_s\n".to_owned();
    instants.iter().for_each(|instant| writeln!(schedule, "{instant}").unwrap());
    scratch.file("schedule.csv", schedule);
    scratch.file(
        "file.yaml",
        "version: 1\nname: schedule\nrun: { mode: live }\nrecord: { arrivals: true }\n\
         arms: { a: { controller: { fixed: { limit: 100 } } } }\n\
         backend: { servers: 100, service: { constant: 5ms } }\n\
         load: { open: { trace: { file: schedule.csv } } }\nphases: [{ name: all, for: 4s }]\n\
         expect: [{ id: all-answered, that: last(rpc.ok) == 400 }]\n",
    );
    let finished = scratch.run(&["run", "file.yaml", "--listen", "off", "--json"]);
    // A machine that is too slow is told from a wrong program by what the run says of itself.
    assert!([0, 4].contains(&finished.code), "{}{}", finished.stdout, finished.stderr);
    let verdict: serde_json::Value = serde_json::from_str(&finished.stdout).unwrap();
    let generator = &verdict["generators"][0];
    assert_eq!((&generator["planned"], &generator["offered"]), (&400.into(), &400.into()));
    assert_eq!(verdict["expectations"][0]["observed"].as_f64(), Some(400.0));
    assert_eq!(arrivals(&scratch.run_dir(), "a"), instants);
}

#[test]
fn what_came_to_a_live_run_stands_before_another_law_in_virtual_time() {
    let _machine = machine();
    let scratch = Scratch::new();
    scratch.file(
        "file.yaml",
        "version: 1\nname: closed\nrun: { mode: live }\nrecord: { arrivals: true }\n\
         arms: { a: { controller: { fixed: { limit: 4 } } } }\n\
         backend: { servers: 4, service: { constant: 20ms } }\n\
         load: { closed: { clients: 4, think: { exponential: 20ms } } }\nphases: [{ name: all, for: 2s }]\n",
    );
    let finished = scratch.run(&["run", "file.yaml", "--listen", "off", "--quiet"]);
    assert!([0, 4].contains(&finished.code), "{}", finished.stderr);
    let live = scratch.run_dir();
    let run = live.to_string_lossy().into_owned();
    let other = ["--mode", "virtual", "--set", "arms.a.controller.fixed.limit=1"];
    let replayed = scratch.run(&[&["replay", &run, "--quiet"][..], &other].concat());
    assert_eq!(replayed.code, 0, "{}", replayed.stderr);
    let dirs = scratch.run_dirs();
    let virtual_one = dirs.iter().find(|dir| **dir != live).unwrap();
    let recorded = arrivals(&live, "a");
    assert!(recorded.len() > 20, "{} arrivals", recorded.len());
    assert_eq!(arrivals(virtual_one, "a"), recorded);
}
