//! Runs held against runs: what is worse is told by its exit code.

use crate::support::Scratch;
use crate::support::process::Finished;
use serde_json::Value;
use std::fs;

/// Two arms whose numbers depend on the seed.
const FILE: &str = "
version: 1
name: compared
run: { seed: 5 }
arms:
  one: { controller: { fixed: { limit: 1 } } }
  two: { controller: { fixed: { limit: 2 } } }
backend: { servers: 2, service: { exponential: 10ms } }
load: { closed: { clients: 4 } }
phases: [{ name: p, for: 2s }]
expect:
- { id: goodput, that: mean(rpc.goodput) >= 1/s }
- { id: window, arm: two, that: max(controller.window) within 2 +- 1 }
";

/// Runs the file with `args`, and says where its runs are.
fn ran(scratch: &Scratch, out: &str, args: &[&str]) -> String {
    scratch.file("file.yaml", FILE);
    let command = ["run", "file.yaml", "--quiet", "--no-report", "--out", out];
    let finished = scratch.run(&[&command, args].concat());
    assert!([0, 99].contains(&finished.code), "{}{}", finished.stdout, finished.stderr);
    let dirs = fs::read_dir(scratch.path().join(out)).unwrap();
    let dir = dirs.map(|dir| dir.unwrap().path()).next().unwrap();
    dir.strip_prefix(scratch.path()).unwrap().to_string_lossy().into_owned()
}

fn compare(scratch: &Scratch, args: &[&str]) -> Finished {
    scratch.run(&[&["compare"], args].concat())
}

/// The row of a number in a comparison as JSON.
fn row(finished: &Finished, arm: &str, name: &str) -> Value {
    let all: Value = serde_json::from_str(&finished.stdout).unwrap();
    let rows = all["rows"].as_array().unwrap();
    rows.iter().find(|row| row["arm"] == arm && row["name"] == name).unwrap().clone()
}

#[test]
fn a_run_is_the_same_as_itself_in_every_number() {
    let scratch = Scratch::new();
    let a = ran(&scratch, "a", &["--seeds", "3"]);
    let finished = compare(&scratch, &[&a, &a, "--tolerance", "0%"]);
    assert_eq!(finished.code, 0, "{}", finished.stdout);
    // Nine headlines for each of two arms, and three expectations.
    let last = "NO REGRESSION  21 same  (3 seeds, tolerance 0 %)\n";
    assert!(finished.stdout.ends_with(last), "{}", finished.stdout);
    assert!(!finished.stdout.contains("note:"), "{}", finished.stdout);
}

#[test]
fn a_slower_backend_is_a_regression_one_way_and_none_the_other_way_round() {
    let scratch = Scratch::new();
    let a = ran(&scratch, "a", &["--seeds", "5"]);
    let slower = ["--seeds", "5", "--set", "backend.service.exponential=15ms"];
    let b = ran(&scratch, "b", &slower);
    let finished = compare(&scratch, &[&a, &b, "--json"]);
    assert_eq!(finished.code, 98, "{}", finished.stdout);
    let goodput = row(&finished, "one", "goodput");
    assert_eq!((&goodput["standing"], &goodput["better"]), (&"worse".into(), &"more".into()));
    let numbers = &goodput["numbers"];
    let [a_mean, b_mean] = ["a", "b"].map(|side| numbers[side].as_f64().unwrap());
    let difference = numbers["difference"].as_f64().unwrap();
    assert!((b_mean - a_mean - difference).abs() < 1e-9, "{numbers}");
    // All draw the same numbers, so a third is lost with every seed.
    assert!((difference / a_mean + 1.0 / 3.0).abs() < 0.05, "{numbers}");
    assert!(numbers["interval"]["high"].as_f64().unwrap() < 0.0, "{numbers}");
    assert_eq!(row(&finished, "two", "window median")["standing"], "same");
    let text = compare(&scratch, &[&b, &a]);
    assert_eq!(text.code, 0, "{}", text.stdout);
    let note = "note:   backend.service.exponential: 15ms -> 10ms\n";
    assert!(text.stdout.contains(note), "{}", text.stdout);
}

#[test]
fn what_is_worse_by_no_more_than_the_tolerance_does_not_count() {
    let scratch = Scratch::new();
    let a = ran(&scratch, "a", &["--seeds", "5"]);
    let slower = ["--seeds", "5", "--set", "backend.service.exponential=10100us"];
    let b = ran(&scratch, "b", &slower);
    for (tolerance, code, standing) in [("0%", 98, "worse"), ("5%", 0, "same")] {
        let finished = compare(&scratch, &[&a, &b, "--tolerance", tolerance, "--json"]);
        assert_eq!(finished.code, code, "{tolerance}: {}", finished.stdout);
        assert_eq!(row(&finished, "one", "latency p50")["standing"], standing, "{tolerance}");
    }
}

