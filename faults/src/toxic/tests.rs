//! The registry, and what holds for every kind in it.

use super::*;
use crate::chain::Chain;
use crate::control::{ProxyFaults, link_rng};
use bytes::Bytes;
use std::collections::BTreeSet;
use testbed_core::rng::Streams;
use testbed_core::time::Nanos;

/// Names, streams and toxicities in all the ways that files write them.
const FILES: [(&str, Option<&str>, Stream, f64); 4] = [
    ("{ noop: {} }", None, Stream::Downstream, 1.0),
    ("{ noop: {}, toxicity: 50% }", None, Stream::Downstream, 0.5),
    ("{ stream: upstream, noop: {} }", None, Stream::Upstream, 1.0),
    ("{ name: slow, noop: {}, stream: downstream }", Some("slow"), Stream::Downstream, 1.0),
];

#[test]
fn a_file_names_the_kind_by_its_key() {
    for (text, name, stream, toxicity) in FILES {
        let toxic: Toxic = serde_yaml::from_str(text).unwrap();
        assert_eq!(toxic.name.as_deref(), name, "{text}");
        assert_eq!(toxic.stream, stream, "{text}");
        assert_eq!(toxic.toxicity.get(), toxicity, "{text}");
        assert_eq!(toxic.kind.name(), "noop", "{text}");
    }
}

#[test]
fn attributes_carry_units_and_default_to_zero() {
    for (text, latency, jitter) in [
        ("{ latency: { latency: 40ms, jitter: 10ms } }", 40, 10),
        ("{ latency: { latency: 40ms } }", 40, 0),
        ("{ latency: {} }", 0, 0),
    ] {
        let toxic: Toxic = serde_yaml::from_str(text).unwrap();
        let (latency, jitter) = (Nanos::from_millis(latency), Nanos::from_millis(jitter));
        assert_eq!(toxic.kind, ToxicKind::Latency(Latency { latency, jitter }), "{text}");
    }
}

#[test]
fn what_a_file_cannot_mean_is_refused() {
    for text in [
        "{}",
        "{ toxicity: 50% }",
        "{ latency: { latency: 40 } }",
        "{ latency: { delay: 40ms } }",
        "{ latency: { latency: 25h } }",
        "{ bandwidth: {} }",
        "{ bandwidth: { rate: 999B/s } }",
        "{ limit_data: {} }",
        "{ slicer: { average_size: 0B } }",
        "{ slicer: { average_size: 5B, size_variation: 6B } }",
        "{ wave: { high: 1ms } }",
        "{ wave: { high: 1ms, period: 0s } }",
        "{ wave: { low: 2ms, high: 1ms, period: 1s } }",
        "{ wave: { high: 1ms, period: 1s, shape: round } }",
        "{ latency: {}, noop: {} }",
        "{ noop: {}, toxicty: 50% }",
        "{ noop: {}, stream: sideways }",
        "{ molasses: {} }",
    ] {
        assert!(serde_yaml::from_str::<Toxic>(text).is_err(), "{text}");
    }
}

#[test]
fn the_schema_knows_every_kind_and_refuses_other_keys() {
    let schema = serde_json::to_string(&schemars::schema_for!(Toxic)).unwrap();
    for kind in ToxicKind::all() {
        assert!(schema.contains(&format!("\"{}\"", kind.name())), "{}", kind.name());
    }
    assert!(schema.contains("\"unevaluatedProperties\":false"), "{schema}");
}

#[test]
fn every_kind_has_a_name_of_its_own_and_says_what_it_does() {
    let kinds = ToxicKind::all();
    let names: BTreeSet<&str> = kinds.iter().map(ToxicKind::name).collect();
    assert_eq!(names.len(), kinds.len());
    assert!(kinds.iter().all(|kind| !kind.about().is_empty()));
}

#[test]
fn every_kind_reads_back_as_it_was_written() {
    for kind in ToxicKind::all() {
        let toxic = Toxic::new(kind);
        let json = serde_json::to_value(&toxic).unwrap();
        assert!(json.get(toxic.kind.name()).is_some(), "{json}");
        assert_eq!(serde_json::from_value::<Toxic>(json).unwrap(), toxic);
        let yaml = serde_yaml::to_string(&toxic).unwrap();
        assert_eq!(serde_yaml::from_str::<Toxic>(&yaml).unwrap(), toxic, "{yaml}");
    }
}

#[test]
fn every_kind_passes_all_in_order_at_once_where_toxicity_does_not_strike() {
    for kind in ToxicKind::all() {
        let mut faults = ProxyFaults::default();
        let toxicity = Share::new(0.0).unwrap();
        faults.add(Time::ZERO, Toxic { toxicity, ..Toxic::new(kind.clone()) }).unwrap();
        let rng = link_rng(&Streams::new(1), "proxy", 0, Stream::Downstream);
        let mut chain = Chain::new(Stream::Downstream, rng);
        chain.apply(Time::ZERO, &faults);
        for byte in 0..10_u8 {
            let item = Item::Data(Bytes::from(vec![byte]));
            chain.push(Time::ZERO, item.clone());
            assert_eq!(chain.pop(Time::ZERO), Some(item), "{}", kind.name());
        }
        chain.push(Time::ZERO, Item::Eof);
        assert_eq!(chain.pop(Time::ZERO), Some(Item::Eof), "{}", kind.name());
    }
}

#[test]
fn every_kind_is_possible_and_lets_its_source_end() {
    for kind in ToxicKind::all() {
        assert_eq!(kind.check(), Ok(()), "{}", kind.name());
        let mut faults = ProxyFaults::default();
        faults.add(Time::ZERO, Toxic::new(kind.clone())).unwrap();
        let mut chain = Chain::<Bytes>::new(Stream::Downstream, Streams::new(1).stream("link"));
        chain.apply(Time::ZERO, &faults);
        chain.push(Time::ZERO, Item::Eof);
        let end = chain.next_wake().and_then(|wake| chain.pop(wake));
        assert!(end.is_some_and(|end| end.is_end()), "{}", kind.name());
    }
}

