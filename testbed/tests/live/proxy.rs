//! `windtunnel proxy`: as a client of another make meets it.

use crate::support::http::request;
use crate::support::process::{Running, address, text};
use crate::support::{HUNG, Scratch};
use crate::{machine, send};
use serde_json::Value;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use testbed_clock::LiveClock;
use testbed_core::time::{Nanos, Time};

const INTRODUCTION: &str = "proxy API listening on http://";

fn start(scratch: &Scratch, more: &[&str]) -> (Running, SocketAddr) {
    let args = [&["proxy", "--listen", "127.0.0.1:0"], more].concat();
    let running = scratch.start(&args);
    let api = address(|| text(&running.stdout), INTRODUCTION);
    (running, api)
}

fn json(api: SocketAddr, method: &str, path: &str, body: &str) -> (u16, Value) {
    let answer = request(api, method, path, body).unwrap();
    (answer.status, serde_json::from_str(&answer.body).unwrap_or(Value::Null))
}

/// Sends one byte through a proxy and waits for it to come back from `upstream`.
fn round_trip(upstream: &TcpListener, proxy: SocketAddr) -> Nanos {
    let clock = LiveClock::start();
    thread::scope(|scope| {
        scope.spawn(|| {
            let (mut server, _) = upstream.accept().unwrap();
            let mut byte = [0];
            server.read_exact(&mut byte).unwrap();
            server.write_all(&byte).unwrap();
            // Until the client is gone, too.
            let _ = server.read(&mut byte);
        });
        let mut client = TcpStream::connect(proxy).unwrap();
        client.set_read_timeout(Some(HUNG)).unwrap();
        client.write_all(b"x").unwrap();
        client.read_exact(&mut [0]).unwrap();
    });
    clock.now().since(Time::ZERO)
}

#[test]
fn a_configured_toxic_is_in_force_and_can_be_changed_over_http() {
    let _machine = machine();
    let scratch = Scratch::new();
    let upstream = TcpListener::bind("127.0.0.1:0").unwrap();
    let to = upstream.local_addr().unwrap();
    let json_file = format!(
        r#"[{{"name":"web","listen":"127.0.0.1:0","upstream":"{to}","enabled":true,
            "toxics":[{{"type":"latency","attributes":{{"latency":40}}}}]}}]"#
    );
    let yaml_file = format!(
        "# the same\n- name: web\n  upstream: {to}\n  toxics:\n  - {{type: latency, \
         attributes: {{latency: 40}}}}\n"
    );
    for file in [json_file, yaml_file] {
        scratch.file("proxies", file);
        let (_running, api) = start(&scratch, &["--config", "proxies"]);
        let (status, web) = json(api, "GET", "/proxies/web", "");
        assert_eq!((status, &web["toxics"][0]["name"]), (200, &Value::from("latency_downstream")));
        let listen = web["listen"].as_str().unwrap().parse().unwrap();
        assert!(round_trip(&upstream, listen) >= Nanos::from_millis(40));
        let toxic = "/proxies/web/toxics/latency_downstream";
        let change = r#"{"attributes":{"latency":80}}"#;
        assert_eq!(json(api, "PATCH", toxic, change).1["attributes"]["latency"], 80);
        assert!(round_trip(&upstream, listen) >= Nanos::from_millis(80));
        assert_eq!(request(api, "DELETE", toxic, "").unwrap().status, 204);
    }
}

#[test]
fn a_bad_configuration_is_3_and_its_entry_is_named() {
    let _machine = machine();
    for (file, says) in [
        ("", "a configuration is a list of proxies"),
        ("{name: a}", "a configuration is a list of proxies"),
        ("[", "neither JSON nor YAML"),
        ("- {name: a}", "proxy 1 (`a`): missing required field: upstream"),
        ("- {name: a, upstream: 'h:1', tocsics: []}", "unknown field `tocsics`"),
        (
            "- {name: a, upstream: 'h:1', toxics: [{type: bandwidth, attributes: {rate: -1}}]}",
            "proxy 1 (`a`), toxic 1: impossible attributes",
        ),
        (
            "- {name: a, upstream: 'h:1', listen: nowhere}",
            "proxy 1 (`a`): address nowhere: missing port",
        ),
    ] {
        let scratch = Scratch::new();
        scratch.file("proxies.yaml", file);
        let args = ["proxy", "--listen", "127.0.0.1:0", "--config", "proxies.yaml"];
        let finished = scratch.run(&args);
        assert_eq!(finished.code, 3, "{file}: {}", finished.stderr);
        assert!(finished.stderr.starts_with("error: proxies.yaml: "), "{}", finished.stderr);
        assert!(finished.stderr.contains(says), "{file}: {}", finished.stderr);
        assert_eq!(finished.stdout, "");
    }
    let missing = Scratch::new().run(&["proxy", "--config", "nowhere.json"]);
    assert_eq!(missing.code, 2);
    assert!(missing.stderr.contains("cannot read nowhere.json"), "{}", missing.stderr);
}

#[test]
fn a_busy_port_is_1_for_the_api_and_for_a_proxy() {
    let _machine = machine();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = taken.local_addr().unwrap().to_string();
    let finished = Scratch::new().run(&["proxy", "--listen", &addr]);
    assert_eq!(finished.code, 1);
    for part in [&*addr, "in use", "choose another port"] {
        assert!(finished.stderr.contains(part), "{part}: {}", finished.stderr);
    }
    let scratch = Scratch::new();
    scratch.file("proxies.yaml", format!("- {{name: a, upstream: 'h:1', listen: '{addr}'}}"));
    let args = ["proxy", "--listen", "127.0.0.1:0", "--config", "proxies.yaml"];
    let finished = scratch.run(&args);
    assert_eq!(finished.code, 1);
    for part in ["proxies.yaml: proxy 1 (`a`)", &addr, "in use"] {
        assert!(finished.stderr.contains(part), "{part}: {}", finished.stderr);
    }
}

#[test]
fn a_signal_closes_api_proxies_and_connections() {
    let _machine = machine();
    for (signal, code) in [("TERM", 143), ("INT", 130)] {
        let scratch = Scratch::new();
        let (running, api) = start(&scratch, &[]);
        let upstream = TcpListener::bind("127.0.0.1:0").unwrap();
        let to = upstream.local_addr().unwrap();
        let body = format!(r#"{{"name":"a","upstream":"{to}"}}"#);
        let (_, made) = json(api, "POST", "/proxies", &body);
        let listen: SocketAddr = made["listen"].as_str().unwrap().parse().unwrap();
        let mut client = TcpStream::connect(listen).unwrap();
        let _kept_alive = TcpStream::connect(api).unwrap();
        send(&running, signal);
        assert_eq!(running.ends_within(HUNG).code, code);
        client.set_read_timeout(Some(HUNG)).unwrap();
        assert_eq!(client.read(&mut [0]).unwrap_or(0), 0, "the connection is closed");
        for addr in [api, listen] {
            assert!(TcpStream::connect(addr).is_err(), "something still listens on {addr}");
        }
    }
}
