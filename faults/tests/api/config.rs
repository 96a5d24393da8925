//! Proxies and toxics from a configuration.

use crate::support::{ANY_PORT, Api, call, connect, echo_server, registry, round_trip, runtime};
use faults::api::{Config, ConfigError, Server};
use serde_json::{Value, json};
use std::net::TcpListener;
use testbed_clock::LiveClock;
use testbed_core::time::{Nanos, Time};

/// The error of a configuration that has no mistake that can be read.
fn start_error(document: &Value) -> ConfigError {
    let config = Config::read(document).unwrap();
    runtime().block_on(config.start(&registry())).unwrap_err()
}

#[test]
fn a_configured_proxy_has_its_toxics_from_the_first_connection_on() {
    let upstream = echo_server().to_string();
    let toxic = json!({ "type": "latency", "attributes": { "latency": 30 } });
    let entry = json!({ "name": "slow", "upstream": upstream, "toxics": [toxic] });
    let down = json!({ "name": "down", "upstream": upstream, "enabled": false, "toxics": [toxic] });
    let config = Config::read(&json!([entry, down])).unwrap();
    let (runtime, registry) = (runtime(), registry());
    runtime.block_on(config.start(&registry)).unwrap();
    let server = runtime.block_on(Server::start(ANY_PORT, registry)).unwrap();
    let proxies = call(server.address(), "GET", "/proxies", "test", b"").json();
    assert_eq!(proxies["down"]["enabled"], false);
    assert_eq!(proxies["down"]["toxics"][0]["name"], "latency_downstream");
    let clock = LiveClock::start();
    let address = proxies["slow"]["listen"].as_str().unwrap().parse().unwrap();
    round_trip(&mut connect(address), b"first");
    assert!(clock.now() >= Time::ZERO.after(Nanos::from_millis(30)));
    runtime.block_on(server.close());
    assert!(TcpListener::bind(address).is_ok(), "the port is free after the close");
}

#[test]
fn what_only_the_engine_can_refuse_is_said_with_its_entry() {
    let upstream = "127.0.0.1:1";
    let mistake = |toxic: Value| {
        start_error(&json!([{ "name": "a", "upstream": upstream, "toxics": [toxic] }])).to_string()
    };
    for (toxic, says) in [
        (json!({ "type": "walrus" }), "invalid toxic type"),
        (
            json!({ "type": "bandwidth", "attributes": { "rate": -1 } }),
            "impossible attributes: attribute `rate` must be 0 or more",
        ),
    ] {
        assert_eq!(mistake(toxic), format!("proxy 1 (`a`), toxic 1: {says}"));
    }
    let taken = TcpListener::bind(ANY_PORT).unwrap();
    let listen = taken.local_addr().unwrap().to_string();
    let error = start_error(&json!([{ "name": "a", "upstream": upstream, "listen": listen }]));
    assert!(matches!(&error, ConfigError::Listen { .. }), "{error}");
    let says = format!("proxy 1 (`a`): listen tcp {listen}: bind: address already in use");
    assert_eq!(error.to_string(), says);
    let error = start_error(&json!([{ "name": "a", "upstream": upstream, "listen": "nowhere" }]));
    assert!(matches!(&error, ConfigError::Entry { .. }), "{error}");
}

#[test]
fn populate_ignores_toxics_as_the_real_server_does() {
    let api = Api::start();
    let body = r#"[{"name":"a","upstream":"h:1","toxics":[{"type":"latency"}]}]"#;
    let made = api.done("POST", "/populate", body).json();
    assert_eq!(made["proxies"][0]["toxics"], json!([]));
}
