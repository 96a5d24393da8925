//! Random bodies for every route: the API answers as it may, and goes on.

use crate::allowed::{assert_allowed, assert_is_a_configuration};
use crate::support::Api;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

const ROUTES: [(&str, &str); 14] = [
    ("GET", "/version"),
    ("GET", "/metrics"),
    ("GET", "/proxies"),
    ("POST", "/proxies"),
    ("POST", "/populate"),
    ("POST", "/reset"),
    ("GET", "/proxies/a"),
    ("POST", "/proxies/a"),
    ("DELETE", "/proxies/a"),
    ("GET", "/proxies/a/toxics"),
    ("POST", "/proxies/a/toxics"),
    ("GET", "/proxies/a/toxics/b"),
    ("PATCH", "/proxies/a/toxics/b"),
    ("DELETE", "/proxies/a/toxics/b"),
];

const FIELDS: [&str; 19] = [
    "name",
    "listen",
    "upstream",
    "enabled",
    "type",
    "stream",
    "toxicity",
    "attributes",
    "toxics",
    "latency",
    "jitter",
    "rate",
    "delay",
    "timeout",
    "average_size",
    "size_variation",
    "bytes",
    "Name",
    "x",
];

/// No name here has to be looked up, and no port is anybody's.
const TEXTS: [&str; 19] = [
    "a",
    "b",
    "",
    "127.0.0.1:0",
    "[::1]:0",
    "localhost:0",
    "127.0.0.1:99999",
    "::",
    "upstream",
    "DownStream",
    "latency",
    "bandwidth",
    "slow_close",
    "timeout",
    "reset_peer",
    "slicer",
    "limit_data",
    "noop",
    "\u{0}\u{fffd}\"\\\n",
];

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        select(&TEXTS[..]).prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-2_i64..200).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        Just(Value::Null),
    ]
}

/// Any JSON, with the names and texts that the API knows.
fn document() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(4, 24, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::vec((select(&FIELDS[..]), inner), 0..6).prop_map(|fields| {
                let owned = fields.into_iter().map(|(name, value)| (name.to_owned(), value));
                Value::Object(owned.collect::<Map<_, _>>())
            }),
        ]
    })
}

/// A toxic or a proxy that is nearly right.
fn plausible() -> impl Strategy<Value = Value> {
    let attributes = prop::collection::vec((select(&FIELDS[9..17]), -2_i64..300), 0..4);
    let toxic =
        (select(&TEXTS[..]), select(&TEXTS[9..]), attributes).prop_map(|(name, kind, set)| {
            let set: Map<_, _> =
                set.into_iter().map(|(name, n)| (name.to_owned(), n.into())).collect();
            json!({ "name": name, "type": kind, "attributes": set, "toxicity": 0.5 })
        });
    let proxy = (select(&TEXTS[..]), select(&TEXTS[3..6]), scalar()).prop_map(|(name, at, enabled)| {
        json!({ "name": name, "listen": at, "upstream": "127.0.0.1:1", "enabled": enabled })
    }).boxed();
    let proxies = prop::collection::vec(proxy.clone(), 0..4).prop_map(Value::Array);
    prop_oneof![toxic, proxy, proxies]
}

/// A body as text: JSON, or JSON that was cut off.
fn body() -> impl Strategy<Value = String> {
    let whole = prop_oneof![document(), plausible()].prop_map(|value| value.to_string());
    (whole, 0_usize..12).prop_map(|(text, cut)| {
        let keep = if cut == 0 { text.chars().count() / 2 } else { usize::MAX };
        text.chars().take(keep).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn no_body_makes_it_panic_or_fall_silent(
        calls in prop::collection::vec((select(&ROUTES[..]), body()), 1..24),
    ) {
        let api = Api::start();
        for name in ["a", "b"] {
            api.proxy(name, "127.0.0.1:1".parse().unwrap());
        }
        api.done("POST", "/proxies/a/toxics", r#"{"type":"noop","name":"b"}"#);
        for ((method, path), body) in calls {
            let answer = api.call(method, path, &body);
            assert_allowed(&format!("{method} {path} {body}"), answer.status, &answer.body);
        }
        prop_assert_eq!(api.call("GET", "/version", "").status, 200);
        assert_is_a_configuration(&api.call("GET", "/proxies", "").body);
    }
}
