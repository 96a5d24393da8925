//! The commands around a file: `init`, `explain`, `plan`.

use crate::shipped;
use crate::support::process::Running;
use crate::support::{HUNG, Scratch};

#[test]
fn the_first_file_is_valid_and_its_expectations_come_true() {
    let scratch = Scratch::new();
    let written = scratch.run(&["init", "mine.yaml"]);
    assert_eq!(written.code, 0, "{}", written.stderr);
    assert!(written.stdout.contains("windtunnel run mine.yaml"), "{}", written.stdout);
    for args in [&["check", "mine.yaml"][..], &["plan", "mine.yaml"], &["run", "mine.yaml"]] {
        let finished = scratch.run(args);
        assert_eq!(finished.code, 0, "{args:?}: {}{}", finished.stdout, finished.stderr);
    }
}

/// What it says can be pasted into a shell, and what goes through a pipe is the same file.
#[test]
fn what_init_says_to_try_works_whatever_the_name() {
    let scratch = Scratch::new();
    for name in ["a b.yaml", "it's ü.yaml", "$(x).yaml"] {
        let written = scratch.run(&["init", name]);
        let (_, command) = written.stdout.split_once("try: ").unwrap();
        let words = shlex::split(command).unwrap();
        assert_eq!(words, ["windtunnel", "run", name]);
    }
    let printed = scratch.run(&["init", "-"]);
    assert_eq!(printed.stdout, testbed::init::STARTER);
    assert!(!scratch.path().join("-").exists());
}

#[test]
fn a_file_that_is_there_is_not_overwritten() {
    let scratch = Scratch::new();
    scratch.file("experiment.yaml", "mine");
    let refused = scratch.run(&["init"]);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("experiment.yaml is there already"), "{}", refused.stderr);
    let kept = std::fs::read_to_string(scratch.path().join("experiment.yaml")).unwrap();
    assert_eq!(kept, "mine");
    let nowhere = scratch.run(&["init", "no/folder/here.yaml"]);
    assert_eq!(nowhere.code, 1, "{}", nowhere.stderr);
    assert!(nowhere.stderr.contains("there is no folder for"), "{}", nowhere.stderr);
}

#[test]
fn a_field_is_explained_and_an_unknown_one_is_not() {
    let scratch = Scratch::new();
    for (path, part) in [
        ("faults.backend.hold", "exactly one of"),
        ("load.open", "poisson"),
        ("expect.that", "max(controller.window) <= 2"),
        ("arms.integer.controller.velox.window", "integer"),
    ] {
        let said = scratch.run(&["explain", path]);
        assert_eq!(said.code, 0, "{path}: {}", said.stderr);
        assert!(said.stdout.contains(part), "{path}: {}", said.stdout);
    }
    let top = scratch.run(&["explain"]);
    assert!(top.stdout.contains("\n  phases "), "{}", top.stdout);
    let unknown = scratch.run(&["explain", "faults.backend.hald"]);
    assert_eq!(unknown.code, 2);
    assert!(unknown.stderr.contains("did you mean `hold`?"), "{}", unknown.stderr);
}

#[test]
fn a_plan_in_a_pipe_has_80_columns_and_no_colour() {
    let scratch = Scratch::new();
    let said = scratch.run(&["plan", &shipped("stall/overload-recovery.yaml")]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    let longest = said.stdout.lines().map(|line| line.chars().count()).max();
    assert_eq!(longest, Some(80), "{}", said.stdout);
    assert!(!said.stdout.contains('\u{1b}'));
    assert!(scratch.run_dirs().is_empty(), "nothing is run");
}

/// Whatever reads the file more than once has the same text each time.
#[test]
fn a_file_may_come_in_by_standard_input() {
    let scratch = Scratch::new();
    assert_eq!(scratch.run(&["init", "mine.yaml"]).code, 0);
    for (args, code) in [
        (&["check", "-"][..], 0),
        (&["check", "-", "-"], 0),
        (&["plan", "-"], 0),
        (&["run", "-", "--mode", "virtual"], 0),
        (&["run", "-", "--seeds", "2"], 0),
        (&["run", "-", "--set", "nope=1"], 3),
    ] {
        let file = std::fs::File::open(scratch.path().join("mine.yaml")).unwrap();
        let finished = Running::start(scratch.path(), args, file.into()).ends_within(HUNG);
        assert_eq!(finished.code, code, "{args:?}: {}{}", finished.stdout, finished.stderr);
    }
    let nothing = scratch.run(&["check", "-"]);
    assert!(nothing.stdout.contains("-:1:1: the file is empty"), "{}", nothing.stdout);
}
