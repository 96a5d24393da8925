//! Downloads behind limiters: waits as data, and files that cannot work.

use crate::support::Scratch;
use crate::support::run_dir::{Row, Wait, rows, waits};
use std::collections::BTreeMap;
use std::fs;

/// A fair queue and a race in which one of eight is always late, for 2 s each.
const FILE: &str = "\
version: 1
name: downloads
run: { sample_every: 10ms }
record: { waits: all }
arms:
  fifo: { limiter: { fifo: { levels: { global: { rate: 64KiB/s, initial: 1KiB } } } } }
  race: { limiter: { peek: { levels: { global: { rate: 64KiB/s, initial: 1KiB } }, lateness: { each: [0s, 1ns] } } } }
backend: { servers: 8, service: { constant: 1ms } }
download: { tasks: 4, segments: 2, chunk: { fixed: 1KiB } }
phases:
  - { name: one, for: 1s }
  - { name: two, for: 1s }
";

fn run(file: &str, args: &[&str]) -> (i32, Scratch) {
    let scratch = Scratch::new();
    scratch.file("downloads.yaml", file);
    let finished = scratch.run(&[&["run", "downloads.yaml"], args].concat());
    (finished.code, scratch)
}

fn last(rows: &[Row], arm: &str, series: &str) -> f64 {
    let of = |row: &&Row| row.arm == arm && row.series == series;
    rows.iter().rfind(of).unwrap_or_else(|| panic!("no {series} of {arm}")).value
}

#[test]
fn waits_series_and_totals_tell_the_same_story() {
    let (code, scratch) = run(FILE, &[]);
    assert_eq!(code, 0);
    let (waits, rows) = (waits(&scratch.run_dir()), rows(&scratch.run_dir()));
    for arm in ["fifo", "race"] {
        let of_arm: Vec<_> = waits.iter().filter(|wait| wait.arm == arm).collect();
        let granted: u64 =
            of_arm.iter().filter(|wait| wait.outcome == "granted").map(|wait| wait.cost).sum();
        assert_eq!(granted as f64, last(&rows, arm, "download.granted"), "{arm}");
        // 1 KiB at first and 64 KiB a second for 2 s; the last chunk may be under way.
        assert!((128 * 1024..=129 * 1024).contains(&granted), "{arm}: {granted}");
        let cut_off = of_arm.iter().filter(|wait| wait.outcome == "cut_off").count();
        // The last sample may be followed by a grant of the same instant.
        let waiting = last(&rows, arm, "limiter.waiting") as usize;
        assert!((waiting - 1..=waiting).contains(&cut_off), "{arm}: {cut_off} of {waiting}");
        let asked = of_arm.iter().map(|wait| wait.t_ns);
        assert!(asked.clone().all(|at| at >= 1_000_000), "the first byte takes 1 ms");
    }
}

#[test]
fn who_is_late_in_a_race_gets_nothing_and_all_the_others_their_share() {
    let (_, scratch) = run(FILE, &[]);
    let waits = waits(&scratch.run_dir());
    let mut granted = BTreeMap::<_, u64>::new();
    for wait in waits.iter().filter(|wait| wait.outcome == "granted") {
        *granted.entry((&*wait.arm, &*wait.waiter)).or_default() += 1;
    }
    let count = |arm, waiter| granted.get(&(arm, waiter)).copied().unwrap_or(0);
    assert_eq!(count("race", "task0/seg1"), 0);
    for (arm, fair) in [("fifo", 16), ("race", 18)] {
        let others = count(arm, "task3/seg1");
        assert!((fair - 1..=fair + 1).contains(&others), "{arm}: {others}");
    }
    let keeps = |wait: &&Wait| wait.arm == "fifo" && wait.outcome == "granted";
    assert!(waits.iter().filter(keeps).all(|wait| wait.quoted_ns == Some(wait.wait_ns)));
}

#[test]
fn the_file_says_which_waits_are_recorded() {
    for (record, at_least, at_most) in [("all", 270, 280), ("waited", 250, 278)] {
        let (_, scratch) = run(&FILE.replace("waits: all", &format!("waits: {record}")), &[]);
        let waits = waits(&scratch.run_dir());
        assert!((at_least..=at_most).contains(&waits.len()), "{record}: {}", waits.len());
        assert_eq!(record == "all", waits.iter().any(|wait| wait.wait_ns == 0));
    }
    let (_, scratch) = run(&FILE.replace("waits: all", "waits: off"), &[]);
    assert!(!scratch.run_dir().join("waits.csv").exists());
}

