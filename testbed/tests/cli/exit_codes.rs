//! The exit code says how a command came out.

use crate::shipped;
use crate::support::Scratch;

/// One arm that does nothing of interest.
const CALM: &str = "
version: 1
name: calm
run: { seed: 1 }
arms: { a: { controller: { velox: { start: 2 } } } }
backend: { servers: 8, service: { constant: 40ms } }
load: { closed: { clients: 2 } }
phases: [{ name: short, for: 10ms }, { name: steady, for: 1s }]
expect: [{ id: sentence, in: steady, that: max(controller.window) >= 1 }]
";

fn scratch() -> Scratch {
    let scratch = Scratch::new();
    scratch.file("calm.yaml", CALM);
    scratch
}

/// The exit codes of runs of the calm experiment with one override.
#[test]
fn runs_end_by_their_verdict() {
    let scratch = scratch();
    for (set, code, says) in [
        ("run.seed=1", 0, "PASS"),
        ("expect[0].that=max(controller.window) < 1", 99, "FAIL"),
        // The window starts at 2: it is there before the first sample. A gradient is not.
        ("expect[0].that=max(rpc.error) > 0", 99, "expected > 0"),
        ("expect[0]={ id: i, in: short, that: p50(rpc.latency) < 1s }", 4, "nothing was recorded"),
        ("expect[0]={ id: i, in: short, that: last(controller.gradient) <= 1 }", 4, "INCONCLUSIVE"),
        ("expect[0].mode=live", 4, "judged        0 of 1"),
    ] {
        let finished = scratch.run(&["run", "calm.yaml", "--set", set]);
        assert_eq!(finished.code, code, "{set}: {}{}", finished.stdout, finished.stderr);
        assert!(finished.stdout.contains(says), "{set}: {}", finished.stdout);
    }
}

#[test]
fn a_wrong_expectation_of_the_shipped_experiment_fails() {
    let scratch = scratch();
    let set = "expect[0].that=max(controller.window) <= 1";
    let file = shipped("stall/overload-recovery.yaml");
    let finished = scratch.run(&["run", &file, "--mode", "virtual", "--set", set]);
    assert_eq!(finished.code, 99, "{}", finished.stdout);
    assert!(finished.stdout.contains("= 2, expected <= 1"), "{}", finished.stdout);
}

#[test]
fn a_gradient_that_could_not_be_held_makes_a_run_inconclusive_and_it_says_by_how_much() {
    let scratch = scratch();
    let file = shipped("stall/overload-recovery.yaml");
    let set = "faults[1].backend.hold.at_most=40ms";
    let finished = scratch.run(&["run", &file, "--mode", "virtual", "--set", set]);
    assert_eq!(finished.code, 4, "{}", finished.stdout);
    let says = "was to hold the gradient at 0.7; it was 1.000";
    assert!(finished.stdout.contains(says), "{}", finished.stdout);
}

#[test]
fn a_command_line_that_cannot_be_read_is_2_and_names_what_is_wrong() {
    let scratch = scratch();
    for (args, says) in [
        (&["run", "calm.yaml", "--wat"][..], "--wat"),
        (&["run"], "<FILE>"),
        (&["walk", "calm.yaml"], "walk"),
        (&[], "Usage"),
        (&["run", "calm.yaml", "--mode", "slow"], "virtual, live"),
        (&["run", "calm.yaml", "--seed", "-1"], "-1"),
        (&["run", "calm.yaml", "--listen", "here"], "127.0.0.1:9464"),
        (&["run", "calm.yaml", "--set", "run.seed"], "PATH=VALUE"),
        (&["run", "missing.yaml"], "cannot read missing.yaml"),
        (&["check", "missing.yaml"], "cannot read missing.yaml"),
        (&["run", "."], "a directory that `windtunnel run` made"),
        (&["replay", "."], "a directory that `windtunnel run` made"),
        (&["plan", "."], "a directory that `windtunnel run` made"),
        (&["check", "."], "name a file in it"),
        (&["run", "calm.yaml", "--seed", "-1"], "write a whole number, 0 or more"),
        (&["run", "calm.yaml", "--set", "=1"], "PATH=VALUE"),
        (&["sweep", "calm.yaml", "--jobs", "0"], "write a whole number, 1 or more"),
        (&["list", "laws"], "controllers"),
        (&["backend", "--servers", "0"], "--servers"),
        (&["backend", "--service", "{constant: 5}"], "--service"),
    ] {
        let finished = scratch.run(args);
        assert_eq!(finished.code, 2, "{args:?}: {}", finished.stderr);
        assert!(finished.stderr.contains(says), "{args:?}: {}", finished.stderr);
    }
    assert!(scratch.run_dirs().is_empty());
}

#[test]
fn a_place_where_nothing_can_be_written_is_1_and_is_named() {
    let finished = scratch().run(&["run", "calm.yaml", "--out", "calm.yaml/runs"]);
    assert_eq!(finished.code, 1, "{}", finished.stderr);
    assert!(finished.stderr.contains("calm.yaml/runs"), "{}", finished.stderr);
    assert!(finished.stderr.contains("--out"), "{}", finished.stderr);
}

/// Scripts branch on them, and look for them in the help.
#[test]
fn the_help_of_every_command_has_its_exit_codes() {
    let scratch = Scratch::new();
    let help = scratch.run(&["--help"]).stdout;
    let (_, commands) = help.split_once("Commands:\n").unwrap();
    let (commands, _) = commands.split_once("\n\n").unwrap();
    let named = commands.lines().filter_map(|line| line.strip_prefix("  "));
    let names =
        named.filter(|line| !line.starts_with(' ')).filter_map(|line| line.split(' ').next());
    let names: Vec<_> = names.filter(|name| *name != "help").collect();
    assert!(names.len() > 15, "{names:?}");
    for name in names {
        let help = scratch.run(&[name, "--help"]).stdout;
        assert!(help.to_lowercase().contains("exit code"), "{name}: {help}");
    }
}

#[test]
fn check_speaks_of_every_file_and_ends_by_the_worst() {
    let scratch = scratch();
    scratch.file("bad.yaml", CALM.replace("seed", "sed"));
    for (files, code, says) in [
        (&["calm.yaml"][..], 0, &["calm.yaml: ok"][..]),
        (&["calm.yaml", "bad.yaml"], 3, &["calm.yaml: ok", "bad.yaml:4:8: "]),
        (&["bad.yaml", "calm.yaml"], 3, &["bad.yaml:4:8: ", "calm.yaml: ok"]),
        (&["missing.yaml", "calm.yaml"], 2, &["calm.yaml: ok"]),
        (&["missing.yaml", "bad.yaml"], 3, &["bad.yaml:4:8: "]),
    ] {
        let finished = scratch.run(&[&["check"], files].concat());
        assert_eq!(finished.code, code, "{files:?}: {}", finished.stderr);
        for part in says {
            assert!(finished.stdout.contains(part), "{files:?}: {}", finished.stdout);
        }
    }
    assert!(scratch.run_dirs().is_empty());
}
