//! Signals: whatever takes long ends by the one that came, with the exit code of that.

use crate::support::Scratch;
use crate::support::process::{eventually, send};
use std::time::Duration;

/// A virtual day: no machine is done with it before the signal comes.
const DAY: &str = "
version: 1
name: day
arms: { a: { controller: { fixed: { limit: 100 } } } }
backend: { servers: 100, service: { constant: 1ms } }
load: { closed: { clients: 100 } }
phases: [{ name: all, for: 24h }]
";
/// Nobody waits for longer.
const HUNG: Duration = Duration::from_secs(30);

#[test]
fn whatever_runs_ends_by_the_signal_that_came() {
    for args in [
        &["run", "day.yaml"][..],
        &["run", "day.yaml", "--seeds", "3"],
        &["sweep", "day.yaml", "--axis", "limit=arms.a.controller.fixed.limit=[100, 200]"],
        &["compare", "day.yaml", "day.yaml", "--seeds", "2"],
    ] {
        for (signal, code) in [("INT", 130), ("TERM", 143)] {
            let scratch = Scratch::new();
            scratch.file("day.yaml", DAY);
            let running = scratch.start(args);
            let runs = scratch.path().join("runs");
            eventually(HUNG, "a run", || runs.exists().then_some(()));
            send(&running, signal);
            let finished = running.ends_within(HUNG);
            assert_eq!(finished.code, code, "{args:?} {signal}: {}", finished.stderr);
        }
    }
}