fn object(json: &str) -> Map<String, Value> {
    serde_json::from_str(json).unwrap()
}

/// Kinds with attributes as Toxiproxy 2.12 shows them, in its order.
const API: [(&str, &str); 9] = [
    ("latency", r#"{"latency":100,"jitter":10}"#),
    ("bandwidth", r#"{"rate":1000}"#),
    ("slow_close", r#"{"delay":1}"#),
    ("timeout", r#"{"timeout":1000}"#),
    ("reset_peer", r#"{"timeout":1}"#),
    ("slicer", r#"{"average_size":10,"size_variation":5,"delay":10}"#),
    ("limit_data", r#"{"bytes":10}"#),
    ("noop", "{}"),
    ("wave", r#"{"low":5,"high":60,"period":20000,"shape":"sawtooth"}"#),
];

#[test]
fn the_api_gives_back_what_it_was_given_for_every_kind() {
    assert_eq!(API.map(|(name, _)| name).to_vec(), names());
    for (name, json) in API {
        let kind = ToxicKind::from_api(name, &object(json)).unwrap();
        assert_eq!(kind.name(), name);
        assert_eq!(kind.to_api(), object(json), "{name}");
    }
}

fn names() -> Vec<&'static str> {
    ToxicKind::all().iter().map(ToxicKind::name).collect()
}

#[test]
fn the_api_counts_in_toxiproxys_units() {
    for (name, json, file) in [
        ("latency", r#"{"latency":40,"jitter":5}"#, "latency: { latency: 40ms, jitter: 5ms }"),
        ("bandwidth", r#"{"rate":100}"#, "bandwidth: { rate: 100kB/s }"),
        ("bandwidth", "{}", "bandwidth: { rate: 0B/s }"),
        ("slicer", r#"{"average_size":9,"delay":10}"#, "slicer: { average_size: 9B, delay: 10us }"),
        ("limit_data", r#"{"bytes":1024}"#, "limit_data: { bytes: 1KiB }"),
        ("timeout", r#"{"timeout":null,"unknown":"x"}"#, "timeout: {}"),
        ("wave", r#"{"high":9,"period":1000}"#, "wave: { high: 9ms, period: 1s }"),
        (
            "wave",
            r#"{"low":1,"high":9,"period":1000,"shape":"square"}"#,
            "wave: { low: 1ms, high: 9ms, period: 1s, shape: square }",
        ),
    ] {
        let toxic: Toxic = serde_yaml::from_str(file).unwrap();
        assert_eq!(ToxicKind::from_api(name, &object(json)), Ok(toxic.kind), "{file}");
    }
}

#[test]
fn a_merge_changes_what_is_there_and_is_all_or_nothing() {
    let mut kind = ToxicKind::from_api("slicer", &object(API[5].1)).unwrap();
    kind.merge_api(&object(r#"{"average_size":null,"size_variation":7}"#)).unwrap();
    let merged = object(r#"{"average_size":10,"size_variation":7,"delay":10}"#);
    assert_eq!(kind.to_api(), merged);
    assert!(kind.merge_api(&object(r#"{"average_size":5,"delay":20}"#)).is_err());
    assert_eq!(kind.to_api(), merged);
    let mut wave = ToxicKind::from_api("wave", &object(API[8].1)).unwrap();
    wave.merge_api(&object(r#"{"shape":null,"low":6}"#)).unwrap();
    wave.merge_api(&object(r#"{"shape":"square"}"#)).unwrap();
    let merged = object(r#"{"low":6,"high":60,"period":20000,"shape":"square"}"#);
    assert_eq!(wave.to_api(), merged);
}

const WRONG_SHAPE: &str = "attribute `shape` must be sine, triangle, sawtooth or square";

#[test]
fn impossible_attributes_are_refused_with_a_reason() {
    for (name, json, reason) in [
        ("molasses", "{}", "invalid toxic type"),
        ("latency", r#"{"latency":1.5}"#, "attribute `latency` must be a whole number"),
        ("latency", r#"{"jitter":"5"}"#, "attribute `jitter` must be a whole number"),
        ("latency", r#"{"jitter":1e30}"#, "attribute `jitter` must be a whole number"),
        ("latency", r#"{"latency":-5}"#, "attribute `latency` must be 0 or more"),
        ("latency", r#"{"jitter":86400001}"#, "attribute `jitter` must be one day at most"),
        (
            "timeout",
            r#"{"timeout":5000000000000000000}"#,
            "attribute `timeout` must be one day at most",
        ),
        ("bandwidth", r#"{"rate":-1}"#, "attribute `rate` must be 0 or more"),
        ("slicer", "{}", "attribute `average_size` must be 1 byte or more"),
        (
            "slicer",
            r#"{"average_size":5,"size_variation":6}"#,
            "attribute `size_variation` must be average_size at most",
        ),
        ("wave", r#"{"high":1}"#, "attribute `period` must be more than zero"),
        ("wave", r#"{"low":2,"high":1,"period":1}"#, "attribute `high` must be low or more"),
        ("wave", r#"{"period":1,"shape":3}"#, WRONG_SHAPE),
        ("wave", r#"{"period":1,"shape":"Sine"}"#, WRONG_SHAPE),
    ] {
        let error = ToxicKind::from_api(name, &object(json)).unwrap_err();
        assert_eq!(error.to_string(), reason, "{name} {json}");
    }
    assert!(ToxicKind::from_api("latency", &object(r#"{"latency":86400000}"#)).is_ok());
}
