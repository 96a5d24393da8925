//! A run that is stopped heals its faults, closes its sockets and keeps what it has.

use crate::support::process::{Running, eventually};
use crate::support::run_dir::{events, json, rows};
use crate::support::{HUNG, Scratch};
use crate::{machine, send};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::time::Duration;
use testbed_clock::LiveClock;
use testbed_core::time::{Nanos, Time};

/// A stopped run is over within a second; a slow machine gets more.
const SOON: Duration = Duration::from_secs(5);

/// Long, with a fault of each kind that is on when it is stopped, and one that is over.
const LONG: &str = "
version: 1
name: long
run: { mode: live }
arms:
  one: { controller: { velox: { start: 4, max: 16 } } }
  two: { controller: { fixed: { limit: 4 } } }
backend: { servers: 8, service: { constant: 5ms } }
load: { closed: { clients: 8, think: { constant: 5ms } } }
phases: [{ name: short, for: 200ms }, { name: held, for: 20s }, { name: rest, for: 20s }]
faults:
  - { name: over, during: short, backend: { reject: { status: 503, share: 1% } } }
  - { name: hold, during: held, arms: [one], backend: { hold: { gradient: 0.7, at_most: 2s } } }
  - { name: slow, during: held, backend: { reject: { status: 429, share: 1% } } }
  - { name: lag, during: held, toxic: { latency: { latency: 10ms, jitter: 5ms } } }
  - { name: down, during: held, arms: [two], proxy: down }
  - { name: never, during: rest, backend: { reject: { status: 429, share: 1% } } }
";

/// The last edge of each fault.
fn last_edges(events: &[Value]) -> BTreeMap<String, bool> {
    let faults = events.iter().filter(|event| event["event"] == "fault");
    let edge = |event: &Value| {
        (event["fault"].as_str().unwrap().to_owned(), event["on"].as_bool().unwrap())
    };
    faults.map(edge).collect()
}

/// Waits until the run's directory shows its faults on and some series.
fn under_way(scratch: &Scratch) {
    let read = |dir: &Path, file| fs::read_to_string(dir.join(file)).unwrap_or_default();
    eventually(HUNG, "faults and series are on disk", || {
        let dir = scratch.run_dirs().pop()?;
        let down = read(&dir, "events.jsonl").contains(r#""fault":"down","on":true"#);
        (down && read(&dir, "series.csv").contains("two,rpc.ok,")).then_some(())
    });
}

/// The ports on which a process listens, where the system has a `/proc` to say so.
fn listening(pid: u32) -> BTreeSet<u16> {
    let Ok(files) = fs::read_dir(format!("/proc/{pid}/fd")) else {
        return BTreeSet::new();
    };
    let links = files.filter_map(|file| fs::read_link(file.unwrap().path()).ok());
    let sockets: BTreeSet<_> = links.map(|link| link.to_str().unwrap().to_owned()).collect();
    let table = fs::read_to_string("/proc/net/tcp").unwrap();
    let rows = table.lines().skip(1).map(|row| row.split_whitespace().collect::<Vec<_>>());
    let own =
        rows.filter(|row| row[3] == "0A" && sockets.contains(&format!("socket:[{}]", row[9])));
    own.map(|row| u16::from_str_radix(row[1].split_once(':').unwrap().1, 16).unwrap()).collect()
}

fn assert_kept(run_dir: &Path) {
    let events = events(run_dir);
    let edges = last_edges(&events);
    let switched: Vec<_> = edges.keys().map(String::as_str).collect();
    assert_eq!(switched, ["down", "hold", "lag", "over", "slow"]);
    assert!(edges.values().all(|on| !on), "still on: {edges:?}");
    assert_eq!(events.last().unwrap()["event"], "end");
    let rows = rows(run_dir);
    assert!(["one", "two"].iter().all(|arm| rows.iter().any(|row| row.arm == *arm)));
    assert!(rows.is_sorted_by_key(|row| row.t_ns));
    let verdict = json(&run_dir.join("verdict.json"));
    assert_eq!(verdict["verdict"], "interrupted");
    for file in ["experiment.yaml", "resolved.yaml", "manifest.json", "verdict.txt"] {
        assert!(run_dir.join(file).exists(), "{file}");
    }
}

/// Sends the signal, and says how long it took until the process had ended.
fn stop(running: Running, signal: &str, code: i32) -> Nanos {
    let clock = LiveClock::start();
    send(&running, signal);
    let finished = running.ends_within(SOON);
    let took = clock.now().since(Time::ZERO);
    println!("{signal}: over after {took}");
    assert_eq!(finished.code, code, "{}", finished.stderr);
    assert!(finished.stdout.contains("interrupted"), "{}", finished.stdout);
    took
}

#[test]
fn a_live_run_that_is_stopped_heals_closes_and_keeps() {
    let _machine = machine();
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let scratch = Scratch::new();
        scratch.file("long.yaml", LONG);
        let running = scratch.start(&["run", "long.yaml", "--listen", "127.0.0.1:0"]);
        let metrics = running.metrics_addr();
        let mut watcher = TcpStream::connect(metrics).unwrap();
        watcher.write_all(b"GET / HTTP/1.1\r\nhost: test\r\n\r\n").unwrap();
        assert_ne!(watcher.read(&mut [0; 512]).unwrap(), 0);
        under_way(&scratch);

        let mut ports = listening(running.child.id());
        // Metrics, and for each arm a backend and a proxy, one of which is down.
        assert!(ports.len() >= 4 || cfg!(not(target_os = "linux")), "{ports:?}");
        ports.insert(metrics.port());
        stop(running, signal, code);
        assert_kept(&scratch.run_dir());
        for port in ports {
            let refused = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err();
            assert!(refused, "something still listens on {port}");
        }
    }
}

#[test]
fn a_virtual_run_can_be_stopped_too() {
    let _machine = machine();
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let scratch = Scratch::new();
        scratch.file("long.yaml", LONG);
        // Longer than anybody waits, even in virtual time, with little to write.
        let long = ["--set", "phases[1].for=100h", "--set", "run.sample_every=1s"];
        let running =
            scratch.start(&[&["run", "long.yaml", "--mode", "virtual"][..], &long].concat());
        under_way(&scratch);
        stop(running, signal, code);
        assert_kept(&scratch.run_dir());
    }
}
