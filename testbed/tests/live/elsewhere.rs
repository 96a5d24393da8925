//! Backends in another process: `windtunnel backend --control`, and a run whose arms have theirs there.

use crate::support::http::request;
use crate::support::process::{Finished, Running, address, eventually, text};
use crate::support::run_dir::{events, json, rows};
use crate::support::{HUNG, Scratch};
use crate::{machine, send};
use serde_json::{Value, json};
use std::net::SocketAddr;

/// So little load that a busy machine can do it: a fault of the backend, one of the proxy, and an arm
/// without either.
const FAR: &str = "
version: 1
name: far
run: { mode: live }
arms:
  struck: { controller: { fixed: { limit: 4 } } }
  spared: { controller: { fixed: { limit: 4 } } }
backend: { servers: 8, service: { constant: 10ms } }
load: { closed: { clients: 2, think: { constant: 20ms } } }
phases: [{ name: near, for: 500ms }, { name: storm, for: 500ms }, { name: held, for: 1s }, { name: after, for: 500ms }]
faults:
  - { name: storm, during: storm, arms: [struck], backend: { reject: { status: 429, share: 100% } } }
  - { name: slow, during: held, arms: [struck], backend: { hold: { latency: 60ms } } }
  - { name: lag, during: held, arms: [struck], toxic: { latency: { latency: 40ms } } }
expect:
  - { id: storm,   arm: struck, in: storm, that: last(rpc.overload) >= 1 }
  - { id: counted, arm: struck,            that: last(backend.injected) >= 1 }
  - { id: slow,    arm: struck, in: held,  that: max(backend.age) >= 60ms }
  - { id: lag,     arm: struck, in: held,  that: max(rpc.rtt) >= 100ms }
  - { id: healed,  arm: struck, in: after, that: min(rpc.rtt) < 60ms }
  - { id: control, arm: spared,            that: last(rpc.overload) == 0 }
";

/// A `windtunnel backend` that makes backends, and where it is asked to.
struct Far {
    running: Running,
    control: SocketAddr,
}

impl Far {
    fn start(scratch: &Scratch) -> Self {
        let args = ["backend", "--listen", "127.0.0.1:0", "--control", "127.0.0.1:0"];
        let running = scratch.start(&[&args[..], &["--ports", "0", "--lease", "3s"]].concat());
        let control = address(|| text(&running.stdout), "control listening on http://");
        Self { running, control }
    }

    fn url(&self) -> String {
        format!("http://{}", self.control)
    }

    fn arms(&self) -> Option<Value> {
        let answer = request(self.control, "GET", "/arms", "")?;
        serde_json::from_str(&answer.body).ok()
    }

    /// Waits until the run has made its backends.
    fn is_used(&self) {
        let two = || self.arms().filter(|arms| arms.as_array().is_some_and(|arms| arms.len() == 2));
        eventually(HUNG, "both arms have a backend", two);
    }
}

/// A run with its backends there.
fn start(scratch: &Scratch, far: &Far, more: &[&str]) -> Running {
    scratch.file("far.yaml", FAR);
    let url = far.url();
    let args = ["run", "far.yaml", "--quiet", "--listen", "off", "--backend", &url];
    scratch.start(&[&args, more].concat())
}

/// What a busy machine makes inconclusive has gone its way all the same.
fn went_well(finished: &Finished) {
    let Finished { code, stdout, stderr } = finished;
    assert!([0, 4].contains(code), "{code}\n{stdout}\n{stderr}");
    assert!(!stdout.contains("FAIL "), "{stdout}");
}

#[test]
fn a_run_has_its_backends_elsewhere_and_leaves_none() {
    let _machine = machine();
    let scratch = Scratch::new();
    let far = Far::start(&scratch);
    went_well(&start(&scratch, &far, &[]).ends_within(HUNG));
    assert_eq!(far.arms(), Some(json!([])), "they are closed");
    let run_dir = scratch.run_dir();
    assert_eq!(json(&run_dir.join("manifest.json"))["backend"], far.url());
    let events = events(&run_dir);
    let healed: Vec<_> = events.iter().filter(|event| event["event"] == "healed").collect();
    assert_eq!(healed.len(), 2);
    assert!(healed.iter().all(|event| event["left"] == json!([])), "{healed:?}");
    let busy =
        |row: &crate::support::run_dir::Row| row.series == "backend.utilisation" && row.value > 0.0;
    assert!(rows(&run_dir).iter().any(busy), "the backends are looked at");
}

#[test]
fn the_environment_says_where_and_a_virtual_run_does_not_care() {
    let _machine = machine();
    let scratch = Scratch::new();
    scratch.file("far.yaml", FAR);
    let run = |mode, url| {
        let args = ["run", "far.yaml", "--quiet", "--listen", "off", "--mode", mode];
        let variables = [("WINDTUNNEL_BACKEND", url)];
        let stdin = std::process::Stdio::null();
        Running::start_with(scratch.path(), &args, stdin, &variables).ends_within(HUNG)
    };
    assert_eq!(run("virtual", "http://127.0.0.1:1").code, 0);
    for (url, code, says) in [
        ("http://127.0.0.1:1", 1, "windtunnel backend --control"),
        ("127.0.0.1:1", 2, "WINDTUNNEL_BACKEND: write the URL"),
    ] {
        let finished = run("live", url);
        assert_eq!(finished.code, code, "{}", finished.stderr);
        assert!(finished.stderr.contains(says), "{}", finished.stderr);
    }
}

#[test]
fn a_backend_that_is_killed_ends_the_run_with_an_error() {
    let _machine = machine();
    let scratch = Scratch::new();
    let far = Far::start(&scratch);
    let run = start(&scratch, &far, &["--set", "phases[0].for=1h"]);
    far.is_used();
    send(&far.running, "KILL");
    let finished = run.ends_within(HUNG);
    assert_eq!(finished.code, 1, "{}", finished.stdout);
    let told = format!("the backend at {} failed", far.url());
    assert!(finished.stderr.contains(&told), "{}", finished.stderr);
}

#[test]
fn a_run_that_is_stopped_or_killed_leaves_no_backends() {
    let _machine = machine();
    for signal in ["INT", "KILL"] {
        let scratch = Scratch::new();
        let far = Far::start(&scratch);
        let run = start(&scratch, &far, &["--set", "phases[0].for=1h"]);
        far.is_used();
        send(&run, signal);
        let gone = || far.arms().filter(|arms| *arms == json!([]));
        eventually(HUNG, signal, gone);
    }
}
