//! A run as a trace: its directory is all that another run needs, and what it recorded can stand before another law.

use crate::shipped;
use crate::support::Scratch;
use crate::support::run_dir::{json, rows};
use std::fs;
use std::path::{Path, PathBuf};

/// Clients that wait for their answers, so that a slower law is asked less.
const CLOSED: &str = "
version: 1
name: closed
run: { seed: 3 }
record: { arrivals: true }
arms:
  wide:   { controller: { fixed: { limit: 8 } } }
  narrow: { controller: { fixed: { limit: 2 } } }
backend: { servers: 8, service: { exponential: 10ms } }
load: { closed: { clients: 8, think: { exponential: 5ms } } }
phases: [{ name: all, for: 2s }]
";

/// Runs the program, and gives the directory of the run that it made.
fn made(scratch: &Scratch, args: &[&str]) -> PathBuf {
    let before = scratch.run_dirs();
    let finished = scratch.run(&[args, &["--quiet"]].concat());
    assert_eq!(finished.code, 0, "{args:?}: {}{}", finished.stdout, finished.stderr);
    scratch.run_dirs().into_iter().find(|dir| !before.contains(dir)).unwrap()
}

fn read(dir: &Path, file: &str) -> String {
    fs::read_to_string(dir.join(file)).unwrap()
}

/// When requests of an arm arrived, as the run recorded it.
fn arrivals(dir: &Path, arm: &str) -> Vec<String> {
    let text = read(dir, "arrivals.csv");
    let of = |row: &str| Some(row.strip_prefix(arm)?.strip_prefix(',')?.to_owned());
    text.lines().filter_map(of).collect()
}

#[test]
fn recorded_arrivals_of_a_closed_load_stand_before_another_law() {
    let scratch = Scratch::new();
    scratch.file("closed.yaml", CLOSED);
    let recorded = made(&scratch, &["run", "closed.yaml"]);
    let run = recorded.to_string_lossy().into_owned();
    let again = made(&scratch, &["replay", &run]);
    assert!(read(&again, "series.csv") == read(&recorded, "series.csv"), "the same run differs");

    let slower = ["--set", "arms.wide.controller.fixed.limit=1"];
    let replayed = made(&scratch, &[&["replay", &run][..], &slower].concat());
    let wide = arrivals(&recorded, "wide");
    assert!(wide.len() > 400, "{} arrivals", wide.len());
    assert_eq!(arrivals(&replayed, "wide"), wide, "the same arrivals, whatever the law does");
    assert_eq!(arrivals(&replayed, "narrow"), arrivals(&recorded, "narrow"));
    // What `run` makes of the same change: the clients wait, and ask less.
    let followed = made(&scratch, &[&["run", &run][..], &slower].concat());
    assert!(arrivals(&followed, "wide").len() < wide.len() / 2);
    assert_eq!(scratch.run(&["verify", &replayed.to_string_lossy()]).code, 0);
}

#[test]
fn an_open_load_is_the_same_whether_it_is_drawn_or_recorded() {
    let scratch = Scratch::new();
    let open = CLOSED.replace(
        "closed: { clients: 8, think: { exponential: 5ms } }",
        "open: { poisson: { rate: 300/s } }",
    );
    scratch.file(
        "open.yaml",
        open.replace("limit: 2", "limit: 3") + "client: { classes: { gold: 1, tin: 3 } }\n",
    );
    let drawn = made(&scratch, &["run", "open.yaml"]);
    let run = drawn.to_string_lossy().into_owned();
    let recorded = made(&scratch, &["replay", &run, "--set", "about=the same load from a file"]);
    assert!(read(&recorded, "resolved.yaml").contains("trace:"));
    for file in ["series.csv", "events.jsonl", "arrivals.csv"] {
        assert!(read(&recorded, file) == read(&drawn, file), "{file} differs");
    }
}

#[test]
fn a_run_that_has_moved_needs_no_other_file() {
    let scratch = Scratch::new();
    let here = |name: &str| fs::read(shipped(name)).unwrap();
    scratch.file("e.yaml", here("load/recorded-bursts.yaml"));
    scratch.file("bursts.csv", here("load/bursts.csv"));
    let run = made(&scratch, &["run", "e.yaml"]);
    let (series, moved) = (read(&run, "series.csv"), scratch.path().join("moved"));
    fs::rename(&run, &moved).unwrap();
    fs::remove_file(scratch.path().join("bursts.csv")).unwrap();
    for command in ["verify", "publish"] {
        assert_eq!(scratch.run(&[command, "moved"]).code, 0, "{command}");
    }
    let again = made(&scratch, &["replay", "moved"]);
    assert!(read(&again, "series.csv") == series);
    let latest =
        rows(&again).into_iter().filter(|row| row.series == "rpc.latency" && row.arm == "even");
    assert!(latest.map(|row| row.value).all(|mean| mean <= 0.015));

    let traces = json(&moved.join("manifest.json"))["traces"].clone();
    let (name, _) = traces.as_object().unwrap().iter().next().unwrap();
    fs::write(moved.join(name), "arrival_s,service_s\n0,1\n").unwrap();
    let finished = scratch.run(&["verify", "moved"]);
    assert_eq!(finished.code, 3, "{}", finished.stdout);
    assert!(finished.stderr.contains("it is another file now"), "{}", finished.stderr);
}
