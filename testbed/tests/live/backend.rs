//! The backend alone, for clients of another make.

use crate::support::http::request;
use crate::support::process::{Running, address, text};
use crate::support::{HUNG, Scratch};
use crate::{machine, send};
use serde_json::Value;
use std::net::{SocketAddr, TcpListener, TcpStream};

fn start(scratch: &Scratch) -> (Running, SocketAddr) {
    let args = ["backend", "--listen", "127.0.0.1:0", "--service", "{constant: 5ms}"];
    let running = scratch.start(&args);
    let addr = address(|| text(&running.stdout), "backend listening on http://");
    (running, addr)
}

/// The body and status of an answer of the admin.
fn hold(addr: SocketAddr, method: &str, body: &str) -> (u16, Value) {
    let answer = request(addr, method, "/hold", body).unwrap();
    (answer.status, serde_json::from_str(&answer.body).unwrap())
}

/// The age that the backend gives its answer, in nanoseconds.
fn age(addr: SocketAddr) -> u64 {
    let answer = request(addr, "GET", "/any/path", "").unwrap();
    assert_eq!(answer.status, 200);
    let age = answer.head.lines().find_map(|line| line.strip_prefix("x-windtunnel-age-ns: "));
    age.unwrap().parse().unwrap()
}

#[test]
fn a_hold_is_set_read_and_lifted_over_http() {
    let _machine = machine();
    let scratch = Scratch::new();
    let (_running, addr) = start(&scratch);
    assert_eq!(hold(addr, "GET", ""), hold(addr, "PUT", "null"), "there is none at first");
    assert!(age(addr) >= 5_000_000);
    for (body, field, value, least) in [
        (r#"{"latency":"30ms"}"#, "latency", Value::from("30ms"), 30_000_000),
        (r#"{"scale":4}"#, "scale", 4.0.into(), 20_000_000),
        (r#"{"gradient":0.5,"baseline":"20ms"}"#, "gradient", 0.5.into(), 40_000_000),
    ] {
        let (status, put) = hold(addr, "PUT", body);
        assert_eq!((status, &put["hold"][field]), (200, &value), "{put}");
        assert_eq!(hold(addr, "GET", "").1["hold"], put["hold"], "what was put is what is got");
        assert!(age(addr) >= least, "an answer was early under {body}");
    }
    let (status, lifted) = hold(addr, "PUT", "null");
    assert_eq!((status, &lifted["hold"]), (200, &Value::Null));
}

#[test]
fn what_is_no_hold_is_refused_with_the_cure_and_changes_nothing() {
    let _machine = machine();
    let scratch = Scratch::new();
    let (_running, addr) = start(&scratch);
    hold(addr, "PUT", r#"{"scale":2}"#);
    for (body, says) in [
        ("", "not a hold"),
        ("{\"scale\":", "not a hold"),
        (r#"{"scale":0}"#, "scale is above 0"),
        (r#"{"scale":2,"latency":"1ms"}"#, "exactly one of"),
        (r#"{"speed":2}"#, "unknown field"),
        (r#"{"gradient":0.7}"#, "add \"baseline\""),
        (r#"{"latency":"30"}"#, "not a hold"),
    ] {
        let (status, refusal) = hold(addr, "PUT", body);
        assert_eq!(status, 400, "{body}");
        assert!(refusal["error"].as_str().unwrap().contains(says), "{body}: {refusal}");
    }
    assert_eq!(hold(addr, "GET", "").1["hold"]["scale"], 2.0);
}

#[test]
fn a_signal_ends_it_and_frees_its_port() {
    let _machine = machine();
    for (signal, code) in [("TERM", 143), ("INT", 130)] {
        let scratch = Scratch::new();
        let (running, addr) = start(&scratch);
        let _kept_alive = TcpStream::connect(addr).unwrap();
        send(&running, signal);
        assert_eq!(running.ends_within(HUNG).code, code);
        assert!(TcpStream::connect(addr).is_err(), "something still listens on {addr}");
    }
}

#[test]
fn a_busy_port_is_1_and_the_cure_is_named() {
    let _machine = machine();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = taken.local_addr().unwrap().to_string();
    let finished = Scratch::new().run(&["backend", "--listen", &addr]);
    assert_eq!(finished.code, 1);
    for part in [&*addr, "in use", "choose another port"] {
        assert!(finished.stderr.contains(part), "{part}: {}", finished.stderr);
    }
}
