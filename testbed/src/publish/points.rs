//! What is published, in memory: for each series its values and their instants.

use super::PublishError;
use crate::watch::names::Metric;
use std::collections::BTreeMap;
use testbed_core::time::{Nanos, Time};

/// More values than this of one source are not held: at 16 to 24 bytes each, they take up to 200 MB.
pub(super) const MAX_HELD: usize = 8 << 20;
/// A value that did not change for so long is said again. Stores forget what they have not heard of for
/// a while; the stack's own does so after 5 s.
const SAY_AGAIN: Nanos = Nanos::from_secs(1);

/// Series with their values. One is for one source, which is read in the order of time.
#[derive(Debug, Default)]
pub(super) struct Points {
    series: Vec<Series>,
    ids: BTreeMap<(&'static str, Vec<String>), usize>,
    held: usize,
    /// Values that were left out because they are older than the one before.
    pub(super) late: u64,
}

/// A series of some [`Points`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Id(usize);

/// One series.
#[derive(Debug)]
pub(super) struct Series {
    pub(super) metric: Metric,
    /// The values of the metric's labels.
    pub(super) labels: Vec<String>,
    pub(super) values: Values,
}

/// The values of a series.
#[derive(Debug)]
pub(super) enum Values {
    /// One at a time.
    Steps(Steps),
    /// Counts of values by size.
    Buckets(Buckets),
}

/// A value that holds until it changes.
#[derive(Debug)]
pub(super) struct Steps {
    /// Every value with the instant from which it holds, in order of time.
    pub(super) points: Vec<(Time, f64)>,
    now: Option<f64>,
    pace: Pace,
}

/// When a series has values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Pace {
    /// When it is set, and at every sampling instant.
    Sampled,
    /// When it is set; at sampling instants only if it was not set for long.
    Own,
}

/// A histogram as it grows from one sampling instant to the next.
#[derive(Debug)]
pub(super) struct Buckets {
    /// Upper bounds, ascending; one more bucket is for all beyond.
    pub(super) bounds: Vec<f64>,
    /// By how much single buckets grew, in the order of the marks.
    pub(super) growth: Vec<(usize, u64)>,
    pub(super) marks: Vec<Mark>,
    since: BTreeMap<usize, u64>,
    count: u64,
    sum: f64,
}

/// A histogram at a sampling instant.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    pub(super) at: Time,
    /// The sum of all values.
    pub(super) sum: f64,
    /// How much of the growth belongs to this and all earlier marks.
    pub(super) grown: usize,
}

impl Points {
    /// A series that is sampled; it has no value yet.
    pub(super) fn sampled(&mut self, metric: &Metric, labels: &[&str]) -> Id {
        self.steps(metric, labels, Pace::Sampled)
    }

    /// A series of which every value counts; it has none yet.
    pub(super) fn every(&mut self, metric: &Metric, labels: &[&str]) -> Id {
        self.steps(metric, labels, Pace::Own)
    }

    fn steps(&mut self, metric: &Metric, labels: &[&str], pace: Pace) -> Id {
        let steps = || Values::Steps(Steps { points: Vec::new(), now: None, pace });
        self.find(metric, labels, steps)
    }

    /// A histogram; the deadlines of the run are among its bounds.
    pub(super) fn histogram(
        &mut self,
        metric: &Metric,
        labels: &[&str],
        deadlines: &[Nanos],
    ) -> Id {
        let bounds = || metric.kind.bounds(deadlines);
        self.find(metric, labels, || Values::Buckets(Buckets::new(bounds())))
    }

    fn find(&mut self, metric: &Metric, labels: &[&str], make: impl FnOnce() -> Values) -> Id {
        let labels: Vec<_> = labels.iter().map(|label| (*label).to_owned()).collect();
        let next = self.series.len();
        let id = *self.ids.entry((metric.name, labels.clone())).or_insert(next);
        if id == next {
            self.series.push(Series { metric: *metric, labels, values: make() });
        }
        Id(id)
    }