#[test]
fn an_expectation_that_fails_now_is_worse_however_little_its_number_has_changed() {
    let scratch = Scratch::new();
    let a = ran(&scratch, "a", &[]);
    for (out, that) in [
        ("number", "expect[1].that=max(controller.window) within 3 +- 0.5"),
        // What it is about is another thing now, so there are no numbers to compare.
        ("sentence", "expect[1].that=min(controller.limit) >= 3"),
    ] {
        let b = ran(&scratch, out, &["--set", that]);
        let finished = compare(&scratch, &[&a, &b]);
        assert_eq!(finished.code, 98, "{}", finished.stdout);
        let failed = "window of two fails now with seeds [5]\n";
        assert!(finished.stdout.contains(failed), "{}", finished.stdout);
    }
}

#[test]
fn one_run_each_has_no_interval_and_says_so() {
    let scratch = Scratch::new();
    let [a, b] = ["a", "b"].map(|out| ran(&scratch, out, &[]));
    let finished = compare(&scratch, &[&a, &b, "--markdown"]);
    assert_eq!(finished.code, 0, "{}", finished.stdout);
    assert!(finished.stdout.starts_with("# NO REGRESSION  21 same"), "{}", finished.stdout);
    assert!(finished.stdout.contains("one seed: there is no interval"), "{}", finished.stdout);
    let row = "| same | one | window end | neither | 1 | 1 | 0 | none |\n";
    assert!(finished.stdout.contains(row), "{}", finished.stdout);
}

#[test]
fn files_are_run_first() {
    let scratch = Scratch::new();
    scratch.file("a.yaml", FILE);
    scratch.file("b.yaml", FILE.replace("limit: 2", "limit: 1"));
    let finished = compare(&scratch, &["a.yaml", "b.yaml", "--seeds", "3", "--json"]);
    assert_eq!(finished.code, 98, "{}{}", finished.stdout, finished.stderr);
    assert_eq!(row(&finished, "one", "goodput")["standing"], "same");
    assert_eq!(row(&finished, "two", "goodput")["standing"], "worse");
    assert_eq!(scratch.run_dirs().len(), 2);
    scratch.file("bad.yaml", "version: 1\n");
    assert_eq!(compare(&scratch, &["a.yaml", "bad.yaml", "--seeds", "1"]).code, 3);
}

#[test]
fn a_run_that_was_killed_cannot_say() {
    let scratch = Scratch::new();
    let a = ran(&scratch, "a", &["--seeds", "3"]);
    let b = ran(&scratch, "b", &["--seeds", "3"]);
    let dirs = fs::read_dir(scratch.path().join(&b)).unwrap().map(|dir| dir.unwrap().path());
    let killed = dirs.filter(|dir| dir.is_dir()).min().unwrap();
    fs::remove_file(killed.join("verdict.json")).unwrap();
    let finished = compare(&scratch, &[&a, &b]);
    assert_eq!(finished.code, 4, "{}", finished.stdout);
    assert!(finished.stdout.contains("is left out; in B, it was killed\n"), "{}", finished.stdout);
    assert!(finished.stdout.contains("INCONCLUSIVE  21 same  (2 seeds"), "{}", finished.stdout);
}

#[test]
fn what_cannot_be_compared_is_refused_with_a_cure() {
    let scratch = Scratch::new();
    let a = ran(&scratch, "a", &[]);
    let other = ran(&scratch, "seed", &["--seed", "9"]);
    let twice = ran(&scratch, "twice", &[]);
    ran(&scratch, "twice", &[]);
    let live = ran(&scratch, "live", &[]);
    let edit = |dir: &str, file: &str, from: &str, to: &str| {
        let path = scratch.path().join(dir).join(file);
        fs::write(&path, fs::read_to_string(&path).unwrap().replace(from, to)).unwrap();
    };
    edit(&live, "manifest.json", "\"virtual\"", "\"live\"");
    let renamed = ran(&scratch, "renamed", &[]);
    edit(&renamed, "numbers.json", "\"arm\": \"", "\"arm\": \"x");
    let old = ran(&scratch, "old", &[]);
    fs::remove_file(scratch.path().join(&old).join("numbers.json")).unwrap();
    for (b, says) in [
        (".", "there are no runs in .; give a run directory"),
        ("nowhere", "there are no runs in nowhere"),
        (&other, "no seed is in both: A has 5, B has 9; run one of them again"),
        ("twice", "twice has more than one run with seed 5"),
        (&live, "`windtunnel run FILE --mode both`"),
        (&renamed, "no arm is in both: A has one, two, B has xone, xtwo"),
        (&old, "numbers.json cannot be used: it is not there; it may be of another version"),
    ] {
        let finished = compare(&scratch, &[&a, b]);
        assert_eq!(finished.code, 2, "{b}: {}{}", finished.stdout, finished.stderr);
        assert!(finished.stderr.contains(says), "{b}: {}", finished.stderr);
    }
    assert!(twice.starts_with("twice"), "{twice}");
}

#[test]
fn both_modes_are_one_run_each_and_here() {
    let scratch = Scratch::new();
    scratch.file("file.yaml", FILE);
    for (args, says) in [
        (["--seeds", "3"], "leave --seeds out"),
        (["--server", "http://127.0.0.1:1"], "`--mode live` or `--mode virtual`"),
    ] {
        let finished = scratch.run(&[&["run", "file.yaml", "--mode", "both"][..], &args].concat());
        assert_eq!(finished.code, 2, "{args:?}: {}", finished.stderr);
        assert!(finished.stderr.contains(says), "{args:?}: {}", finished.stderr);
    }
}
