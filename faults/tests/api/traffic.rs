//! Changes while traffic flows, and peers that hang.

use crate::support::{
    ANY_PORT, Api, HUNG, call, connect, echo_server, registry, round_trip, runtime,
};
use faults::api::Server;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;
use testbed_clock::LiveClock;
use testbed_core::time::{Nanos, Time};
use tokio::net::TcpSocket;

/// Toxics that let every byte through, some of them later.
const HARMLESS: [&str; 4] = [
    r#""type":"latency","attributes":{"latency":1,"jitter":1}"#,
    r#""type":"slicer","attributes":{"average_size":7,"size_variation":3}"#,
    r#""type":"bandwidth","attributes":{"rate":100000}"#,
    r#""type":"noop""#,
];

/// Each of these threads makes a third of [`CHANGES`] additions, updates and removals.
const CHANGERS: usize = 3;
const CHANGES: usize = 999;

/// Adds, changes and removes one toxic of its own, over and over.
fn change(api: &Api, changer: usize) {
    let name = format!("t{changer}");
    let path = format!("/proxies/a/toxics/{name}");
    for round in 0..CHANGES / CHANGERS / 3 {
        let toxic = HARMLESS[round % HARMLESS.len()];
        let stream = ["upstream", "downstream"][round % 2];
        let body = format!(r#"{{"name":"{name}","stream":"{stream}",{toxic}}}"#);
        api.done("POST", "/proxies/a/toxics", &body);
        api.done("PATCH", &path, r#"{"toxicity":0.5}"#);
        api.done("DELETE", &path, "");
    }
}

/// Numbers its bytes, so that one that is lost or out of order is seen.
fn echo_until(stop: &AtomicBool, mut client: TcpStream) -> usize {
    let mut rounds = 0;
    while !stop.load(Relaxed) {
        let message: Vec<u8> = (0..200_u8).map(|n| n.wrapping_add(rounds as u8)).collect();
        round_trip(&mut client, &message);
        rounds += 1;
    }
    rounds
}

#[test]
fn a_thousand_changes_under_traffic_lose_no_byte_and_no_connection() {
    let api = Api::start();
    let proxy = api.proxy("a", echo_server());
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let clients: Vec<_> = (0..4).map(|_| connect(proxy)).collect();
        let echoing: Vec<_> =
            clients.into_iter().map(|client| scope.spawn(|| echo_until(&stop, client))).collect();
        let changing: Vec<_> = (0..CHANGERS)
            .map(|changer| {
                scope.spawn({
                    let api = &api;
                    move || change(api, changer)
                })
            })
            .collect();
        let changed: Vec<_> = changing.into_iter().map(thread::ScopedJoinHandle::join).collect();
        stop.store(true, Relaxed);
        for echoed in echoing {
            assert!(echoed.join().unwrap() > 0);
        }
        assert!(changed.into_iter().all(|result| result.is_ok()));
    });
    assert_eq!(api.done("GET", "/proxies/a/toxics", "").body, "[]");
    let metrics = api.done("GET", "/metrics", "").body;
    assert!(metrics.contains("direction=\"upstream\""), "{metrics}");
    round_trip(&mut connect(proxy), b"as new");
}

