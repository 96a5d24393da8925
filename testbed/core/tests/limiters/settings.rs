//! Settings as files write them.

use crate::race::empty;
use testbed_core::limit::quantity::{ByteRate, Bytes};
use testbed_core::limit::{LevelsConfig, LimiterConfig};
use testbed_core::vitals::Vitals;

fn read(yaml: &[u8]) -> Result<LimiterConfig, serde_yaml::Error> {
    let deserializer = serde_yaml::Deserializer::from_slice(yaml);
    serde_yaml::with::singleton_map_recursive::deserialize(deserializer)
}

#[test]
fn settings_survive_yaml_and_defaults_are_valid() {
    for config in LimiterConfig::all(&empty(1000, 1000)) {
        let mut yaml = Vec::new();
        let mut serializer = serde_yaml::Serializer::new(&mut yaml);
        serde_yaml::with::singleton_map_recursive::serialize(&config, &mut serializer).unwrap();
        assert_eq!(read(&yaml).unwrap(), config);
        assert_eq!(config.invalid(), []);
        assert!(!config.about().is_empty());
    }
}

#[test]
fn mistakes_are_named() {
    for (yaml, field) in [
        ("fifo: { levels: {} }", "levels"),
        ("peek: { levels: { global: { rate: 1B/s, capacity: 0B } } }", "capacity"),
        ("drr: { levels: { task: { rate: 9B/s, initial: 10B } } }", "initial"),
        ("fifo: { levels: { queue: { rate: 1B/s, refill: { tick: 0s } } } }", "refill"),
        ("peek: { levels: { global: { rate: 1B/s } }, lateness: { tick: 0s } }", "lateness"),
        ("drr: { levels: { global: { rate: 1B/s } }, quantum: 0B }", "quantum"),
        ("governor: { levels: { queue: { rate: 1B/s } } }", "levels"),
        ("guava: { levels: { task: { rate: 1B/s }, global: { rate: 1B/s } } }", "levels"),
        ("governor: { levels: { global: { rate: 1B/s, refill: milliseconds } } }", "refill"),
        ("governor: { levels: { global: { rate: 1GiB/s, capacity: 1B } } }", "rate"),
        ("governor: { levels: { global: { rate: 1B/s, capacity: 4GiB } } }", "capacity"),
        ("leaky_bucket: { levels: { global: { rate: 1B/s } }, interval: 1500us }", "interval"),
        ("leaky_bucket: { levels: { global: { rate: 1B/s } }, interval: 0s }", "interval"),
        ("reservation: { levels: { task: { rate: 1B/s } }, arithmetic: go }", "arithmetic"),
        ("reservation: { levels: { task: { rate: 1B/s } }, beyond: go }", "beyond"),
        ("fifo: { levels: { task: { rate: 1B/s, refill: { timer: { every: 1us } } } } }", "refill"),
        ("pacer: { rate: 1B/s, interval: { round: 0s } }", "interval"),
        ("htb: { levels: { task: { rate: 1B/s } } }", "levels"),
        ("htb: { levels: { global: { rate: 9B/s } }, assured: [5B/s, 5B/s] }", "assured"),
        ("htb: { levels: { global: { rate: 9B/s } }, quantum: 0B }", "quantum"),
    ] {
        let invalid = read(yaml.as_bytes()).unwrap().invalid();
        assert_eq!(invalid.iter().map(|invalid| invalid.field).collect::<Vec<_>>(), [field]);
    }
    for yaml in ["fifo: { levels: { global: { rate: 0B/s } } }", "fifo: { levls: {} }", "lifo: {}"]
    {
        assert!(read(yaml.as_bytes()).is_err(), "{yaml}");
    }
}

#[test]
fn the_vitals_are_those_that_are_listed() {
    use testbed_core::limit::VITALS;
    use testbed_core::rng::Streams;
    for config in LimiterConfig::all(&empty(1000, 1000)) {
        let mut vitals = Vitals::new();
        config.build(&Streams::new(1)).vitals(&mut vitals);
        let names: Vec<_> = vitals.iter().map(|vital| vital.name).collect();
        assert_eq!(names, VITALS.iter().map(|vital| vital.name).collect::<Vec<_>>());
    }
}

#[test]
fn a_bucket_of_few_words_holds_one_second_and_is_full() {
    let yaml = "global: { rate: 4MiB/s }";
    let levels: LevelsConfig = serde_yaml::from_str(yaml).unwrap();
    let bucket = levels.global.unwrap();
    assert_eq!(bucket.rate, ByteRate::per_second(4 << 20).unwrap());
    assert_eq!((bucket.capacity(), bucket.initial()), (4 << 20, 4 << 20));
    assert_eq!(Bytes::new(bucket.capacity()).to_string(), "4MiB");
}
