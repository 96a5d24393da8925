//! The command behind a verdict that is no pass shows something.

use crate::support::Scratch;
use std::process::Command;

const FILE: &str = "
version: 1
name: paced
run: { mode: virtual }
record: { waits: all }
arms:
  calls: { controller: { fixed: { limit: 1 } } }
  downloads: { limiter: { fifo: { levels: { global: { rate: 1MiB/s } } } } }
backend: { servers: 1, service: { constant: 1ms } }
load: { closed: { clients: 2 } }
download: { tasks: 2, chunk: { fixed: 256KiB } }
phases: [{ name: p, for: 3s }]
";

/// The command that the text of a verdict ends with.
fn command(stdout: &str) -> &str {
    stdout.trim_end().rsplit_once("look closer: ").unwrap().1
}

#[test]
fn whatever_is_recorded_the_command_shows_something_or_has_it_recorded() {
    for (arm, that) in [
        ("downloads", "max(limiter.wait) <= 1us"),
        ("downloads", "max(limiter.wait) / fifo > 9"),
        ("downloads", "max(limiter.overrun) > 9s"),
        ("downloads", "mean(limiter.throughput) > 1GiB/s"),
        ("downloads", "zero_progress(20 rounds) > 9"),
        ("calls", "max(controller.window) > 9"),
        ("calls", "p99(rpc.latency) <= 1us"),
        ("calls", "mean(oracle.goodput) - mean(rpc.goodput) > 9000/s"),
        ("calls", "mean(oracle.goodput) > 9000/s"),
    ] {
        for waits in ["all", "waited", "'off'"] {
            let (scratch, expect) =
                (Scratch::new(), format!("[{{ id: x, arm: {arm}, that: {that} }}]"));
            let file = FILE.replace("waits: all", &format!("waits: {waits}"));
            scratch.file("paced.yaml", format!("{file}expect: {expect}\n"));
            let mut finished = scratch.run(&["run", "paced.yaml", "--quiet", "--no-report"]);
            if let Some(args) = command(&finished.stdout).strip_prefix("windtunnel ") {
                let args: Vec<_> = args.split(' ').chain(["--quiet", "--no-report"]).collect();
                finished = scratch.run(&args);
            }
            assert_eq!(finished.code, 99, "{that}, {waits}: {}", finished.stderr);
            let mut shell = Command::new("sh");
            let shown = shell.args(["-c", command(&finished.stdout)]).current_dir(scratch.path());
            let shown = shown.output().unwrap();
            assert!(shown.status.success(), "{that}, {waits}: {}", finished.stdout);
        }
    }
}
