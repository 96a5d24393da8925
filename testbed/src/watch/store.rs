//! The store: what a run recorded, in memory, phase by phase. Verdicts are computed from it.

use super::series::PerRequest;
use hdrhistogram::Histogram;
use std::collections::BTreeMap;
use testbed_core::time::{Nanos, Time};

/// A value that holds until it changes.
#[derive(Clone, Debug, Default)]
pub struct Steps {
    /// Every value that was set, in order.
    pub points: Vec<(Time, f64)>,
    /// For each phase, how many points there were when it began.
    starts: Vec<usize>,
}

/// What happened within one sampling interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// When it ended.
    pub end: Time,
    /// How long it was.
    pub length: Nanos,
    /// The least value in it.
    pub min: f64,
    /// The greatest value in it.
    pub max: f64,
    /// The mean over time.
    pub mean: f64,
    /// The value at its end.
    pub last: f64,
}

impl Interval {
    /// An interval of which only a mean is known.
    pub fn level(begin: Time, end: Time, value: f64) -> Self {
        Self { end, length: end.since(begin), min: value, max: value, mean: value, last: value }
    }
}

/// A value that is summed up over each sampling interval.
#[derive(Clone, Debug, Default)]
pub struct Intervals {
    /// Every interval, in order.
    pub items: Vec<Interval>,
    starts: Vec<usize>,
}

/// One value a request or a wait, in nanoseconds.
#[derive(Clone, Debug)]
pub struct Distribution {
    /// How the values are spread, to three digits.
    histogram: Histogram<u64>,
    /// The exact sum, for the mean.
    sum_ns: u128,
    /// The least value, exactly; the greatest number there is if there are no values.
    min_ns: u64,
    /// The greatest value, exactly.
    max_ns: u64,
    /// The latest value.
    last_ns: u64,
}

impl Default for Distribution {
    fn default() -> Self {
        let histogram = Histogram::new(3).expect("three digits are within 0 to 5");
        Self { histogram, sum_ns: 0, min_ns: u64::MAX, max_ns: 0, last_ns: 0 }
    }
}

impl Distribution {
    /// Adds a value.
    pub fn record(&mut self, length: Nanos) {
        self.histogram.record(length.get()).expect("a histogram that resizes takes any value");
        self.sum_ns += u128::from(length.get());
        self.min_ns = self.min_ns.min(length.get());
        self.max_ns = self.max_ns.max(length.get());
        self.last_ns = length.get();
    }

    /// How many values there are.
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// The least value in seconds; `None` without values.
    pub fn min(&self) -> Option<f64> {
        (self.count() > 0).then_some(self.min_ns as f64 / 1e9)
    }

    /// The greatest value in seconds; `None` without values.
    pub fn max(&self) -> Option<f64> {
        (self.count() > 0).then_some(self.max_ns as f64 / 1e9)
    }

    /// The latest value in seconds; `None` without values.
    pub fn last(&self) -> Option<f64> {
        (self.count() > 0).then_some(self.last_ns as f64 / 1e9)
    }

    /// The mean in seconds; `None` without values.
    pub fn mean(&self) -> Option<f64> {
        (self.count() > 0).then(|| self.sum_ns as f64 / self.count() as f64 / 1e9)
    }

    /// The sum of all values, in seconds.
    pub fn sum(&self) -> f64 {
        self.sum_ns as f64 / 1e9
    }

    /// The standard deviation of all values, in seconds, from values to three digits; `None` without values.
    pub fn stddev(&self) -> Option<f64> {
        (self.count() > 0).then(|| self.histogram.stdev() / 1e9)
    }

    /// The value, in seconds, that `percent` of all values do not exceed; `None` without values.
    /// It is rounded up to three digits, though never to beyond what was recorded.
    pub fn percentile(&self, percent: f64) -> Option<f64> {
        let ns = self.histogram.value_at_quantile(percent / 100.0);
        (self.count() > 0).then(|| ns.clamp(self.min_ns, self.max_ns) as f64 / 1e9)
    }

    /// Every value in nanoseconds, rounded up as by [`Self::percentile`], and how many there are of it, in ascending
    /// order.
    pub fn counts(&self) -> impl Iterator<Item = (u64, u64)> {
        let within = |ns: u64| ns.clamp(self.min_ns, self.max_ns);
        let recorded = self.histogram.iter_recorded();
        recorded.map(move |value| (within(value.value_iterated_to()), value.count_at_value()))
    }

    fn add(&mut self, other: &Self) {
        self.histogram.add(&other.histogram).expect("histograms that resize can be added");
        self.sum_ns += other.sum_ns;
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        if other.count() > 0 {
            self.last_ns = other.last_ns;
        }
    }
}

/// A named span of the run, as it happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhaseSpan {
    /// When it began.
    pub begin: Time,
    /// When it ended, or the latest instant known.
    pub end: Time,
}

/// What each waiter of a limiter got within one phase, by its id.
#[derive(Clone, Debug, Default)]
pub struct Waiters {
    all: Vec<WaiterShare>,
}

/// What one waiter got within one phase.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct WaiterShare {
    /// Whether it had a transfer then.
    pub took_part: bool,
    /// Bytes that it was granted.
    pub granted: u64,
    /// The most rounds that it went without a grant. A round is as many grants to others as there
    /// are transfers.
    pub worst_rounds: f64,
}

