//! The metrics of single waiters. Only the first have series of their own: with one for each of
//! thousands of segments, a database would hold little else.

use super::children::Children;
use super::names;
use crate::watch::waits::waiter_name;
use prometheus::{Counter, Gauge, IntCounter};
use testbed_core::limit::Waiter;
use testbed_core::time::Nanos;

/// So many waiters of one arm, those that ask first, are shown under their own names.
pub(crate) const MAX_NAMED: usize = 64;
/// Under this name all further ones are added up.
const OTHER: &str = "other";

#[derive(Debug)]
pub(super) struct NamedWaiters {
    arm: String,
    children: Children,
    folded: Gauge,
    /// One row for each waiter that has a name, then one for all others.
    rows: Vec<WaiterMetrics>,
    /// The row of each waiter that has asked, by its id.
    row_of: Vec<Option<usize>>,
}

#[derive(Debug)]
struct WaiterMetrics {
    waited: Counter,
    decisions: IntCounter,
    granted: IntCounter,
    last_wait: Gauge,
}

impl NamedWaiters {
    pub(super) fn new(children: &Children, arm: &str) -> Self {
        Self {
            arm: arm.to_owned(),
            children: children.clone(),
            folded: children.gauge(&names::WAITERS_FOLDED, &[arm]),
            rows: Vec::new(),
            row_of: Vec::new(),
        }
    }

    /// The first to ask are those who are named.
    pub(super) fn asked(&mut self, waiter: Waiter) {
        self.row(waiter);
    }

    /// A wait was granted so many bytes, none if it was cancelled.
    pub(super) fn decided(&mut self, waiter: Waiter, wait: Nanos, granted: u64) {
        let row = self.row(waiter);
        row.waited.inc_by(wait.as_secs_f64());
        row.decisions.inc();
        row.granted.inc_by(granted);
        row.last_wait.set(wait.as_secs_f64());
    }

    fn row(&mut self, waiter: Waiter) -> &WaiterMetrics {
        let id = waiter.id as usize;
        if id >= self.row_of.len() {
            self.row_of.resize(id + 1, None);
        }
        let row = self.row_of[id].unwrap_or_else(|| self.place(waiter));
        self.row_of[id] = Some(row);
        &self.rows[row]
    }

    /// The row for a waiter that has not been seen before.
    fn place(&mut self, waiter: Waiter) -> usize {
        let named = self.rows.len() < MAX_NAMED;
        let row = self.rows.len().min(MAX_NAMED);
        if row == self.rows.len() {
            let name = if named { waiter_name(waiter) } else { OTHER.to_owned() };
            self.rows.push(WaiterMetrics::new(&self.children, &self.arm, &name));
        }
        if !named {
            self.folded.inc();
        }
        row
    }
}

impl WaiterMetrics {
    fn new(children: &Children, arm: &str, waiter: &str) -> Self {
        Self {
            waited: children.sum(&names::WAITER_WAIT, &[arm, waiter]),
            decisions: children.counter(&names::WAITER_DECISIONS, &[arm, waiter]),
            granted: children.counter(&names::WAITER_GRANTED, &[arm, waiter]),
            last_wait: children.gauge(&names::WAITER_LAST_WAIT, &[arm, waiter]),
        }
    }
}
