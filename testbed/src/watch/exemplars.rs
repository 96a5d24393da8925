//! Exemplars: for a bucket of a histogram, one request that fell into it, by the id of its trace.

use super::names::Metric;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use testbed_core::time::Nanos;

/// So many buckets may have an exemplar: those of eight histograms for each of 16 arms, and some.
pub const MAX_EXEMPLARS: usize = 8192;

/// One request out of those that a bucket counts.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Exemplar {
    /// The id of its trace.
    pub trace_id: u128,
    /// What was observed, in the unit of the histogram.
    pub value: f64,
    /// When, in Unix seconds.
    pub when: f64,
}

/// The last exemplar of each bucket of each series. Clones are handles on the same ones.
#[derive(Clone, Debug, Default)]
pub struct Exemplars {
    deadlines: Vec<Nanos>,
    kept: Arc<Mutex<Kept>>,
}

#[derive(Debug, Default)]
struct Kept {
    by_bucket: BTreeMap<Key, Exemplar>,
    turned_away: u64,
}

/// Metric, values of its labels, and which of its buckets.
type Key = (&'static str, Vec<String>, usize);

impl Exemplars {
    /// None yet. The deadlines of the run are bounds of its histograms.
    pub fn new(deadlines: &[Nanos]) -> Self {
        Self { deadlines: deadlines.to_vec(), kept: Arc::default() }
    }

    /// Keeps an exemplar of a histogram's series in the place of the last one of its bucket. `labels` are
    /// the values of the metric's labels, in the order of [`Metric::labels`]; `value` is what was
    /// observed, in the metric's unit; `when` is in Unix seconds. An exemplar of what is no histogram, and
    /// one of a new bucket beyond [`MAX_EXEMPLARS`], is turned away.
    pub fn record(&self, metric: &Metric, labels: &[&str], value: f64, trace_id: u128, when: f64) {
        let bounds = metric.kind.bounds(&self.deadlines);
        let bucket = bounds.iter().take_while(|bound| **bound < value).count();
        let labels = labels.iter().map(ToString::to_string).collect();
        let key: Key = (metric.name, labels, bucket);
        let mut kept = self.kept();
        let room = kept.by_bucket.len() < MAX_EXEMPLARS || kept.by_bucket.contains_key(&key);
        if room && !bounds.is_empty() {
            kept.by_bucket.insert(key, Exemplar { trace_id, value, when });
        } else {
            kept.turned_away += 1;
        }
    }

    /// The exemplars of a series by bucket. Buckets are counted from 0; the one without an upper bound is the
    /// last.
    pub fn of_series(&self, metric: &Metric, labels: &[&str]) -> BTreeMap<usize, Exemplar> {
        let labels: Vec<_> = labels.iter().map(ToString::to_string).collect();
        let (first, last) = ((metric.name, labels.clone(), 0), (metric.name, labels, usize::MAX));
        let kept = self.kept();
        let of_series = kept.by_bucket.range(first..=last);
        of_series.map(|((_, _, bucket), exemplar)| (*bucket, *exemplar)).collect()
    }

    /// How many were turned away.
    pub fn turned_away(&self) -> u64 {
        self.kept().turned_away
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::names;

    #[test]
    fn the_last_of_each_bucket_is_kept() {
        let exemplars = Exemplars::new(&[Nanos::from_secs(3)]);
        let record = |value, trace_id| {
            exemplars.record(&names::WAIT, &["one"], value, trace_id, 1e9);
        };
        let bucket = |bucket| {
            let of_series = exemplars.of_series(&names::WAIT, &["one"]);
            of_series.get(&bucket).map(|of| of.trace_id)
        };
        record(0.0, 1);
        record(0.000_1, 2);
        record(0.000_05, 3);
        record(3.0, 4);
        record(1e9, 5);
        assert_eq!((bucket(0), bucket(1), bucket(2)), (Some(1), Some(3), None));
        let bounds = names::WAIT.kind.bounds(&[Nanos::from_secs(3)]);
        let deadline = bounds.iter().position(|bound| *bound == 3.0);
        assert_eq!(bucket(deadline.unwrap()), Some(4), "a bound belongs to its bucket");
        assert_eq!(bucket(bounds.len()), Some(5), "beyond all bounds");
        assert!(exemplars.of_series(&names::WAIT, &["other"]).is_empty());
    }

    #[test]
    fn there_is_a_bound_and_what_is_turned_away_is_counted() {
        let exemplars = Exemplars::default();
        let record = |arm: usize, trace_id| {
            exemplars.record(&names::WAIT, &[&arm.to_string()], 0.0, trace_id, 0.0);
        };
        (0..=MAX_EXEMPLARS).for_each(|arm| record(arm, 1));
        assert_eq!(exemplars.turned_away(), 1);
        record(0, 2);
        let first = exemplars.of_series(&names::WAIT, &["0"]);
        assert_eq!(first[&0].trace_id, 2, "what is known is renewed");
        exemplars.record(&names::ARRIVALS, &["one"], 1.0, 1, 0.0);
        assert_eq!(exemplars.turned_away(), 2, "a counter has no buckets");
    }
}
