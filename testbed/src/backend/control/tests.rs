//! Over real loopback sockets, by HTTP written by hand.

use super::*;
use crate::client::Client;
use serde_json::{Value, json};
use testbed_clock::LiveClock;
use testbed_core::time::{Nanos, Time};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

struct Bench {
    control: Control,
}

impl Bench {
    fn start(ports: Ports) -> Self {
        Self::start_with(ports, Nanos::from_secs(10))
    }

    fn start_with(ports: Ports, lease: Nanos) -> Self {
        let any_port: SocketAddr = "127.0.0.1:0".parse().unwrap();
        let args = ControlArgs { listen: any_port, host: any_port.ip(), ports, lease };
        let control = Control::start(&args, Timer::start(LiveClock::start())).unwrap();
        Self { control }
    }

    async fn ask(&self, method: &str, path: &str, body: &str) -> (u16, Value) {
        self.ask_as("", method, path, body).await
    }

    /// As the testbed of this header.
    async fn ask_as(&self, header: &str, method: &str, path: &str, body: &str) -> (u16, Value) {
        let mut stream = TcpStream::connect(self.control.addr()).await.unwrap();
        let length = body.len();
        let head = format!("{method} {path} HTTP/1.1\r\nhost: x\r\n{header}connection: close");
        let request = format!("{head}\r\ncontent-length: {length}\r\n\r\n{body}");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, serde_json::from_str(body).unwrap_or(Value::Null))
    }

    /// Asks for these arms; a client of each.
    async fn arms(&self, arms: &Value) -> Vec<Client> {
        let (status, places) = self.ask("PUT", "/arms", &arms.to_string()).await;
        assert_eq!(status, 200, "{places}");
        let places = places.as_array().unwrap();
        places.iter().map(|place| Client::new(addr(place))).collect()
    }

    async fn put(&self, path: &str, body: &Value) -> (u16, Value) {
        self.ask("PUT", path, &body.to_string()).await
    }
}

fn addr(place: &Value) -> SocketAddr {
    let port = place["port"].as_u64().unwrap();
    SocketAddr::from(([127, 0, 0, 1], u16::try_from(port).unwrap()))
}

fn arm(name: &str) -> Value {
    json!({"name": name, "service": {"servers": 1, "service": {"constant": "1ms"}}, "seed": 7})
}

async fn age(client: &Client) -> Nanos {
    client.call(0).await.served.unwrap().age
}

