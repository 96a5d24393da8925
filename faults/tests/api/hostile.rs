//! What nobody sane sends: each is refused, and the API goes on.

use crate::support::{Api, HUNG, call, connect, echo_server, round_trip};
use faults::api::{BODY_LIMIT, MAX_NAME, MAX_PROXIES, MAX_TOXICS};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

#[test]
fn attributes_that_kill_the_real_server_are_a_400_with_a_reason() {
    let api = Api::start();
    let proxy = api.proxy("a", echo_server());
    for (body, says) in [
        (r#"{"type":"bandwidth","attributes":{"rate":-1}}"#, "`rate` must be 0 or more"),
        (r#"{"type":"slicer"}"#, "`average_size` must be 1 byte or more"),
        (
            r#"{"type":"slicer","attributes":{"average_size":5,"size_variation":6}}"#,
            "`size_variation` must be average_size at most",
        ),
        (
            r#"{"type":"latency","attributes":{"jitter":5000000000000000000}}"#,
            "`jitter` must be one day at most",
        ),
        (r#"{"type":"latency","attributes":{"jitter":5e18}}"#, "of type int64"),
        (r#"{"type":"timeout","attributes":{"timeout":-1}}"#, "`timeout` must be 0 or more"),
        (r#"{"type":"reset_peer","attributes":{"timeout":-1}}"#, "`timeout` must be 0 or more"),
        (r#"{"type":"wave","attributes":{"high":5}}"#, "`period` must be more than zero"),
        (
            r#"{"type":"wave","attributes":{"period":5,"shape":"round"}}"#,
            "`shape` must be sine, triangle, sawtooth or square",
        ),
    ] {
        let answer = api.call("POST", "/proxies/a/toxics", body);
        assert_eq!(answer.status, 400, "{body}: {answer:?}");
        let error = answer.json()["error"].as_str().unwrap().to_owned();
        assert!(error.contains(says), "{body}: {error}");
    }
    round_trip(&mut connect(proxy), b"it still works");
}

#[test]
fn an_update_to_what_is_impossible_changes_nothing() {
    let api = Api::start();
    api.proxy("a", echo_server());
    let body = r#"{"type":"slicer","attributes":{"average_size":5,"size_variation":5}}"#;
    let made = api.done("POST", "/proxies/a/toxics", body).body;
    let path = "/proxies/a/toxics/slicer_downstream";
    let update = r#"{"attributes":{"average_size":4},"toxicity":0.5}"#;
    assert_eq!(api.call("PATCH", path, update).status, 400);
    assert_eq!(api.done("GET", path, "").body, made);
}

#[test]
fn names_of_attributes_are_read_in_any_case_as_in_the_real_server() {
    let api = Api::start();
    api.proxy("a", echo_server());
    let body = r#"{"type":"latency","attributes":{"LATENCY":5,"Jitter":1}}"#;
    let made = api.done("POST", "/proxies/a/toxics", body).json();
    assert_eq!(made["attributes"], serde_json::json!({ "latency": 5, "jitter": 1 }));
}

#[test]
fn an_update_to_no_upstream_is_taken_as_in_the_real_server_and_hurts_nobody() {
    let api = Api::start();
    let proxy = api.proxy("a", echo_server());
    assert_eq!(api.done("PATCH", "/proxies/a", r#"{"upstream":""}"#).json()["upstream"], "");
    let mut nowhere = connect(proxy);
    assert_eq!(nowhere.read(&mut [0]).unwrap_or(0), 0);
    api.done("PATCH", "/proxies/a", &format!(r#"{{"upstream":"{}"}}"#, echo_server()));
    round_trip(&mut connect(proxy), b"again");
}

#[test]
fn garbage_is_a_400_whatever_it_is() {
    let api = Api::start();
    api.proxy("a", echo_server());
    api.done("POST", "/proxies/a/toxics", r#"{"type":"noop","name":"n"}"#);
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let deep_object = r#"{"a":"#.repeat(100_000);
    for body in
        ["{", "[", "]", "nul", "\u{0}", "{\"a\":1,}", "'x'", "5", "\"x\"", &deep, &deep_object]
    {
        for (method, path) in [
            ("POST", "/proxies"),
            ("POST", "/populate"),
            ("POST", "/proxies/a"),
            ("PATCH", "/proxies/a"),
            ("POST", "/proxies/a/toxics"),
            ("PATCH", "/proxies/a/toxics/n"),
        ] {
            let answer = api.call(method, path, body);
            let start: String = body.chars().take(10).collect();
            assert_eq!(answer.status, 400, "{method} {path} {start}: {answer:?}");
            assert_eq!(answer.json()["status"], 400);
        }
    }
    let not_text = call(api.address, "POST", "/proxies", "test", b"{\"name\":\"\xff\"}");
    assert_eq!(not_text.status, 400);
    api.done("GET", "/version", "");
}

#[test]
fn a_huge_body_is_refused() {
    let api = Api::start();
    let huge = vec![b' '; BODY_LIMIT + 1];
    assert_eq!(call(api.address, "POST", "/populate", "test", &huge).status, 413);
    let body = format!("[{}", " ".repeat(BODY_LIMIT - 2) + "]");
    assert_eq!(api.call("POST", "/populate", &body).status, 201, "the limit itself is no problem");
}

#[test]
fn methods_paths_and_agents_that_are_none_are_refused() {
    let api = Api::start();
    api.proxy("a", echo_server());
    for (method, path, status) in [
        ("PUT", "/proxies", 405),
        ("HEAD", "/proxies", 405),
        ("OPTIONS", "/reset", 405),
        ("BREW", "/version", 405),
        ("DELETE", "/proxies", 405),
        ("PUT", "/proxies/a/toxics/t", 405),
        ("GET", "/", 404),
        ("GET", "/proxies/", 404),
        ("GET", "/proxies/a/toxics/t/u", 404),
        ("GET", "/proxies/%ff", 404),
        ("GET", "/proxies/%00", 404),
        ("GET", "/proxies/..%2f..", 404),
    ] {
        let answer = api.call(method, path, "");
        assert_eq!(answer.status, status, "{method} {path}: {answer:?}");
        assert!(status != 405 || answer.body.is_empty(), "{answer:?}");
    }
    for (agent, status) in [("Mozilla/5.0", 403), ("curl/8", 200), ("", 200)] {
        let answer = call(api.address, "GET", "/proxies", agent, b"");
        assert_eq!(answer.status, status, "{agent}");
    }
}

#[test]
fn what_is_no_http_ends_its_connection_only() {
    let api = Api::start();
    for bytes in [&b"\x16\x03\x01\x02\x00"[..], b"\r\n\r\n\r\n", b"GET\r\n\r\n", &[b'a'; 100_000]] {
        let mut stream = TcpStream::connect(api.address).unwrap();
        stream.set_read_timeout(Some(HUNG)).unwrap();
        // It may be closed before all is sent.
        let _ = stream.write_all(bytes);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let _ = stream.read_to_end(&mut Vec::new());
        api.done("GET", "/version", "");
    }
}

#[test]
fn there_is_a_bound_to_toxics_proxies_and_names() {
    let api = Api::start();
    api.proxy("a", echo_server());
    let toxic = |name: &str| {
        let body = format!(r#"{{"type":"noop","name":"{name}"}}"#);
        api.call("POST", "/proxies/a/toxics", &body)
    };
    for n in 0..MAX_TOXICS {
        assert_eq!(toxic(&n.to_string()).status, 200);
    }
    let refused = toxic("one more");
    assert_eq!(refused.json()["error"], format!("too many toxics: {MAX_TOXICS} at most"));
    api.done("DELETE", "/proxies/a/toxics/0", "");
    assert_eq!(toxic("one more").status, 200);

    let long = "n".repeat(MAX_NAME + 1);
    assert_eq!(toxic(&long).status, 400);
    let body = format!(r#"{{"name":"{long}","upstream":"h:1"}}"#);
    assert_eq!(api.call("POST", "/proxies", &body).status, 400);

    let down = |n| format!(r#"{{"name":"{n}","upstream":"h:1","enabled":false}}"#);
    let all: Vec<String> = (0..MAX_PROXIES).map(down).collect();
    let answer = api.call("POST", "/populate", &format!("[{}]", all.join(",")));
    assert_eq!(answer.status, 400);
    assert_eq!(answer.json()["error"], format!("too many proxies: {MAX_PROXIES} at most"));
    assert_eq!(answer.json()["proxies"].as_array().unwrap().len(), MAX_PROXIES - 1);
}
