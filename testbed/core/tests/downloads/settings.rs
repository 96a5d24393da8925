//! Settings as files write them.

use crate::loads::load;
use testbed_core::download::{DownloadConfig, Order, Retry};
use testbed_core::limit::quantity::Bytes;
use testbed_core::time::Nanos;

fn read(yaml: &str) -> Result<DownloadConfig, serde_yaml::Error> {
    let deserializer = serde_yaml::Deserializer::from_str(yaml);
    serde_yaml::with::singleton_map_recursive::deserialize(deserializer)
}

#[test]
fn few_words_are_enough() {
    let config = read("{ tasks: 2, chunk: { fixed: 40B } }").unwrap();
    let turnaround = Nanos::from_micros(20);
    assert_eq!(config, DownloadConfig { segment: None, turnaround, ..load(2, 1) });
    assert_eq!((config.slots(), config.total(), config.order), (2, None, Order::RoundRobin));
    assert_eq!(config.retry, Retry::default());
    assert_eq!(config.invalid(), []);
}

#[test]
fn settings_survive_yaml() {
    let config = DownloadConfig { slots: Some(3), order: Order::TaskByTask, ..load(2, 2) };
    let mut yaml = Vec::new();
    let mut serializer = serde_yaml::Serializer::new(&mut yaml);
    serde_yaml::with::singleton_map_recursive::serialize(&config, &mut serializer).unwrap();
    assert_eq!(read(std::str::from_utf8(&yaml).unwrap()).unwrap(), config);
    assert_eq!((config.slots(), config.total()), (3, Some(400)));
}

#[test]
fn mistakes_are_named() {
    for (setting, field) in [
        ("segment: 0B", "segment"),
        ("checkpoint: 0B", "checkpoint"),
        ("low_speed: { below: 1kB/s, for: 0s }", "low_speed"),
        ("retry: { first: 0s }", "retry"),
        ("retry: { at_most: 0s }", "retry"),
        ("segments: 1000001", "segments"),
    ] {
        let config = read(&format!("{{ tasks: 1, chunk: {{ fixed: 1B }}, {setting} }}")).unwrap();
        let invalid = config.invalid();
        assert_eq!(invalid.iter().map(|invalid| invalid.field).collect::<Vec<_>>(), [field]);
    }
    assert!(read("{ tasks: 1, chunk: { fixed: 1B }, slotss: 1 }").is_err());
}

/// Live there is one file of that size to download from.
#[test]
fn a_file_has_one_tebibyte_at_most() {
    let half = Bytes::new(1 << 39);
    for (segments, wrong) in [(2, 0), (3, 1)] {
        let config = DownloadConfig { segment: Some(half), ..load(1, segments) };
        assert_eq!(config.invalid().len(), wrong, "{segments} segments of {half}");
    }
}
