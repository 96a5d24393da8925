//! Every row recorded from Netflix's concurrency-limits.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use testbed_core::control::{Controller, ControllerConfig};
use testbed_core::request::{Outcome, Sample};
use testbed_core::rng::Streams;
use testbed_core::time::{Nanos, Time};

fn sample(start_ns: u64, rtt_ns: u64, in_flight: u32, dropped: bool) -> Sample {
    let start = Time::from_nanos(start_ns);
    Sample {
        start,
        sent: start,
        end: start.after(Nanos::new(rtt_ns)),
        in_flight_at_start: in_flight,
        in_flight_at_end: in_flight,
        limit_at_start: 1,
        outcome: if dropped { Outcome::Overload } else { Outcome::Success },
        bytes: 0,
    }
}

/// The settings of each law as a file would have them, and the recording that they belong to.
const RECORDED: &[(&str, &str)] = &[
    ("netflix_aimd_default.csv", "aimd: {}"),
    (
        "netflix_aimd_timeout15ms.csv",
        "aimd: { initial: 10, min: 1, max: 100, backoff: 0.8, timeout: 15ms }",
    ),
    ("netflix_gradient2_default.csv", "gradient2: {}"),
    (
        "netflix_gradient2_min1.csv",
        "gradient2: { initial: 5, min: 1, max: 500, smoothing: 0.5, queue: 2, long_window: 100, \
         tolerance: 1 }",
    ),
    ("netflix_gradient_noprobe.csv", "gradient: { probe_interval: 'off' }"),
    ("netflix_vegas_noprobe.csv", "vegas: { probe_multiplier: 1000000 }"),
    (
        "netflix_windowed_gradient2.csv",
        "windowed: { min_window: 100ms, max_window: 100ms, law: { gradient2: { min: 5 } } }",
    ),
];

fn law(settings: &str) -> Box<dyn Controller> {
    let deserializer = serde_yaml::Deserializer::from_str(settings);
    let config: ControllerConfig =
        serde_yaml::with::singleton_map_recursive::deserialize(deserializer).unwrap();
    assert_eq!(config.invalid(), []);
    config.build(&Streams::new(1))
}

fn assert_reproduced(file: &str, law: &mut dyn Controller) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../vectors").join(file);
    let text = std::fs::read_to_string(path).unwrap();
    let rows: Vec<_> = text.lines().skip(2).collect();
    assert!(rows.len() >= 2000, "{file}");
    for row in rows {
        let column: Vec<u64> = row.split(',').map(|field| field.parse().unwrap()).collect();
        let sample = sample(column[1], column[2], column[3] as u32, column[4] == 1);
        let _ = law.on_sample(sample.end, &sample);
        assert_eq!(law.limit(), column[5], "{file} {row}");
    }
}

#[test]
fn every_recorded_row_is_reproduced() {
    for (file, settings) in RECORDED {
        assert_reproduced(file, &mut *law(settings));
    }
}
