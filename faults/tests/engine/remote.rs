//! A Toxiproxy that others use, too, and that can be gone.

use crate::support::{Bench, Served, set, toxic};
use faults::remote::{Limits, Remote, RemoteControl};
use faults::toxic::Latency;
use faults::{EngineError, FaultControl, ProxyFaults, Toxic, ToxicKind};
use serde_json::Value;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use testbed_core::time::{Nanos, Time};

/// Short, so that tests are.
pub(crate) const LIMITS: Limits =
    Limits { call: Nanos::from_secs(3), poll: Nanos::from_millis(20) };

/// A call of the API by somebody else; the status and the body.
fn call(address: SocketAddr, method: &str, path: &str, body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    let head = format!("{method} {path} HTTP/1.0\r\ncontent-length: {}\r\n\r\n", body.len());
    stream.write_all((head + body).as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

fn names(address: SocketAddr) -> Vec<String> {
    let all: Value = serde_json::from_str(&call(address, "GET", "/proxies", "").1).unwrap();
    all.as_object().unwrap().keys().cloned().collect()
}

/// Makes a proxy as somebody else would.
fn make(address: SocketAddr, name: &str) {
    let body = format!(r#"{{"name":"{name}","upstream":"127.0.0.1:1"}}"#);
    assert_eq!(call(address, "POST", "/proxies", &body).0, 201);
}

pub(crate) fn proxy(remote: &Remote, arm: &str) -> RemoteControl {
    remote.proxy(arm, &crate::api::echo_server().to_string()).unwrap()
}

/// What is found to be wrong, once it is.
pub(crate) fn failure(control: &dyn FaultControl) -> EngineError {
    let looks = 0..1000;
    let mut found = looks.map(|_| {
        thread::sleep(LIMITS.poll.as_std());
        control.failure()
    });
    found.find_map(|failure| failure).expect("nothing is found")
}

#[test]
fn what_a_run_left_behind_is_deleted_and_what_is_others_stays_as_it_is() {
    let bench = Bench::new();
    let server = Served::start(&bench);
    for name in ["windtunnel-left", "windtunnel-two words", "web"] {
        make(server.address, name);
    }
    // Neither can be read by `toxiproxy_rust`.
    let negative = r#"{"type":"latency","stream":"UPSTREAM","attributes":{"latency":-5}}"#;
    for name in ["web", "windtunnel-left"] {
        let path = format!("/proxies/{name}/toxics");
        assert_eq!(call(server.address, "POST", &path, negative).0, 200);
    }
    let web = call(server.address, "GET", "/proxies/web", "");
    let remote = Remote::connect_within(&server.url(), LIMITS).unwrap();
    assert_eq!(names(server.address), ["web"]);
    let mut control = proxy(&remote, "a");
    let mut faults = ProxyFaults::default();
    faults.add(Time::ZERO, toxic("latency", r#"{"latency":1}"#)).unwrap();
    set(&mut control, &faults);
    thread::sleep(LIMITS.poll.scaled(5.0).as_std());
    assert_eq!(control.failure(), None);
    assert_eq!(names(server.address), ["web", "windtunnel-a"]);
    Box::new(control).close().unwrap();
    assert_eq!(names(server.address), ["web"]);
    assert_eq!(call(server.address, "GET", "/proxies/web", ""), web);
}

#[test]
fn a_proxy_that_nobody_closed_goes_with_its_control() {
    let bench = Bench::new();
    let server = Served::start(&bench);
    let remote = Remote::connect_within(&server.url(), LIMITS).unwrap();
    drop(proxy(&remote, "a"));
    assert!(names(server.address).is_empty());
    let control = proxy(&remote, "a");
    let again = remote.proxy("a", "127.0.0.1:1").unwrap_err().to_string();
    assert_eq!(again, "make `windtunnel-a`: it is there already");
    drop((remote, control));
    assert!(names(server.address).is_empty());
}

#[test]
fn a_toxiproxy_that_ends_is_found_and_the_first_finding_stays() {
    let bench = Bench::new();
    let mut server = Served::start(&bench);
    let remote = Remote::connect_within(&server.url(), LIMITS).unwrap();
    let mut control = proxy(&remote, "a");
    server.stop();
    let found = failure(&control);
    assert!(found.to_string().contains("Connection refused"), "{found}");
    let _again = Served::start_at(&bench, server.address);
    thread::sleep(LIMITS.poll.scaled(5.0).as_std());
    assert_eq!(control.failure(), Some(found.clone()));
    assert_eq!(control.set(&ProxyFaults::default()), Err(found));
}

#[test]
fn a_toxiproxy_that_is_restarted_has_lost_the_proxies() {
    let bench = Bench::new();
    let mut server = Served::start(&bench);
    // So rarely that the restart falls between two looks.
    let limits = Limits { poll: Nanos::from_millis(1000), ..LIMITS };
    let remote = Remote::connect_within(&server.url(), limits).unwrap();
    let mut control = proxy(&remote, "a");
    server.stop();
    let _again = Served::start_at(&bench, server.address);
    let read = control.read_back().unwrap_err().to_string();
    assert!(read.ends_with("status 404: proxy not found"), "{read}");
    let found = failure(&control).to_string();
    let says = "proxy `windtunnel-a` is not as it was set: it is gone; was Toxiproxy restarted";
    assert!(found.starts_with(says), "{found}");
    // There is nothing left to delete.
    Box::new(control).close().unwrap();
}

#[test]
fn what_others_change_is_found() {
    let bench = Bench::new();
    let server = Served::start(&bench);
    let remote = Remote::connect_within(&server.url(), LIMITS).unwrap();
    let path = "/proxies/windtunnel-a";
    let toxic = r#"{"type":"noop","name":"theirs"}"#;
    for (method, path, body, says) in [
        ("PATCH", path.to_owned(), r#"{"enabled":false}"#, "it is down, not up"),
        ("PATCH", path.to_owned(), r#"{"upstream":"127.0.0.1:1"}"#, "it goes from "),
        ("POST", format!("{path}/toxics"), toxic, "is extra"),
        ("DELETE", path.to_owned(), "", "it is gone"),
    ] {
        let control = proxy(&remote, "a");
        let other = proxy(&remote, "b");
        assert!(call(server.address, method, &path, body).0 < 300);
        let found = failure(&control);
        assert!(found.to_string().contains(says), "{found}");
        assert_eq!(other.failure(), None);
    }
}

#[test]
fn what_the_api_cannot_write_is_refused_before_and_changes_nothing() {
    let bench = Bench::new();
    let server = Served::start(&bench);
    let remote = Remote::connect_within(&server.url(), LIMITS).unwrap();
    let mut control = proxy(&remote, "a");
    let latency = Latency { latency: Nanos::from_micros(1500), jitter: Nanos::ZERO };
    let mut faults = ProxyFaults::default();
    faults.add(Time::ZERO, Toxic::new(ToxicKind::Latency(latency))).unwrap();
    let refused = control.check(&faults).unwrap_err();
    let says = "toxic `latency_downstream`: attribute `latency` must be whole milliseconds";
    assert!(refused.to_string().starts_with(says), "{refused}");
    assert_eq!(control.set(&faults), Err(refused));
    control.verify(&ProxyFaults::default()).unwrap();
}

#[test]
fn a_call_from_within_tokio_harms_nothing() {
    let bench = Bench::new();
    let server = Served::start(&bench);
    // The crate alone panics here: it must not be dropped where blocking is not allowed.
    bench.host.runtime.block_on(async {
        let remote = Remote::connect_within(&server.url(), LIMITS).unwrap();
        Box::new(proxy(&remote, "a")).close().unwrap();
    });
}

#[test]
fn a_proxy_that_cannot_be_made_says_why_and_is_not_left_behind() {
    let bench = Bench::new();
    let server = Served::start(&bench);
    let remote = Remote::connect_within(&server.url(), LIMITS).unwrap();
    let long = "a".repeat(300);
    for (arm, upstream, says) in [
        (&*long, "127.0.0.1:1", "status 400: too many bytes of a name"),
        ("a", "", "status 400: missing required field: upstream"),
    ] {
        let error = remote.proxy(arm, upstream).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
    assert!(names(server.address).is_empty());
    Box::new(proxy(&remote, "a")).close().unwrap();
}