impl Waiters {
    /// The share of a waiter, to change it.
    pub fn share(&mut self, id: u32) -> &mut WaiterShare {
        let index = id as usize;
        if index >= self.all.len() {
            self.all.resize(index + 1, WaiterShare::default());
        }
        &mut self.all[index]
    }

    /// Adds what happened in a later phase.
    fn add(&mut self, later: &Self) {
        for (id, later) in (0..).zip(&later.all) {
            let share = self.share(id);
            share.took_part |= later.took_part;
            share.granted += later.granted;
            share.worst_rounds = share.worst_rounds.max(later.worst_rounds);
        }
    }
}

/// All series of one arm.
#[derive(Clone, Debug, Default)]
pub struct ArmStore {
    /// Values that hold until they change.
    pub steps: BTreeMap<String, Steps>,
    /// Values summed up over sampling intervals.
    pub intervals: BTreeMap<&'static str, Intervals>,
    /// For each phase, one distribution for each [`PerRequest`].
    distributions: Vec<[Distribution; PerRequest::COUNT]>,
    /// For each phase, what each waiter got.
    waiters: Vec<Waiters>,
}

/// What a run recorded.
#[derive(Clone, Debug)]
pub struct Store {
    /// The phases that have begun.
    pub phases: Vec<PhaseSpan>,
    /// The arms, in file order.
    pub arms: Vec<ArmStore>,
}

impl Store {
    /// An empty store for `arms` arms.
    pub fn new(arms: usize) -> Self {
        Self { phases: Vec::new(), arms: vec![ArmStore::default(); arms] }
    }

    /// A phase begins at `now`, and the one before it ends.
    pub fn begin_phase(&mut self, now: Time) {
        self.phases.push(PhaseSpan { begin: now, end: now });
        for arm in &mut self.arms {
            arm.distributions.push(Default::default());
            arm.waiters.push(Waiters::default());
            arm.steps.values_mut().for_each(|steps| steps.starts.push(steps.points.len()));
            arm.intervals.values_mut().for_each(|all| all.starts.push(all.items.len()));
        }
    }

    /// The run has come as far as `now`.
    pub fn reach(&mut self, now: Time) {
        if let Some(phase) = self.phases.last_mut() {
            phase.end = now;
        }
    }

    /// The span of a phase, or of the whole run so far. `None` if it has not begun.
    pub fn span(&self, phase: Option<usize>) -> Option<PhaseSpan> {
        match phase {
            Some(index) => self.phases.get(index).cloned(),
            None => {
                Some(PhaseSpan { begin: self.phases.first()?.begin, end: self.phases.last()?.end })
            }
        }
    }
}

impl ArmStore {
    /// A value that holds from `now` on.
    pub fn step(&mut self, phases: usize, now: Time, name: &str, value: f64) {
        if let Some(steps) = self.steps.get_mut(name) {
            steps.points.push((now, value));
        } else {
            let steps = Steps { points: vec![(now, value)], starts: vec![0; phases] };
            self.steps.insert(name.to_owned(), steps);
        }
    }

    /// A sampling interval ended.
    pub fn interval(&mut self, phases: usize, name: &'static str, interval: Interval) {
        self.intervals
            .entry(name)
            .or_insert_with(|| Intervals { items: Vec::new(), starts: vec![0; phases] })
            .items
            .push(interval);
    }

    /// A request gave a value. Before the first phase nothing is recorded.
    pub fn record(&mut self, series: PerRequest, length: Nanos) {
        if let Some(phase) = self.distributions.last_mut() {
            phase[series as usize].record(length);
        }
    }

    /// The share of a waiter in the present phase, to change it. `None` before the first phase.
    pub fn waiter(&mut self, id: u32) -> Option<&mut WaiterShare> {
        Some(self.waiters.last_mut()?.share(id))
    }

    /// What those waiters got who had a transfer in a phase, or in the whole run, by their ids.
    pub fn waiters(&self, phase: Option<usize>) -> Vec<WaiterShare> {
        let mut all = Waiters::default();
        let within = |index: &usize| phase.is_none_or(|phase| phase == *index);
        let phases = self.waiters.iter().enumerate().filter(|(index, _)| within(index));
        phases.for_each(|(_, waiters)| all.add(waiters));
        all.all.into_iter().filter(|share| share.took_part).collect()
    }

    /// The distribution of a phase, or of the whole run.
    pub fn distribution(&self, series: PerRequest, phase: Option<usize>) -> Distribution {
        let mut all = Distribution::default();
        for (index, phases) in self.distributions.iter().enumerate() {
            if phase.is_none_or(|phase| phase == index) {
                all.add(&phases[series as usize]);
            }
        }
        all
    }
}

impl Steps {
    /// The value in force when the phase began, and the points within it.
    pub fn within(&self, phase: Option<usize>) -> (Option<f64>, &[(Time, f64)]) {
        let range = range(&self.starts, phase, self.points.len());
        let before = range.start.checked_sub(1).map(|index| self.points[index].1);
        (before, &self.points[range])
    }
}

impl Intervals {
    /// The intervals of a phase, or of the whole run.
    pub fn within(&self, phase: Option<usize>) -> &[Interval] {
        &self.items[range(&self.starts, phase, self.items.len())]
    }
}

fn range(starts: &[usize], phase: Option<usize>, len: usize) -> std::ops::Range<usize> {
    let Some(index) = phase else { return 0..len };
    let start = starts.get(index).copied().unwrap_or(len);
    start..starts.get(index + 1).copied().unwrap_or(len)
}
