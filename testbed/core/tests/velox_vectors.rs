//! Every row of the recorded vectors of the original Velox controller.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};
use testbed_core::control::velox::{Config, Storage, Velox};
use testbed_core::control::{Controller, Law};
use testbed_core::request::{Outcome, Sample};
use testbed_core::rng::Streams;
use testbed_core::time::Time;

fn vectors() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../vectors");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with("velox_"))
        .collect();
    files.sort();
    files
}

/// The parameters on a vector's first line: `# scenario=x start=2 max=256 min=1 step_coef=1`.
fn law(path: &Path, header: &str) -> Velox {
    let value = |key: &str| {
        let pair = header.split_whitespace().find_map(|pair| pair.strip_prefix(key)).unwrap();
        pair.strip_prefix('=').unwrap().parse::<i64>().unwrap()
    };
    let integer = path.file_name().unwrap().to_str().unwrap().starts_with("velox_int");
    let config = Config {
        window: if integer { Storage::Integer } else { Storage::Double },
        start: Some(value("start")),
        max: Some(value("max")),
        min: value("min"),
        step: value("step_coef") as f64,
        ..Config::default()
    };
    config.build(&Streams::new(1))
}

fn sample(op: &str, rtt_ns: u64) -> Sample {
    Sample {
        start: Time::ZERO,
        sent: Time::ZERO,
        end: Time::from_nanos(rtt_ns),
        in_flight_at_start: 1,
        in_flight_at_end: 1,
        limit_at_start: 1,
        outcome: if op == "error" { Outcome::Overload } else { Outcome::Success },
        bytes: 0,
    }
}

fn assert_row(law: &Velox, row: &[&str], place: &str) {
    let number = |column: usize| row[column].parse::<f64>().unwrap();
    assert_eq!(law.limit() as f64, number(3), "limit, {place}");
    assert!((law.window() / number(4) - 1.0).abs() < 1e-9, "window {}, {place}", law.window());
    let baseline = law.baseline_rtt().map_or(0, |rtt| rtt.get());
    assert_eq!(baseline as f64, number(5), "baseline, {place}");
    assert_eq!(law.shrinks() as f64, number(6), "shrinks, {place}");
}

#[test]
fn every_row_of_every_vector_is_reproduced() {
    let files = vectors();
    assert_eq!(files.len(), 14, "two storages, seven scenarios");
    for path in files {
        let text = std::fs::read_to_string(&path).unwrap();
        let mut lines = text.lines();
        let mut law = law(&path, lines.next().unwrap());
        assert!(lines.next().unwrap().starts_with("step,op,rtt_ns,limit,window"));
        for line in lines {
            let row: Vec<_> = line.split(',').collect();
            let _ = law.on_sample(Time::ZERO, &sample(row[1], row[2].parse().unwrap_or_default()));
            assert_row(&law, &row, &format!("{} step {}", path.display(), row[0]));
        }
    }
}
