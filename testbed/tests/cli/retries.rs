//! What is tried again: what a server turned away, and never what the client's own admission did.

use crate::support::Scratch;
use crate::support::run_dir::rows;

/// Twice what one server can do, from clients that try again.
const FILE: &str = "
version: 1
name: retries
run: { mode: virtual }
overload: true
arms: { a: { controller: CONTROLLER } }
backend: { servers: 1, service: { constant: 10ms }, backlog: BACKLOG }
admission: ADMISSION
client: { retry: { times: 2, first: 20ms, quota: { capacity: 1000000 } } }
load: { open: { constant: { rate: 200/s } } }
phases: [{ name: p, for: 5s }]
";

#[test]
fn what_admission_turns_away_is_over_and_what_a_server_turns_away_is_tried_again() {
    for (controller, admission, backlog, retried) in [
        ("{ fixed: { limit: 1 } }", "{ max_waiting: 1 }", "9", false),
        ("{ fixed: { limit: 1 } }", "{ queue: { codel: {} } }", "9", false),
        ("{ fixed: { limit: 100 } }", "{}", "1", true),
        ("{ sre_throttle: {} }", "{}", "1", true),
    ] {
        let scratch = Scratch::new();
        let file = FILE.replace("CONTROLLER", controller).replace("BACKLOG", backlog);
        scratch.file("retries.yaml", file.replace("ADMISSION", admission));
        let finished = scratch.run(&["run", "retries.yaml", "--quiet", "--no-report"]);
        assert_eq!(finished.code, 0, "{}{}", finished.stdout, finished.stderr);
        let rows = rows(&scratch.run_dir());
        let last = |series: &str| rows.iter().rfind(|row| row.series == series).unwrap().value;
        let [rejected, overload, retries] =
            ["rpc.rejected", "rpc.overload", "rpc.retries"].map(last);
        assert!(rejected + overload > 100.0, "{controller} {admission}: nothing is turned away");
        assert_eq!(retries > 0.0, retried, "{controller} {admission}: {retries} retries");
        assert!(retries <= overload, "{controller} {admission}: {retries} of {overload}");
    }
}