    /// The value from `at` on.
    pub(super) fn set(&mut self, id: Id, at: Time, value: f64) {
        if let Values::Steps(steps) = &mut self.series[id.0].values {
            steps.now = Some(value);
            push(steps, at, value, (&mut self.held, &mut self.late));
        }
    }

    /// The value at the next sampling instant is more than it was.
    pub(super) fn add(&mut self, id: Id, more: f64) {
        if let Values::Steps(steps) = &mut self.series[id.0].values {
            steps.now = Some(steps.now.unwrap_or(0.0) + more);
        }
    }

    /// So many values of this size.
    pub(super) fn observe(&mut self, id: Id, value: f64, times: u64) {
        if let Values::Buckets(buckets) = &mut self.series[id.0].values {
            buckets.observe(value, times);
        }
    }

    /// How many values a histogram has counted.
    pub(super) fn count(&self, id: Id) -> u64 {
        match &self.series[id.0].values {
            Values::Steps(_) => 0,
            Values::Buckets(buckets) => buckets.count,
        }
    }

    /// The values of a series so far, if there is such a series.
    pub(super) fn values(&self, metric: &Metric, labels: &[&str]) -> &[(Time, f64)] {
        let labels = labels.iter().map(|label| (*label).to_owned()).collect();
        let id = self.ids.get(&(metric.name, labels));
        match id.map(|id| &self.series[*id].values) {
            Some(Values::Steps(steps)) => &steps.points,
            _ => &[],
        }
    }

    /// A sampling instant: what holds is said.
    pub(super) fn sample(&mut self, at: Time) -> Result<(), PublishError> {
        self.room()?;
        for series in &mut self.series {
            match &mut series.values {
                Values::Steps(steps) => steps.sample(at, (&mut self.held, &mut self.late)),
                Values::Buckets(buckets) => self.held += buckets.mark(at),
            }
        }
        Ok(())
    }

    /// Whether more values can be held.
    pub(super) const fn room(&self) -> Result<(), PublishError> {
        if self.held > MAX_HELD { Err(PublishError::TooLong) } else { Ok(()) }
    }

    /// All series that there are.
    pub(super) fn into_series(self) -> Vec<Series> {
        self.series
    }
}

/// Adds a value, unless it is older than the last; what is counted of it is how many there are and how
/// many were left out.
fn push(steps: &mut Steps, at: Time, value: f64, (held, late): (&mut usize, &mut u64)) {
    if steps.points.last().is_some_and(|(last, _)| *last > at) {
        *late += 1;
        return;
    }
    steps.points.push((at, value));
    *held += 1;
}

impl Steps {
    fn sample(&mut self, at: Time, counts: (&mut usize, &mut u64)) {
        let Some(now) = self.now else { return };
        let said = self.points.last().is_some_and(|(last, value)| match self.pace {
            Pace::Sampled => *last == at && *value == now,
            Pace::Own => at.since(*last) < SAY_AGAIN,
        });
        if !said {
            push(self, at, now, counts);
        }
    }
}

impl Buckets {
    const fn new(bounds: Vec<f64>) -> Self {
        Self {
            bounds,
            growth: Vec::new(),
            marks: Vec::new(),
            since: BTreeMap::new(),
            count: 0,
            sum: 0.0,
        }
    }

    fn observe(&mut self, value: f64, times: u64) {
        if times > 0 && value.is_finite() {
            let bucket = self.bounds.partition_point(|bound| *bound < value);
            *self.since.entry(bucket).or_default() += times;
            self.count += times;
            self.sum += value * times as f64;
        }
    }

    /// Keeps how it is now; how many values that takes.
    fn mark(&mut self, at: Time) -> usize {
        let grown = std::mem::take(&mut self.since);
        let held = grown.len() + 1;
        self.growth.extend(grown);
        self.marks.push(Mark { at, sum: self.sum, grown: self.growth.len() });
        held
    }
}

impl Values {
    /// Whether there is nothing to write.
    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::Steps(steps) => steps.points.is_empty(),
            Self::Buckets(buckets) => buckets.marks.is_empty(),
        }
    }
}
