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
fn every_kind_with_default_attributes_passes_data_in_order_at_once() {
    for kind in ToxicKind::all() {
        let mut faults = ProxyFaults::default();
        faults.add(Toxic::new(kind.clone())).unwrap();
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
