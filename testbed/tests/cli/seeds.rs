//! Several seeds of one experiment.

use crate::support::Scratch;
use crate::support::run_dir::json;
use std::fs;
use std::path::PathBuf;

/// Two arms that differ by their windows; `chancy` depends on the seed, the others do not.
const FILE: &str = "
version: 1
name: many
run: { seed: 5 }
arms:
  one: { controller: { fixed: { limit: 1 } } }
  two: { controller: { fixed: { limit: 2 } } }
backend: { servers: 2, service: { exponential: 10ms } }
load: { closed: { clients: 2 } }
phases: [{ name: p, for: 2s }]
expect:
- { id: window, that: max(controller.window) <= 2 }
- { id: goodput, that: mean(rpc.goodput) >= 1/s }
- { id: chancy, arm: one, severity: warn, that: max(rpc.rtt) <= 45ms, over_seeds: { quantile: 100% } }
";

#[test]
fn every_seed_has_a_run_of_its_own_and_arms_are_compared_seed_by_seed() {
    let scratch = Scratch::new();
    scratch.file("many.yaml", FILE);
    let finished = scratch.run(&["run", "many.yaml", "--seeds", "4", "--json"]);
    assert_eq!(finished.code, 0, "{}", finished.stdout);
    let parent = scratch.run_dir();
    let summary = json(&parent.join("verdict.json"));
    assert_eq!(summary["seeds"], serde_json::json!([5, 6, 7, 8]));
    assert_eq!(summary["expectations"].as_array().unwrap().len(), 5);
    assert_eq!(summary["expectations"][4]["allowed"], 4);
    // With the same draws, a window of 2 does more with every seed.
    let apart = &summary["differences"][1];
    assert_eq!((&apart["id"], &apart["less"]), (&"goodput".into(), &"one".into()));
    assert!(apart["spread"]["low"].as_f64().unwrap() > 50.0, "{apart}");
    let runs =
        fs::read_dir(&parent).unwrap().filter(|entry| entry.as_ref().unwrap().path().is_dir());
    assert_eq!(runs.count(), 4);
}

#[test]
fn one_seed_of_many_that_fails_fails_all_unless_the_file_allows_for_it() {
    let scratch = Scratch::new();
    for (quantile, code) in [("0%", 99), ("74%", 99), ("100%", 0)] {
        let never = format!(
            "{FILE}- {{ id: never, arm: one, that: max(rpc.rtt) <= 1us, over_seeds: {{ quantile: {quantile} }} }}\n"
        );
        scratch.file("many.yaml", never);
        let finished = scratch.run(&["run", "many.yaml", "--seeds", "4"]);
        assert_eq!(finished.code, code, "{quantile}: {}", finished.stdout);
    }
}

#[test]
fn several_seeds_are_for_virtual_runs() {
    let scratch = Scratch::new();
    scratch.file("many.yaml", FILE);
    let finished = scratch.run(&["run", "many.yaml", "--seeds", "2", "--mode", "live"]);
    assert_eq!(finished.code, 2);
    assert!(finished.stderr.contains("for virtual runs"), "{}", finished.stderr);
}

/// The common directory of four seeds, and the runs in it.
fn four_seeds() -> (Scratch, String, Vec<String>) {
    let scratch = Scratch::new();
    scratch.file("many.yaml", FILE);
    assert_eq!(scratch.run(&["run", "many.yaml", "--seeds", "4"]).code, 0);
    let parent = scratch.run_dir();
    let entries = fs::read_dir(&parent).unwrap().map(|entry| entry.unwrap().path());
    let mut runs: Vec<_> = entries.filter(|path| path.is_dir()).collect();
    runs.sort();
    let text = |path: PathBuf| path.to_string_lossy().into_owned();
    (scratch, text(parent), runs.into_iter().map(text).collect())
}

#[test]
fn the_common_directory_stands_for_every_run_in_it_or_one_of_them_is_named() {
    let (scratch, parent, runs) = four_seeds();
    let said = |args: &[&str], code: i32| {
        let finished = scratch.run(args);
        assert_eq!(finished.code, code, "{args:?}: {}{}", finished.stdout, finished.stderr);
        finished.stdout + &finished.stderr
    };
    let verified =
        |run: &String| format!("same       series.csv\nsame       events.jsonl\nSAME  {run}\n");
    assert_eq!(said(&["verify", &parent], 0), runs.iter().map(verified).collect::<String>());
    let report = |run: &String| format!("{run}/report.html\n");
    assert_eq!(said(&["report", &parent], 0), runs.iter().map(report).collect::<String>());
    assert!(said(&["compare", &parent, &parent], 0).contains("(4 seeds"));
    for command in [
        &["replay", &parent][..],
        &["run", &parent],
        &["plan", &parent],
        &["sweep", &parent, "--axis", "seed=run.seed=[1, 2]"],
        &["publish", &parent],
        &["report", "--serve", &parent],
    ] {
        let said = said(command, 2);
        let cure = format!("give a directory that `windtunnel run` made, such as {}\n", runs[0]);
        assert!(said.ends_with(&cure), "{command:?}: {said}");
    }
}

#[test]
fn a_seed_that_differs_is_named_among_those_that_do_not() {
    let (scratch, parent, runs) = four_seeds();
    let series = format!("{}/series.csv", runs[2]);
    fs::write(&series, fs::read_to_string(&series).unwrap() + "more\n").unwrap();
    let verified = scratch.run(&["verify", &parent]);
    assert_eq!(verified.code, 98, "{}", verified.stderr);
    let last = |line: &&str| line.starts_with("SAME") || line.starts_with("DIFFERENT");
    let lines: Vec<_> = verified.stdout.lines().filter(last).collect();
    let words = ["SAME", "SAME", "DIFFERENT", "SAME"];
    let expected: Vec<_> =
        words.iter().zip(&runs).map(|(word, run)| format!("{word}  {run}")).collect();
    assert_eq!(lines, expected);
}
