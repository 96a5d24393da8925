//! A reader that goes away is no reason to fail, let alone to panic: `windtunnel list | head -1`.

use crate::support::Scratch;
use std::io::PipeWriter;
use std::process::{Command, Stdio};

/// A valid experiment with an expectation that comes true.
const CALM: &str = "
version: 1
name: calm
arms: { a: { controller: { velox: { start: 2 } } } }
backend: { servers: 8, service: { constant: 40ms } }
load: { closed: { clients: 2 } }
phases: [{ name: steady, for: 1s }]
expect: [{ id: sentence, that: max(controller.window) >= 1 }]
";

/// The commands, and how they end if they are listened to.
const COMMANDS: &[(&[&str], i32)] = &[
    (&["list"], 0),
    (&["check", "calm.yaml"], 0),
    (&["check", "bad.yaml"], 3),
    (&["check", "missing.yaml"], 2),
    (&["run", "calm.yaml"], 0),
    (&["run", "calm.yaml", "--json"], 0),
    (&["run", "calm.yaml", "--listen", "127.0.0.1:0"], 0),
    (&["run", "bad.yaml"], 3),
    (&["law", "{fixed: {limit: 7}}", "--input", "rtts.csv"], 0),
    (&["law", "{velox: {min: 5, max: 2}}", "--input", "rtts.csv"], 0),
    (&["law", "{fixed: {limit: 7}}", "--input", "missing.csv"], 2),
];

/// The writing end of a pipe that nobody reads.
fn deaf() -> PipeWriter {
    std::io::pipe().unwrap().1
}

fn assert_ends_as_if_listened_to(redirect: impl Fn(&mut Command)) {
    let scratch = Scratch::new();
    scratch.file("calm.yaml", CALM);
    scratch.file("bad.yaml", CALM.replace("version", "vision"));
    scratch.file("rtts.csv", "rtt_ns\n1\n2\n");
    let mut wrong = Vec::new();
    for (args, code) in COMMANDS {
        let mut command = Command::new(env!("CARGO_BIN_EXE_windtunnel"));
        command.args(*args).current_dir(scratch.path()).stdin(Stdio::null());
        redirect(command.stdout(Stdio::null()).stderr(Stdio::null()));
        let ended = command.status().unwrap();
        if ended.code() != Some(*code) {
            wrong.push(format!("{args:?}: {ended} in place of {code}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn nobody_reads_standard_output() {
    assert_ends_as_if_listened_to(|command| {
        command.stdout(deaf());
    });
}

#[test]
fn nobody_reads_standard_error() {
    assert_ends_as_if_listened_to(|command| {
        command.stderr(deaf());
    });
}
