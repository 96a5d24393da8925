//! A virtual run can be run again to the byte, and a change is told where it stands.

use crate::shipped;
use crate::support::Scratch;
use std::fs;

/// A run of a shipped experiment, and its directory.
fn run(experiment: &str, args: &[&str]) -> (Scratch, String) {
    let scratch = Scratch::new();
    let file = shipped(experiment);
    let finished = scratch.run(&[&["run", &file, "--quiet", "--mode", "virtual"], args].concat());
    assert_eq!(finished.code, 0, "{}", finished.stderr);
    let dir = scratch.run_dir().to_string_lossy().into_owned();
    (scratch, dir)
}

#[test]
fn what_a_run_was_given_on_the_command_line_is_part_of_it() {
    let changed = ["--seed", "9", "--set", "arms.double.controller.velox.max=32"];
    let (scratch, dir) = run("stall/overload-recovery.yaml", &changed);
    let verified = scratch.run(&["verify", &dir]);
    assert_eq!(verified.code, 0, "{}{}", verified.stdout, verified.stderr);
    let expected = format!("same       series.csv\nsame       events.jsonl\nSAME  {dir}\n");
    assert_eq!(verified.stdout, expected);
}

#[test]
fn waits_are_compared_too_and_a_changed_row_is_shown() {
    let (scratch, dir) = run("starvation/twenty-downloads.yaml", &[]);
    let path = format!("{dir}/waits.csv");
    let mut rows: Vec<String> =
        fs::read_to_string(&path).unwrap().lines().map(str::to_owned).collect();
    rows[100].push('0');
    fs::write(&path, rows.join("\n") + "\n").unwrap();
    let verified = scratch.run(&["verify", &dir]);
    assert_eq!(verified.code, 98, "{}", verified.stderr);
    assert!(
        verified.stdout.starts_with(
            "same       series.csv\nsame       events.jsonl\ndifferent  waits.csv:101\n"
        ),
        "{}",
        verified.stdout
    );
    assert!(
        verified.stdout.contains(&format!("  recorded: {}\n", rows[100])),
        "{}",
        verified.stdout
    );
    assert!(verified.stdout.ends_with(&format!("DIFFERENT  {dir}\n")), "{}", verified.stdout);
}

#[test]
fn what_is_no_virtual_run_is_refused() {
    let scratch = Scratch::new();
    let finished = scratch.run(&["verify", "nowhere"]);
    assert_eq!(finished.code, 2);
    assert!(
        finished.stderr.contains("give a directory that `windtunnel run` made"),
        "{}",
        finished.stderr
    );
    let (scratch, dir) = run("stall/overload-recovery.yaml", &[]);
    let path = format!("{dir}/resolved.yaml");
    let live = fs::read_to_string(&path).unwrap().replace("mode: virtual", "mode: live");
    fs::write(&path, live).unwrap();
    let finished = scratch.run(&["verify", &dir]);
    assert_eq!(finished.code, 2);
    assert!(finished.stderr.contains("no two of those are alike"), "{}", finished.stderr);
}

#[test]
fn a_replay_with_its_own_law_is_the_same_and_with_another_only_that_arm_differs() {
    let (scratch, dir) = run("stall/overload-recovery.yaml", &["--seed", "9"]);
    let series = |dir: &str| fs::read_to_string(format!("{dir}/series.csv")).unwrap();
    let replayed = |args: &[&str]| {
        let before = scratch.run_dirs();
        let finished = scratch.run(&[&["replay", &dir, "--quiet"], args].concat());
        assert!([0, 99].contains(&finished.code), "{}", finished.stderr);
        let after = scratch.run_dirs().into_iter().find(|dir| !before.contains(dir));
        series(&after.unwrap().to_string_lossy())
    };
    assert!(replayed(&[]) == series(&dir), "a replay differs");
    let other = replayed(&["--set", "arms.integer.controller.velox.window=double"]);
    let of = |text: &str, arm: &str| {
        let rows = text.lines().filter(|row| row.split(',').nth(1) == Some(arm));
        rows.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(of(&other, "double"), of(&series(&dir), "double"));
    assert!(of(&other, "integer") != of(&series(&dir), "integer"));
}
