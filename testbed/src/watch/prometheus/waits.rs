//! The metrics of one arm's waits for tokens.

use super::children::Children;
use super::conservation::Asks;
use super::named::NamedWaiters;
use super::names;
use super::together::Joint;
use crate::watch::progress::{Progress, WaitsUnderWay};
use prometheus::{Gauge, Histogram, IntCounter};
use testbed_core::download::Change;
use testbed_core::limit::Waiter;
use testbed_core::time::{Nanos, Time};
use testbed_core::wait::{Wait, WaitEnd};

/// Waits under way whose ages are shown.
const RANKS: usize = 10;

#[derive(Debug)]
pub(super) struct WaitMetrics {
    asks: Joint<Asks>,
    wait: Histogram,
    overtakes: IntCounter,
    granted_bytes: IntCounter,
    named: NamedWaiters,
    under_way: WaitsUnderWay,
    progress: Progress,
    zero_progress: Gauge,
    oldest: Gauge,
    /// From the oldest on. A rank without a wait shows 0, so that its line comes down.
    ages: [Gauge; RANKS],
}

/// Those around a wait that ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Crowd {
    /// Waits that its grant overtook.
    pub(super) overtook: u32,
    /// Asks that still wait.
    pub(super) waiting: u32,
    /// Transfers at work or waiting.
    pub(super) active: u32,
}

impl WaitMetrics {
    pub(super) fn new(children: &Children, arm: &str) -> Self {
        let age = |rank| children.gauge(&names::WAITER_AGE, &[arm, &format!("{:02}", rank + 1)]);
        Self {
            asks: Asks::joint(children, arm),
            wait: children.histogram(&names::WAIT, &[arm]),
            overtakes: children.counter(&names::OVERTAKES, &[arm]),
            granted_bytes: children.counter(&names::GRANTED, &[arm]),
            named: NamedWaiters::new(children, arm),
            under_way: WaitsUnderWay::default(),
            progress: Progress::default(),
            zero_progress: children.gauge(&names::ZERO_PROGRESS, &[arm]),
            oldest: children.gauge(&names::OLDEST_AGE, &[arm]),
            ages: std::array::from_fn(age),
        }
    }

    pub(super) fn asked(&mut self, wait: &Wait, waiting: u32) {
        self.asks.change(|asks| {
            asks.asks += 1;
            asks.waiting = waiting;
        });
        self.named.asked(wait.waiter);
        self.under_way.begin(wait);
    }

    pub(super) fn ended(&mut self, now: Time, wait: &Wait, end: WaitEnd, crowd: Crowd) {
        self.asks.change(|asks| {
            asks.ended(end);
            asks.waiting = crowd.waiting;
        });
        self.overtakes.inc_by(crowd.overtook.into());
        self.under_way.end(wait);
        match end {
            WaitEnd::Granted => {
                self.progress.grant(wait.waiter, crowd.active);
                self.granted_bytes.inc_by(wait.cost);
                self.decided(now, wait, wait.cost);
            }
            WaitEnd::Cancelled => self.decided(now, wait, 0),
            // What the end of the run cut off would have lasted longer: it is no length of a wait.
            WaitEnd::CutOff => {}
        }
    }

    pub(super) fn transfer(&mut self, waiter: Waiter, change: Change) {
        self.progress.transfer(waiter, change);
    }

    fn decided(&mut self, now: Time, wait: &Wait, granted: u64) {
        let lasted = now.since(wait.asked_at);
        self.wait.observe(lasted.as_secs_f64());
        self.named.decided(wait.waiter, lasted, granted);
    }

    /// A sampling instant.
    pub(super) fn sample(&self, now: Time) {
        let ages = self.under_way.ages(now).chain(std::iter::repeat(Nanos::ZERO));
        for (gauge, age) in self.ages.iter().zip(ages) {
            gauge.set(age.as_secs_f64());
        }
        self.oldest.set(self.ages[0].get());
        self.zero_progress.set(self.progress.zero_progress() as f64);
    }
}
