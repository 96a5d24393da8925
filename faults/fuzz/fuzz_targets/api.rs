//! Calls that the fuzzer thinks of, one a line: its first byte chooses the call, the rest is the body.
//! The API answers each of them as it may, and what it shows is a configuration.
//!
//! Addresses that are not of the loopback, and names that somebody would have to look up, are not
//! tried: nothing is to leave this machine.
#![no_main]

#[path = "../../tests/api/allowed.rs"]
mod allowed;

use allowed::{assert_allowed, assert_is_a_configuration};
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::Request;
use faults::api::{BODY_LIMIT, Registry, router};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use std::sync::{Arc, OnceLock};
use testbed_clock::{LiveClock, Timer};
use testbed_core::rng::Streams;
use tokio::runtime::{Builder, Runtime};
use tower_service::Service as _;

const CALLS: usize = 12;
const PROXY: &str = r#"{"name":"a","upstream":"127.0.0.1:1","enabled":false}"#;
const TOXIC: &str = r#"{"name":"b","type":"latency"}"#;
/// The only texts with a colon that may be addresses.
const ADDRESSES: [&str; 5] = ["127.0.0.1:0", "[::1]:0", ":0", "127.0.0.1:", "127.0.0.1:99999"];

const ROUTES: [(&str, &str); 14] = [
    ("POST", "/proxies/a/toxics"),
    ("PATCH", "/proxies/a/toxics/b"),
    ("POST", "/proxies"),
    ("POST", "/populate"),
    ("PATCH", "/proxies/a"),
    ("POST", "/reset"),
    ("GET", "/metrics"),
    ("GET", "/proxies/a"),
    ("GET", "/proxies/a/toxics"),
    ("GET", "/proxies/a/toxics/b"),
    ("DELETE", "/proxies/a/toxics/b"),
    ("DELETE", "/proxies/a"),
    ("POST", "/proxies/b/toxics"),
    ("PUT", "/version"),
];

/// Built once; a timer has a thread.
static WORLD: OnceLock<(Runtime, Timer)> = OnceLock::new();

fuzz_target!(|data: &[u8]| {
    let (runtime, timer) = WORLD.get_or_init(|| {
        let runtime = Builder::new_current_thread().enable_io().build().expect("a runtime");
        (runtime, Timer::start(LiveClock::start()))
    });
    let registry = Arc::new(Registry::new(timer.clone(), Streams::new(1)));
    runtime.block_on(play(router(registry), data));
});

async fn play(mut api: Router, data: &[u8]) {
    ask(&mut api, "POST", "/proxies", PROXY.as_bytes()).await;
    ask(&mut api, "POST", "/proxies/a/toxics", TOXIC.as_bytes()).await;
    for line in data.split(|byte| *byte == b'\n').take(CALLS) {
        let Some((choice, body)) = line.split_first() else { continue };
        if stays_here(body) {
            let (method, path) = ROUTES[usize::from(*choice) % ROUTES.len()];
            ask(&mut api, method, path, body).await;
        }
    }
    let shown = ask(&mut api, "GET", "/proxies", b"").await;
    assert_is_a_configuration(&shown);
    let shown: Value = serde_json::from_str(&shown).expect("a configuration is JSON");
    for name in shown.as_object().expect("proxies by name").keys() {
        ask(&mut api, "DELETE", &format!("/proxies/{}", escaped(name)), b"").await;
    }
    assert_eq!(ask(&mut api, "GET", "/proxies", b"").await, "{}");
}

/// One call; the body of its answer.
async fn ask(api: &mut Router, method: &str, path: &str, body: &[u8]) -> String {
    let request = Request::builder().method(method).uri(path).body(Body::from(body.to_vec()));
    let answer = api.call(request.expect("a request")).await.expect("a router always answers");
    let status = answer.status().as_u16();
    let body = to_bytes(answer.into_body(), 64 * BODY_LIMIT).await.expect("a body");
    let body = String::from_utf8(body.to_vec()).expect("an answer is text");
    assert_allowed(&format!("{method} {path}"), status, &body);
    body
}

/// A name as it goes into a path.
fn escaped(name: &str) -> String {
    name.bytes().map(|byte| format!("%{byte:02x}")).collect()
}

/// Whether no text in the first value of a body would have to be looked up.
fn stays_here(body: &[u8]) -> bool {
    match serde_json::Deserializer::from_slice(body).into_iter::<Value>().next() {
        Some(Ok(value)) => is_harmless(&value),
        None | Some(Err(_)) => true,
    }
}

fn is_harmless(value: &Value) -> bool {
    match value {
        Value::String(text) => !text.contains(':') || ADDRESSES.contains(&text.as_str()),
        Value::Array(values) => values.iter().all(is_harmless),
        Value::Object(fields) => fields.values().all(is_harmless),
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
    }
}
