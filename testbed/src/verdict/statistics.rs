//! The statistics of verdicts against what NumPy and SciPy make of the same samples.

use super::evaluate::jain;
use crate::seeds::Spread;
use crate::watch::store::Distribution;
use serde::Deserialize;
use std::collections::BTreeMap;
use testbed_core::time::Nanos;

/// A row of `testbed/vectors/statistics.json`.
#[derive(Deserialize)]
struct Row {
    sample: Vec<u64>,
    percentiles: BTreeMap<String, u64>,
    jain: f64,
    mean: f64,
    low: f64,
    high: f64,
}

fn rows() -> Vec<Row> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/vectors/statistics.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn close(ours: f64, theirs: f64) -> bool {
    (ours - theirs).abs() <= 1e-9 * theirs.abs()
}

#[test]
fn percentiles_are_theirs_rounded_up_to_three_digits() {
    for row in rows() {
        let mut distribution = Distribution::default();
        row.sample.iter().for_each(|ns| distribution.record(Nanos::new(*ns)));
        for (percent, exact) in &row.percentiles {
            let ours = distribution.percentile(percent.parse().unwrap()).unwrap();
            let exact = *exact as f64 / 1e9;
            let within = exact * (1.0 - 1e-12)..=exact * 1.001;
            assert!(within.contains(&ours), "p{percent} of {}: {ours}, {exact}", row.sample.len());
        }
    }
}

#[test]
fn jains_index_is_theirs() {
    for row in rows() {
        let ours = jain(row.sample.iter().copied()).unwrap();
        assert!(close(ours, row.jain), "{ours}, {}", row.jain);
    }
}

#[test]
fn confidence_intervals_are_theirs() {
    for row in rows() {
        let values: Vec<_> = row.sample.iter().map(|value| *value as f64).collect();
        let Spread { mean, low, high } = Spread::of(&values).unwrap();
        for (ours, theirs) in [(mean, row.mean), (low, row.low), (high, row.high)] {
            assert!(close(ours, theirs), "{}: {ours}, {theirs}", values.len());
        }
    }
}