/// A range that is free but for `taken` at its beginning.
fn range_with_its_first_taken() -> (std::net::TcpListener, u16) {
    loop {
        let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let first = taken.local_addr().unwrap().port();
        if first < u16::MAX - 1 && std::net::TcpListener::bind(("127.0.0.1", first + 1)).is_ok() {
            return (taken, first);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_arm_gets_a_listener_and_what_is_wrong_with_one_is_wrong_with_no_other() {
    let bench = Bench::start(Ports::Any);
    let clients = bench.arms(&json!([arm("a"), arm("b")])).await;
    let held = json!({"hold": {"latency": "60ms"}});
    assert_eq!(bench.put("/arms/a/faults", &held).await.0, 200);
    let (a, b) = tokio::join!(age(&clients[0]), age(&clients[1]));
    assert!(a >= Nanos::from_millis(60), "{a}");
    assert!(b < a, "{b} without the hold, {a} with it");
    let (_, view) = bench.ask("GET", "/arms/a", "").await;
    assert_eq!(view["requests"], 1);
    assert_eq!(view["faults"]["hold"], json!({"latency": "60ms"}));
    let rejected = json!({"rules": [{"name": "storm", "reject": {"status": 429}}]});
    assert_eq!(bench.put("/arms/a/faults", &rejected).await.0, 200);
    let reply = clients[0].call(0).await;
    assert_eq!(reply.status, Some(429));
    let age_of_rejection = reply.served.unwrap().age;
    assert!(age_of_rejection < Nanos::from_millis(60), "the hold is gone: {age_of_rejection}");
    assert_eq!(bench.put("/arms/a/faults", &json!({})).await.0, 200);
    assert_eq!(clients[0].call(0).await.status, Some(200), "healed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gradient_hold_follows_what_it_is_fed() {
    let bench = Bench::start(Ports::Any);
    let clients = bench.arms(&json!([arm("a")])).await;
    bench.put("/arms/a/faults", &json!({"hold": {"gradient": 0.5}})).await;
    for (feeds, baseline_ms) in [(1, 20), (2, 40)] {
        let feed = json!({"baseline": format!("{baseline_ms}ms"), "overhead": "0s"});
        assert_eq!(bench.put("/arms/a/feed", &feed).await.0, 204);
        assert_eq!(bench.ask("GET", "/arms/a", "").await.1["feeds"], feeds);
        let age = age(&clients[0]).await;
        assert!(age >= Nanos::from_millis(2 * baseline_ms), "{age} at {baseline_ms} ms");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frozen_backend_and_one_without_servers_answer_when_they_are_healed() {
    let bench = Bench::start(Ports::Any);
    let clients = bench.arms(&json!([arm("a")])).await;
    for faults in [json!({"frozen": true}), json!({"servers": 0})] {
        assert_eq!(bench.put("/arms/a/faults", &faults).await.0, 200);
        let client = clients[0].clone();
        let call = tokio::spawn(async move { client.call(0).await });
        while bench.ask("GET", "/arms/a", "").await.1["state"]["queued"] != 1 {
            assert!(!call.is_finished(), "answered under {faults}");
        }
        bench.put("/arms/a/faults", &json!({})).await;
        assert_eq!(call.await.unwrap().status, Some(200), "after {faults}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn arms_are_replaced_by_the_next_and_closed_by_a_delete() {
    let bench = Bench::start(Ports::Any);
    let before = bench.arms(&json!([arm("a"), arm("b")])).await;
    let after = bench.arms(&json!([arm("b")])).await;
    assert_eq!(before[0].call(0).await.status, None, "closed");
    assert_eq!(after[0].call(0).await.status, Some(200));
    assert_eq!(bench.ask("GET", "/arms/a", "").await.0, 404);
    assert_eq!(bench.ask("DELETE", "/arms", "").await.0, 204);
    assert_eq!(after[0].call(0).await.status, None, "closed");
    assert_eq!(bench.ask("GET", "/arms", "").await, (200, json!([])));
    let (_, error) = bench.ask("GET", "/arms/b", "").await;
    assert!(error["error"].as_str().unwrap().contains("PUT /arms"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_port_that_is_taken_is_passed_over_and_too_few_are_told_of() {
    let (_taken, first) = range_with_its_first_taken();
    let bench = Bench::start(Ports::Range(first, first + 1));
    let (status, places) = bench.put("/arms", &json!([arm("a")])).await;
    assert_eq!((status, &places[0]["port"]), (200, &json!(first + 1)));
    // Its own port is free again for the next that wants it.
    let (status, places) = bench.put("/arms", &json!([arm("c")])).await;
    assert_eq!((status, &places[0]["port"]), (200, &json!(first + 1)), "{places}");
    let (status, error) = bench.put("/arms", &json!([arm("a"), arm("b")])).await;
    assert_eq!(status, 409, "{error}");
    assert_eq!(bench.ask("GET", "/arms", "").await, (200, json!([])), "all or none");
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_input_changes_nothing_and_names_its_cure() {
    let bench = Bench::start(Ports::Any);
    bench.arms(&json!([arm("a")])).await;
    let places = bench.ask("GET", "/arms", "").await;
    let mut idle = arm("z");
    idle["service"]["servers"] = 0.into();
    let mut recorded = arm("z");
    recorded["service"]["service"] = json!({"trace": {"file": "/etc/hostname"}});
    let mut sized = arm("z");
    sized["service"]["body"] = json!({"trace": {"file": "/etc/hostname"}});
    let many: Vec<_> = (0..65).map(|n| arm(&n.to_string())).collect();
    for (path, body, status, says) in [
        ("/arms", json!("x"), 400, "servers"),
        ("/arms", json!([arm("a"), arm("a")]), 400, "two arms"),
        ("/arms", json!([arm("")]), 400, "bytes"),
        ("/arms", json!([idle]), 400, "1 or more"),
        ("/arms", json!([recorded]), 400, "service times from a trace, whose file is not here"),
        ("/arms", json!([sized]), 400, "sizes from a trace, whose file is not here"),
        ("/arms", json!(many), 400, "64 at most"),
        ("/arms", json!(" ".repeat(server::BODY_LIMIT)), 413, "too long"),
        ("/arms/a/faults", json!({"hold": {"scale": 1, "latency": "1ms"}}), 400, "exactly one"),
        (
            "/arms/a/faults",
            json!({"rules": [{"name": "storm", "reject": {"status": 200}}]}),
            400,
            "400 to 599",
        ),
        ("/arms/a/faults", json!({"frosen": true}), 400, "frozen"),
        ("/arms/a/feed", json!({"baseline": 40}), 400, "ms"),
        ("/arms/b/faults", json!({}), 404, "there are a"),
        ("/arms/b/feed", json!({}), 404, "there are a"),
    ] {
        let (answered, error) = bench.put(path, &body).await;
        let text = error["error"].as_str().unwrap_or_default();
        assert!(answered == status && text.contains(says), "{path}: {answered} {error}");
    }
    assert_eq!(bench.ask("GET", "/arms", "").await, places);
    let (_, view) = bench.ask("GET", "/arms/a", "").await;
    let healthy =
        json!({"hold": null, "rules": [], "slow_starts": [], "servers": null, "frozen": false});
    assert_eq!((&view["faults"], &view["feeds"]), (&healthy, &json!(0)), "{view}");
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_closes_the_backends_too() {
    let bench = Bench::start(Ports::Any);
    let clients = bench.arms(&json!([arm("a")])).await;
    assert_eq!(clients[0].call(0).await.status, Some(200));
    bench.control.close().await;
    assert_eq!(clients[0].call(0).await.status, None);
    assert!(TcpStream::connect(bench.control.addr()).await.is_err());
}

const FIRST: &str = "x-windtunnel-testbed: first\r\n";
const SECOND: &str = "x-windtunnel-testbed: second\r\n";

#[tokio::test(flavor = "multi_thread")]
async fn backends_go_once_their_testbed_has_not_been_heard_of_for_a_lease() {
    let lease = Nanos::from_millis(400);
    let bench = Bench::start_with(Ports::Any, lease);
    let wanted = json!([arm("a")]).to_string();
    let clock = LiveClock::start();
    let (_, places) = bench.ask_as(FIRST, "PUT", "/arms", &wanted).await;
    let client = Client::new(addr(&places[0]));
    let mut heard = clock.now();
    while clock.now().since(Time::ZERO) < lease.plus(lease) {
        let asked = clock.now();
        let (status, _) = bench.ask_as(FIRST, "GET", "/arms", "").await;
        if status != 200 {
            // On a machine that stands still for a lease, it is over.
            assert!(clock.now().since(heard) >= lease, "{status}");
            break;
        }
        heard = asked;
    }
    // Who does not say that he is the testbed keeps nothing alive.
    while bench.ask("GET", "/arms", "").await.1 != json!([]) {}
    assert!(clock.now().since(heard) >= lease, "too early");
    assert_eq!(client.call(0).await.status, None, "closed");
    assert_eq!(bench.ask_as(FIRST, "GET", "/arms", "").await.0, 409);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_another_testbed_has_taken_is_not_the_first_ones_to_change_or_close() {
    let bench = Bench::start(Ports::Any);
    let wanted = json!([arm("a")]).to_string();
    for testbed in [FIRST, SECOND] {
        assert_eq!(bench.ask_as(testbed, "PUT", "/arms", &wanted).await.0, 200);
    }
    for (method, path, body) in [
        ("PUT", "/arms/a/faults", r#"{"frozen":true}"#),
        ("PUT", "/arms/a/feed", "{}"),
        ("GET", "/arms", ""),
        ("DELETE", "/arms", ""),
    ] {
        let (status, error) = bench.ask_as(FIRST, method, path, body).await;
        let text = error["error"].as_str().unwrap_or_default();
        assert!(status == 409 && text.contains("another"), "{method} {path}: {status} {error}");
    }
    let (status, view) = bench.ask_as(SECOND, "GET", "/arms/a", "").await;
    assert_eq!((status, &view["faults"]["frozen"]), (200, &json!(false)), "{view}");
    assert_eq!(bench.ask_as(SECOND, "DELETE", "/arms", "").await.0, 204);
}
