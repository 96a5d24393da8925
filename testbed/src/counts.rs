//! How values are spread, as counts: `distributions.csv` in a run directory, and how far two of them are apart.

use crate::experiment::plan::Plan;
use crate::watch::series::PerRequest;
use crate::watch::store::Store;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;

/// The series that are written down.
const WRITTEN: [PerRequest; 3] = [PerRequest::Wait, PerRequest::Latency, PerRequest::TokenWait];

/// A row of `distributions.csv`: so many values of a series of an arm over the whole run, all of them at this one
/// to three digits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// The arm.
    pub arm: String,
    /// The series.
    pub series: String,
    /// The value in nanoseconds, rounded up to three digits.
    pub value_ns: u64,
    /// How many there are.
    pub count: u64,
}

/// How often there is which value, in ascending order of the values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts(BTreeMap<u64, u64>);

/// `distributions.csv` of a run of `plan`.
///
/// # Errors
/// Never: it is written to memory.
pub fn write(plan: &Plan, store: &Store) -> io::Result<Vec<u8>> {
    let mut csv = csv::WriterBuilder::new().has_headers(false).from_writer(Vec::new());
    csv.write_record(["arm", "series", "value_ns", "count"])?;
    for (arm, recorded) in plan.arms.iter().zip(&store.arms) {
        for series in WRITTEN {
            for (value_ns, count) in recorded.distribution(series, None).counts() {
                let (arm, series) = (arm.name.clone(), series.info().name.to_owned());
                csv.serialize(Row { arm, series, value_ns, count })?;
            }
        }
    }
    csv.into_inner().map_err(|error| error.into_error())
}

/// What `distributions.csv` says: the counts of each arm and series.
///
/// # Errors
/// The first row that is none.
pub fn read(csv: impl io::Read) -> Result<BTreeMap<(String, String), Counts>, csv::Error> {
    let mut all = BTreeMap::<_, Counts>::new();
    for row in csv::Reader::from_reader(csv).deserialize() {
        let Row { arm, series, value_ns, count } = row?;
        all.entry((arm, series)).or_default().add(value_ns, count);
    }
    Ok(all)
}

impl Counts {
    /// There are so many more of a value.
    pub fn add(&mut self, value: u64, count: u64) {
        *self.0.entry(value).or_default() += count;
    }

    /// How many values there are.
    pub fn len(&self) -> u64 {
        self.0.values().sum()
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The least value that `percent` of all values do not exceed; `None` without values.
    pub fn percentile(&self, percent: f64) -> Option<u64> {
        let (wanted, mut below) = (self.len() as f64 * percent / 100.0, 0);
        let reached = self.0.iter().find(|(_, count)| {
            below += *count;
            below as f64 >= wanted
        });
        reached.map(|(value, _)| *value)
    }

    /// The Kolmogorov-Smirnov distance: the most by which the shares of values that are at most x differ, over all x.
    /// 0 if they are spread alike, 1 if all of one lie below all of the other. `None` if one has no values.
    ///
    /// N. Smirnov, Table for estimating the goodness of fit of empirical distributions, Ann. Math. Statist. 19 (1948).
    pub fn distance(&self, other: &Self) -> Option<f64> {
        let apart = self.apart(other)?;
        Some(apart.iter().map(|(_, apart)| apart.abs()).fold(0.0, f64::max))
    }

    /// The Wasserstein distance: by how much values would have to be moved on the mean to make one of the other. In the
    /// unit of the values. `None` if one has no values.
    ///
    /// The area between both distribution functions: S. Vallender, Calculation of the Wasserstein distance between
    /// probability distributions on the line, Theory Probab. Appl. 18 (1974).
    pub fn shift(&self, other: &Self) -> Option<f64> {
        let apart = self.apart(other)?;
        let area = |pair: &[(u64, f64)]| (pair[1].0 - pair[0].0) as f64 * pair[0].1.abs();
        Some(apart.windows(2).map(area).sum())
    }

    /// At each value, the share of values up to it less that of the other.
    fn apart(&self, other: &Self) -> Option<Vec<(u64, f64)>> {
        if self.is_empty() || other.is_empty() {
            return None;
        }
        let steps = |counts: &Self, sign: f64| {
            let of_all = sign / counts.len() as f64;
            counts.0.iter().map(move |(value, count)| (*value, *count as f64 * of_all)).collect()
        };
        let (mut all, others): (Vec<_>, Vec<_>) = (steps(self, 1.0), steps(other, -1.0));
        all.extend(others);
        all.sort_by_key(|(value, _)| *value);
        // Shares are compared after all values at x, never between two of the same.
        let at_x = all.chunk_by(|(one, _), (next, _)| one == next);
        let apart = at_x.scan(0.0, |apart, steps| {
            *apart += steps.iter().map(|(_, step)| step).sum::<f64>();
            Some((steps[0].0, *apart))
        });
        Some(apart.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::store::Distribution;
    use testbed_core::time::Nanos;

    /// A row of `testbed/vectors/distances.json`.
    #[derive(Deserialize)]
    struct Vector {
        one: Vec<u64>,
        other: Vec<u64>,
        distance: f64,
        shift: f64,
    }

    fn counts(values: &[u64]) -> Counts {
        let mut counts = Counts::default();
        values.iter().for_each(|value| counts.add(*value, 1));
        counts
    }

    #[test]
    fn distances_are_those_of_scipy() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/vectors/distances.json");
        let text = std::fs::read_to_string(path).unwrap();
        let rows: Vec<Vector> = serde_json::from_str(&text).unwrap();
        assert!(rows.len() > 5);
        for Vector { one, other, distance, shift } in rows {
            let (one, other) = (counts(&one), counts(&other));
            for (one, other) in [(&one, &other), (&other, &one)] {
                let (ours, moved) = (one.distance(other).unwrap(), one.shift(other).unwrap());
                assert!((ours - distance).abs() < 1e-12, "{ours}, {distance}");
                assert!((moved - shift).abs() <= 1e-9 * shift, "{moved}, {shift}");
            }
            assert!(one.distance(&one).unwrap() < 1e-12);
        }
        assert_eq!(counts(&[1]).distance(&Counts::default()), None);
    }

    #[test]
    fn what_is_written_reads_back_and_exceeds_no_value_that_was_recorded() {
        let mut recorded = Distribution::default();
        for ns in [1_000_001, 124_980_001, 1_000_001] {
            recorded.record(Nanos::new(ns));
        }
        let expected = [(1_000_447, 2), (124_980_001, 1)];
        assert_eq!(recorded.counts().collect::<Vec<_>>(), expected);
        let csv = "arm,series,value_ns,count\na,limiter.wait,3,2\na,limiter.wait,5,1\n";
        let all = read(csv.as_bytes()).unwrap();
        assert_eq!(all[&("a".to_owned(), "limiter.wait".to_owned())], counts(&[3, 3, 5]));
        assert!(read("arm,series,value_ns,count\na,limiter.wait,three,2\n".as_bytes()).is_err());
    }

    #[test]
    fn percentiles_are_values_that_there_are() {
        let counts = counts(&[10, 10, 20, 30]);
        for (percent, value) in [(25.0, 10), (50.0, 10), (75.0, 20), (99.0, 30)] {
            assert_eq!(counts.percentile(percent), Some(value), "p{percent}");
        }
        assert_eq!(Counts::default().percentile(50.0), None);
    }
}
