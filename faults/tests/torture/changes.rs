//! Toxics that are added, changed and removed over the API, ten thousand times, while connections
//! are in use. The changes are seeded; what they meet is up to the machine.

use crate::support::{Api, HUNG, connect, echo_server, round_trip};
use crate::turn;
use rand::RngExt as _;
use serde_json::{Value, json};
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;
use testbed_clock::LiveClock;
use testbed_core::rng::{Rng, Streams};

/// On each of the two proxies.
const CHANGES: usize = 5_000;
/// Toxics on a proxy at a time, at most.
const TOXICS: usize = 6;
const CLIENTS: usize = 3;
/// After this long without a byte a client takes it that its bytes were dropped.
const DROPPED: Duration = Duration::from_millis(20);

/// These pass on all that they are given.
const HARMLESS: [&str; 6] = ["noop", "latency", "wave", "bandwidth", "slow_close", "slicer"];
const HARMFUL: [&str; 3] = ["timeout", "limit_data", "reset_peer"];

fn attributes(kind: &str, rng: &mut Rng) -> Value {
    let mut up_to = |n: u64| rng.random_range(0..=n);
    match kind {
        "latency" => json!({ "latency": up_to(2), "jitter": up_to(2) }),
        "wave" => {
            let shape = ["sine", "triangle", "sawtooth", "square"][up_to(3) as usize];
            json!({ "low": up_to(1), "high": 1 + up_to(2), "period": 1 + up_to(20), "shape": shape })
        }
        // At nothing it stalls until another change.
        "bandwidth" => json!({ "rate": up_to(3) * 10_000 }),
        "slow_close" => json!({ "delay": up_to(3) }),
        "slicer" => {
            let average = 50 + up_to(500);
            json!({ "average_size": average, "size_variation": up_to(average), "delay": up_to(20) })
        }
        "timeout" => json!({ "timeout": up_to(3) }),
        "limit_data" => json!({ "bytes": up_to(5_000) }),
        "reset_peer" => json!({ "timeout": up_to(3) }),
        _ => json!({}),
    }
}

/// Who changes one proxy's toxics.
struct Changer<'a> {
    api: &'a Api,
    proxy: &'a str,
    kinds: &'a [&'a str],
    rng: Rng,
    /// Name and kind of what is there.
    toxics: Vec<(String, &'a str)>,
    made: usize,
}

impl<'a> Changer<'a> {
    fn new(api: &'a Api, proxy: &'a str, kinds: &'a [&'a str]) -> Self {
        let rng = Streams::new(1).stream(proxy);
        Self { api, proxy, kinds, rng, toxics: Vec::new(), made: 0 }
    }

    /// Makes all changes and takes every toxic away.
    fn run(mut self) {
        for _ in 0..CHANGES {
            match self.rng.random_range(0..3) {
                0 if self.toxics.len() < TOXICS => self.add(),
                1 if !self.toxics.is_empty() => self.update(),
                _ if !self.toxics.is_empty() => self.remove(),
                _ => self.add(),
            }
        }
        while !self.toxics.is_empty() {
            self.remove();
        }
    }

    fn add(&mut self) {
        let kind = self.kinds[self.rng.random_range(0..self.kinds.len())];
        let stream = ["upstream", "downstream"][self.rng.random_range(0..2)];
        let (name, toxicity) = (format!("t{}", self.made), self.toxicity());
        let attributes = attributes(kind, &mut self.rng);
        self.made += 1;
        let body = json!({
            "name": name, "type": kind, "stream": stream, "toxicity": toxicity,
            "attributes": attributes,
        });
        self.call("POST", "", &body.to_string());
        self.toxics.push((name, kind));
    }

    fn update(&mut self) {
        let at = self.rng.random_range(0..self.toxics.len());
        let attributes = attributes(self.toxics[at].1, &mut self.rng);
        let body = json!({ "toxicity": self.toxicity(), "attributes": attributes });
        self.call("PATCH", &format!("/{}", self.toxics[at].0), &body.to_string());
    }

    fn remove(&mut self) {
        let at = self.rng.random_range(0..self.toxics.len());
        let (name, _) = self.toxics.swap_remove(at);
        self.call("DELETE", &format!("/{name}"), "");
    }

    fn toxicity(&mut self) -> f64 {
        [0.0, 0.5, 1.0][self.rng.random_range(0..3)]
    }

    /// One change, which has to be answered.
    fn call(&self, method: &str, toxic: &str, body: &str) {
        let clock = LiveClock::start();
        let path = format!("/proxies/{}/toxics{toxic}", self.proxy);
        self.api.done(method, &path, body);
        assert!(clock.now().as_secs_f64() < HUNG.as_secs_f64(), "{method} {path} {body}");
    }
}