#[test]
fn a_reset_goes_by_name_and_stops_at_what_cannot_listen() {
    let api = Api::start();
    let upstream = echo_server();
    let ports = ["c", "b", "a"].map(|name| (name, api.proxy(name, upstream)));
    for (name, _) in ports {
        api.done("POST", &format!("/proxies/{name}/toxics"), r#"{"type":"noop"}"#);
        api.done("POST", &format!("/proxies/{name}"), r#"{"enabled":false}"#);
    }
    let taken = TcpListener::bind(ports[1].1).unwrap();
    let refused = api.call("POST", "/reset", "");
    let says = format!("listen tcp {}: bind: address already in use", taken.local_addr().unwrap());
    assert_eq!((refused.status, &refused.json()["error"]), (500, &says.into()));
    let proxies = api.done("GET", "/proxies", "").json();
    for (name, up, toxics) in [("a", true, 0), ("b", false, 1), ("c", false, 1)] {
        assert_eq!(proxies[name]["enabled"], up, "{name}");
        assert_eq!(proxies[name]["toxics"].as_array().unwrap().len(), toxics, "{name}");
    }
}

#[test]
fn of_many_that_make_the_same_proxy_at_once_one_does() {
    let api = Api::start();
    let body = r#"{"name":"a","upstream":"127.0.0.1:1"}"#;
    let make = || api.call("POST", "/proxies", body).status;
    let mut statuses: Vec<_> = thread::scope(|scope| {
        let making: Vec<_> = (0..8).map(|_| scope.spawn(make)).collect();
        making.into_iter().map(|made| made.join().unwrap()).collect()
    });
    statuses.sort_unstable();
    assert_eq!(statuses, [201, 409, 409, 409, 409, 409, 409, 409]);
    assert_eq!(api.done("GET", "/proxies", "").json().as_object().unwrap().len(), 1);
}

/// Calls that must all be answered promptly, whatever the peers of proxy `a` do.
fn assert_prompt(api: &Api) {
    let clock = LiveClock::start();
    for (method, path, body) in [
        ("POST", "/proxies/a/toxics", r#"{"type":"latency","attributes":{"latency":9000}}"#),
        ("DELETE", "/proxies/a/toxics/latency_downstream", ""),
        ("PATCH", "/proxies/a", r#"{"upstream":"127.0.0.1:1"}"#),
        ("PATCH", "/proxies/a", r#"{"enabled":false}"#),
        ("PATCH", "/proxies/a", r#"{"enabled":true}"#),
        ("POST", "/reset", ""),
        ("GET", "/metrics", ""),
        ("DELETE", "/proxies/a", ""),
    ] {
        api.done(method, path, body);
    }
    // The real server takes 25 s, and then answers 503.
    let taken = clock.now().since(Time::ZERO).as_std();
    assert!(taken < Duration::from_secs(10), "{taken:?}");
}

#[test]
fn an_upstream_that_never_accepts_blocks_no_call() {
    let api = Api::start();
    let full = api.runtime.block_on(async {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(ANY_PORT).unwrap();
        socket.listen(0).unwrap()
    });
    let upstream = full.local_addr().unwrap();
    let proxy = api.proxy("a", upstream);
    // More than the kernel queues, so that the rest hang in their handshake.
    let _clients: Vec<_> = (0..8).map(|_| connect(proxy)).collect();
    assert_prompt(&api);
}

#[test]
fn a_client_that_does_not_read_blocks_no_call() {
    let api = Api::start();
    let source = TcpListener::bind(ANY_PORT).unwrap();
    let proxy = api.proxy("a", source.local_addr().unwrap());
    let client = connect(proxy);
    let (mut server, _) = source.accept().unwrap();
    server.set_write_timeout(Some(Duration::from_millis(300))).unwrap();
    // Until neither the client's nor the proxy's buffers take any more.
    while server.write(&[0; 65536]).is_ok() {}
    assert_prompt(&api);
    drop(client);
}

#[test]
fn a_client_of_the_api_that_dawdles_or_leaves_blocks_no_other() {
    let api = Api::start();
    let mut dawdling = connect(api.address);
    dawdling.write_all(b"POST /proxies HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n{").unwrap();
    let mut leaving = connect(api.address);
    let body = r#"{"name":"left","upstream":"h:1"}"#;
    let head =
        format!("POST /proxies HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n", body.len());
    leaving.write_all((head + body).as_bytes()).unwrap();
    leaving.shutdown(Shutdown::Both).unwrap();
    api.proxy("a", echo_server());
    assert_prompt(&api);
    dawdling.set_read_timeout(Some(HUNG)).unwrap();
    dawdling.write_all(b"       }").unwrap();
    let mut answer = [0; 12];
    dawdling.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 400");
}

#[test]
fn a_call_that_takes_too_long_is_a_503_in_the_words_of_the_real_server() {
    let runtime = runtime();
    let registry = registry().with_call_limit(Nanos::from_millis(30));
    let server = runtime.block_on(Server::start(ANY_PORT, registry)).unwrap();
    let mut client = connect(server.address());
    let head = "POST /proxies HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n{";
    let clock = LiveClock::start();
    client.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).unwrap();
    assert!(clock.now().since(Time::ZERO) >= Nanos::from_millis(30));
    assert!(answer.starts_with("HTTP/1.1 503 Service Unavailable\r\n"), "{answer}");
    assert!(answer.contains("content-type: text/html; charset=utf-8\r\n"), "{answer}");
    let body = "<html><head><title>Timeout</title></head><body><h1>Timeout</h1></body></html>";
    assert!(answer.ends_with(&format!("\r\n\r\n{body}")), "{answer}");
    let others = call(server.address(), "GET", "/proxies", "test", b"");
    assert_eq!((others.status, &*others.body), (200, "{}"));
}

#[test]
fn metrics_count_what_flows_while_it_does() {
    let api = Api::start();
    let proxy = api.proxy("a\\\"b", echo_server());
    let mut client = connect(proxy);
    round_trip(&mut client, b"12345");
    let metrics = api.done("GET", "/metrics", "").body;
    let value = |start: &str| {
        let line = metrics.lines().find(|line| line.starts_with(start));
        line.unwrap_or_else(|| panic!("no {start} in {metrics}")).rsplit_once(' ').unwrap().1
    };
    for (start, expected) in [
        ("toxiproxy_proxy_received_bytes_total{direction=\"upstream\",listener=", "5"),
        ("toxiproxy_proxy_sent_bytes_total{direction=\"downstream\",listener=", "5"),
        ("toxiproxy_proxy_connections_open{listener=", "1"),
        ("toxiproxy_proxy_toxics_active{direction=\"upstream\"", "0"),
        ("toxiproxy_proxy_links_hit_ratio{direction=\"downstream\"", "0"),
        ("toxiproxy_proxy_up{", "1"),
    ] {
        assert_eq!(value(start), expected, "{start}");
    }
    assert!(metrics.contains(r#"proxy="a\"b""#), "{metrics}");
}

#[test]
fn metrics_tell_of_the_process_where_the_system_does() {
    let metrics = Api::start().done("GET", "/metrics", "").body;
    for name in [
        "process_cpu_seconds_total",
        "process_max_fds",
        "process_open_fds",
        "process_resident_memory_bytes",
        "process_start_time_seconds",
        "process_virtual_memory_bytes",
    ] {
        let line = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        assert_eq!(line.is_some(), cfg!(target_os = "linux"), "{name} in {metrics}");
        assert!(line.is_none_or(|value| value.parse::<f64>().unwrap() >= 0.0), "{name}");
    }
}
