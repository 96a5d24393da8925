//! Where values go: into the store, and as rows into `series.csv`.

use crate::watch::series::{PerRequest, Sampled};
use crate::watch::store::{ArmStore, Interval, Store};
use std::io::{self, Write};
use testbed_core::time::{Nanos, Time};

/// The store and the file, side by side.
pub(super) struct Sheet<W: Write> {
    pub(super) store: Store,
    names: Vec<String>,
    out: W,
    failure: Option<io::Error>,
}

impl<W: Write> Sheet<W> {
    /// An empty sheet for these arms; the header is written.
    pub(super) fn new(names: Vec<String>, mut out: W) -> Self {
        let failure = out.write_all(b"t_ns,arm,series,value\n").err();
        Self { store: Store::new(names.len()), names, out, failure }
    }

    /// What was recorded, or the first failure to write a row.
    pub(super) fn finish(mut self) -> io::Result<Store> {
        self.out.flush()?;
        self.failure.map_or(Ok(self.store), Err)
    }

    pub(super) fn flush(&mut self) {
        let flushed = self.out.flush();
        self.failure = self.failure.take().or_else(|| flushed.err());
    }

    pub(super) fn arm(&mut self, arm: usize) -> &mut ArmStore {
        &mut self.store.arms[arm]
    }

    /// A row that is not kept in the store.
    pub(super) fn row(&mut self, now: Time, arm: usize, series: &str, value: f64) {
        let name = &self.names[arm];
        let written = writeln!(self.out, "{},{name},{series},{value}", now.as_nanos());
        self.failure = self.failure.take().or_else(|| written.err());
    }

    /// A value that holds from now on.
    pub(super) fn step(&mut self, now: Time, arm: usize, series: &str, value: f64) {
        self.store.arms[arm].step(self.store.phases.len(), now, series, value);
        self.row(now, arm, series, value);
    }

    /// The same, unless it is the value that holds already.
    pub(super) fn change(&mut self, now: Time, arm: usize, series: &str, value: f64) {
        let points = self.store.arms[arm].steps.get(series).map(|steps| &steps.points);
        let last = points.and_then(|points| points.last()).map(|(_, value)| *value);
        if last != Some(value) {
            self.step(now, arm, series, value);
        }
    }

    /// What happened within a sampling interval.
    pub(super) fn interval(&mut self, arm: usize, series: Sampled, interval: Interval) {
        let name = series.info().name;
        self.store.arms[arm].interval(self.store.phases.len(), name, interval);
        self.row(interval.end, arm, name, interval.mean);
    }

    /// One value of a distribution.
    pub(super) fn record(&mut self, arm: usize, series: PerRequest, length: Nanos) {
        self.store.arms[arm].record(series, length);
    }
}