#[test]
fn one_seed_gives_the_same_waits_in_two_processes() {
    let file = FILE.replace("lateness: { each: [0s, 1ns] }", "ties: random");
    let bytes = |seed| {
        let (_, scratch) = run(&file, &["--seed", seed]);
        ["waits.csv", "series.csv"].map(|name| fs::read(scratch.run_dir().join(name)).unwrap())
    };
    assert!(bytes("3") == bytes("3"));
    assert!(bytes("3") != bytes("4"));
}

/// That the file with one text in place of another is refused, in words that have all of `parts`.
fn assert_refused(old: &str, new: &str, parts: &[&str]) {
    assert!(FILE.contains(old), "{old}");
    let scratch = Scratch::new();
    scratch.file("downloads.yaml", FILE.replace(old, new));
    let finished = scratch.run(&["check", "downloads.yaml"]);
    let said = format!("{}{}", finished.stdout, finished.stderr);
    assert_eq!(finished.code, 3, "{new}: {said}");
    for part in parts {
        assert!(said.contains(part), "{new}: `{part}` is missing in: {said}");
    }
    assert_eq!(scratch.run(&["run", "downloads.yaml"]).code, 3);
    assert!(scratch.run_dirs().is_empty(), "{new}: something was started");
}

#[test]
fn what_cannot_work_is_refused_with_its_cure() {
    let fifo = "fifo: { levels: { global: { rate: 64KiB/s, initial: 1KiB } } }";
    let limited = |bucket: &str| format!("fifo: {{ levels: {{ global: {bucket} }} }}");
    let capacity = |size| limited(&format!("{{ rate: 64KiB/s, capacity: {size} }}"));
    for (old, new, parts) in [
        (fifo, limited("{ rate: 0B/s }"), &["6:", "0B/s", "1B/s or more"][..]),
        (fifo, limited("{ rate: -4MiB/s }"), &["-4MiB/s", "not a byte rate"]),
        (fifo, limited("{ rate: 64KiB }"), &["64KiB", "such as 4MiB/s"]),
        (fifo, capacity("0B"), &["capacity of 0B", "write 1B or more"]),
        (fifo, "fifo: { levels: {} }".into(), &["no level has a limit", "rate: 4MiB/s"]),
        (
            fifo,
            capacity("1023B"),
            &[
                "chunks of 1024 B",
                "holds 1023 B",
                "4 of its 4 tasks",
                "task0, task1",
                "may_hang: true",
            ],
        ),
        ("chunk: { fixed: 1KiB }", "chunk: { fixed: -1B }".into(), &["-1B", "such as 16KiB"]),
        ("chunk: { fixed: 1KiB }", "chunk: { fixed: 0B }".into(), &["a chunk of 0B never ends"]),
        ("chunk: { fixed: 1KiB }", "chunk: { fixed: 1024 }".into(), &["1024", "such as 16KiB"]),
        ("chunk: { fixed: 1KiB }", "chunk: { fixd: 1KiB }".into(), &["did you mean `fixed`?"]),
        ("tasks: 4, ", "".into(), &["tasks"]),
        ("tasks: 4", "tasks: 0".into(), &["tasks", "1 or more"]),
        ("segments: 2", "segments: 0".into(), &["segments", "1 or more"]),
        ("segments: 2", "segments: 2, segment: 0B".into(), &["a segment of 0B"]),
        ("segments: 2", "segments: 2, slots: 0".into(), &["slots", "1 or more"]),
        ("segments: 2", "segments: 2, checkpoint: 0B".into(), &["checkpoint", "1B"]),
        ("limiter: { fifo", "controller: { fixed: {} }, limiter: { fifo".into(), &["both"]),
        ("limiter: { fifo", "limitr: { fifo".into(), &["did you mean `limiter`?"]),
        ("download: {", "load: { closed: { clients: 1 } }\nx: {".into(), &["unknown field `x`"]),
    ] {
        assert_refused(old, &new, parts);
    }
}

#[test]
fn what_hangs_runs_if_the_file_means_it() {
    let fifo = "global: { rate: 64KiB/s, initial: 1KiB } } } } }\n  race";
    let small = "global: { rate: 64KiB/s, capacity: 1023B } } } }, may_hang: true }\n  race";
    assert!(FILE.contains(fifo));
    let (code, scratch) = run(&FILE.replace(fifo, small), &[]);
    assert_eq!(code, 0);
    assert_eq!(last(&rows(&scratch.run_dir()), "fifo", "download.granted"), 0.0);
    let waits = waits(&scratch.run_dir());
    let hang: Vec<_> = waits.iter().filter(|wait| wait.arm == "fifo").collect();
    assert!(hang.len() == 8 && hang.iter().all(|wait| wait.quoted_ns.is_none()));
}
