//! Clients that give up, live.

use crate::machine;
use crate::support::Scratch;
use crate::support::run_dir::rows;

/// Four clients give up after 50 ms what a stuck backend does not answer within 10 s.
const STUCK: &str = "
version: 1
name: stuck
run: { mode: live }
arms: { a: { controller: { fixed: { limit: 4 } } } }
backend: { servers: 8, service: { constant: 5ms } }
load: { closed: { clients: 4 } }
client: { timeout: 50ms }
phases: [{ name: calm, for: 300ms }, { name: stuck, for: 1s }, { name: after, for: 300ms }]
faults: [{ name: hold, during: stuck, backend: { hold: { latency: 10s } } }]
";

#[test]
fn what_takes_too_long_is_given_up_and_the_rest_goes_on() {
    let _machine = machine();
    let scratch = Scratch::new();
    scratch.file("stuck.yaml", STUCK);
    let finished = scratch.run(&["run", "stuck.yaml", "--listen", "off"]);
    assert!([0, 4].contains(&finished.code), "{}", finished.stderr);
    let rows = rows(&scratch.run_dir());
    let at = |series: &str, t_ns: u64| {
        let until = rows.iter().filter(|row| row.series == series && row.t_ns <= t_ns);
        until.map(|row| row.value).reduce(|_, last| last).unwrap()
    };
    let (calm, end) = (300_000_000, u64::MAX);
    // Each of the four gives up at most once in 50 ms, and at least some of them do.
    assert!((4.0..=80.0).contains(&at("rpc.timeout", end)), "{}", at("rpc.timeout", end));
    assert_eq!(at("rpc.error", end), 0.0, "a request that was given up does not come back");
    assert!(at("rpc.ok", end) > at("rpc.ok", calm), "answers come again after the hold");
}
