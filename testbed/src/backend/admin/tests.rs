use super::super::tests::{Bench, config};
use super::*;
use serde_json::{Value, json};

/// `PUT` if there is a body, else `GET`.
async fn hold(bench: &Bench, body: Option<&str>) -> (u16, Value) {
    let method = if body.is_some() { "PUT" } else { "GET" };
    let body = body.unwrap_or_default();
    let length = body.len();
    let head = "HTTP/1.1\r\nhost: x\r\nconnection: close";
    let request = format!("{method} /hold {head}\r\ncontent-length: {length}\r\n\r\n{body}");
    let (status, answer) = bench.raw(request.as_bytes()).await;
    (status, serde_json::from_str(&answer).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_put_is_what_one_gets() {
    let bench = Bench::start(config(2, Nanos::from_millis(1), 10)).await;
    let rest = json!({"in_system": 0, "queued": 0, "utilisation": 0.0});
    for (put, hold_now, baseline, overhead) in [
        ("null", json!(null), json!(null), "0s"),
        (r#"{"scale":1.43}"#, json!({"scale": 1.43}), json!(null), "0s"),
        (r#"{"latency":"14.3ms"}"#, json!({"latency": "14300us"}), json!(null), "0s"),
        (
            r#"{"gradient":0.7,"baseline":"40ms","at_most":"5s","overhead":"1ms"}"#,
            json!({"gradient": 0.7, "at_most": "5s"}),
            json!("40ms"),
            "1ms",
        ),
        (r#"{"gradient":0.5}"#, json!({"gradient": 0.5, "at_most": "10s"}), json!("40ms"), "1ms"),
        ("{}", json!(null), json!("40ms"), "1ms"),
    ] {
        let view =
            json!({"hold": hold_now, "baseline": baseline, "overhead": overhead, "state": rest});
        assert_eq!(hold(&bench, Some(put)).await, (200, view.clone()), "{put}");
        assert_eq!(hold(&bench, None).await, (200, view), "{put}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pushed_hold_holds_and_follows_the_next_push() {
    let bench = Bench::start(config(2, Nanos::from_millis(1), 10)).await;
    for (put, least_ms) in [
        (r#"{"gradient":0.5,"baseline":"10ms"}"#, 20),
        (r#"{"gradient":0.5,"baseline":"15ms"}"#, 30),
        (r#"{"latency":"25ms"}"#, 25),
    ] {
        assert_eq!(hold(&bench, Some(put)).await.0, 200);
        let served = bench.client.call(0).await.served.unwrap();
        assert!(served.age >= Nanos::from_millis(least_ms), "{put}: {}", served.age);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_input_changes_nothing_and_names_its_cure() {
    let bench = Bench::start(config(2, Nanos::from_millis(1), 10)).await;
    hold(&bench, Some(r#"{"latency":"1ms"}"#)).await;
    let before = hold(&bench, None).await;
    let too_long = " ".repeat(BODY_LIMIT + 1);
    for (put, status, cure) in [
        ("", 400, "null to lift"),
        ("gradient=0.7", 400, r#"send {"gradient":0.7"#),
        (r#"{"gradient":7,"baseline":"40ms"}"#, 400, "such as 0.7"),
        (r#"{"gradient":0.7}"#, 400, r#"add "baseline":"40ms""#),
        (r#"{"gradient":0.7,"baseline":"0s"}"#, 400, "above 0s"),
        (r#"{"latency":"1ms","baseline":"40ms"}"#, 400, "gradient only"),
        (r#"{"scale":2,"overhead":"1ms"}"#, 400, "gradient only"),
        (r#"{"latency":14.3}"#, 400, "unit"),
        (r#"{"latency":"1ms","scale":2}"#, 400, "exactly one"),
        (r#"{"baseline":"40ms"}"#, 400, "exactly one"),
        (r#"{"grad":0.7}"#, 400, "gradient"),
        (&too_long, 413, "null to lift"),
    ] {
        let (refused, answer) = hold(&bench, Some(put)).await;
        let error = answer["error"].as_str().unwrap();
        assert_eq!(refused, status, "{error}");
        assert!(error.contains(cure), "{error}");
        assert_eq!(hold(&bench, None).await, before, "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_embedded_backend_has_no_admin() {
    use testbed_clock::{LiveClock, Timer};
    let timer = Timer::start(LiveClock::start());
    let streams = testbed_core::rng::Streams::new(7);
    let service = config(2, Nanos::from_millis(1), 10);
    let any_port = "127.0.0.1:0".parse().unwrap();
    let backend = crate::backend::Backend::start(any_port, &service, &streams, timer.clone());
    let backend = backend.await.unwrap();
    let client = crate::client::Client::new(backend.addr());
    let bench = Bench { backend, client, timer };
    let request = b"GET /hold HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
    assert_eq!(bench.raw(request).await, (200, "ok\n".into()));
}