/// Bytes of a message, each a number, so that one that is lost or out of order is seen.
fn message(round: usize) -> Vec<u8> {
    (0..300).map(|n| (n * 7 + round) as u8).collect()
}

/// Echoes over one connection: not a byte may be missing.
fn echo_all(stop: &AtomicBool, proxy: SocketAddr) -> usize {
    let mut client = connect(proxy);
    let mut rounds = 0;
    while !stop.load(Relaxed) {
        round_trip(&mut client, &message(rounds));
        rounds += 1;
    }
    rounds
}

/// Echoes over connections that may be cut: what comes back is what was sent, up to the cut.
fn echo_some(stop: &AtomicBool, proxy: SocketAddr) -> usize {
    let mut connections = 0;
    while !stop.load(Relaxed) {
        echo_until_cut(stop, proxy);
        connections += 1;
    }
    connections
}

fn echo_until_cut(stop: &AtomicBool, proxy: SocketAddr) {
    let mut client = connect(proxy);
    client.set_read_timeout(Some(DROPPED)).unwrap();
    for round in 0.. {
        let sent = message(round);
        if stop.load(Relaxed) || client.write_all(&sent).is_err() {
            return;
        }
        let mut back = vec![0; sent.len()];
        let mut length = 0;
        while length < sent.len() {
            match client.read(&mut back[length..]) {
                Ok(0) => return,
                Ok(read) => length += read,
                Err(error) => return assert_is_an_end(error.kind()),
            }
            assert!(sent.starts_with(&back[..length]), "{round}: {:?}", &back[..length]);
        }
    }
}

/// The ways in which a toxic can end an echo.
fn assert_is_an_end(kind: ErrorKind) {
    let ends = [ErrorKind::ConnectionReset, ErrorKind::WouldBlock, ErrorKind::TimedOut];
    assert!(ends.contains(&kind), "{kind}");
}

/// The value of a metric of one proxy, both directions together.
fn metric(metrics: &str, name: &str, proxy: &str) -> u64 {
    let of_proxy = format!("proxy=\"{proxy}\"");
    let start = format!("toxiproxy_proxy_{name}{{");
    let lines = metrics.lines().filter(|line| line.starts_with(&start) && line.contains(&of_proxy));
    lines.map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).sum()
}

/// Waits until no connection is open, and returns the metrics then.
fn closed_metrics(api: &Api) -> String {
    for _ in 0..HUNG.as_millis() / 5 {
        let metrics = api.done("GET", "/metrics", "").body;
        if ["whole", "cut"].iter().all(|proxy| metric(&metrics, "connections_open", proxy) == 0) {
            return metrics;
        }
        thread::sleep(Duration::from_millis(5));
    }
    panic!("a connection does not end");
}

#[test]
fn ten_thousand_changes_lose_and_swap_no_byte_and_hang_nobody() {
    let _turn = turn();
    let api = Api::start();
    let upstream = echo_server();
    let (whole, cut) = (api.proxy("whole", upstream), api.proxy("cut", upstream));
    let all: Vec<&str> = HARMLESS.into_iter().chain(HARMFUL).collect();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .flat_map(|_| {
                [scope.spawn(|| echo_all(&stop, whole)), scope.spawn(|| echo_some(&stop, cut))]
            })
            .collect();
        let harmful = scope.spawn(|| Changer::new(&api, "cut", &all).run());
        let harmless = scope.spawn(|| Changer::new(&api, "whole", &HARMLESS).run());
        let changed = [harmful.join(), harmless.join()];
        stop.store(true, Relaxed);
        for client in clients {
            assert!(client.join().unwrap() > 0);
        }
        assert!(changed.into_iter().all(|result| result.is_ok()));
    });
    let metrics = closed_metrics(&api);
    assert_eq!(metric(&metrics, "dropped_bytes_total", "whole"), 0);
    for proxy in ["whole", "cut"] {
        let count = |name| metric(&metrics, name, proxy);
        let (received, sent) = (count("received_bytes_total"), count("sent_bytes_total"));
        assert_eq!(received, sent + count("dropped_bytes_total"), "{proxy}");
        assert_eq!(count("toxics_active"), 0);
        assert!(received > 0 && count("links_hit_total") > 0);
    }
    for way in ["aborts_total", "resets_total", "dropped_bytes_total"] {
        assert!(metric(&metrics, way, "cut") > 0, "{way}");
    }
    round_trip(&mut connect(whole), b"as new");
    round_trip(&mut connect(cut), b"as new");
}
