//! The metrics of one admission's queue.

use super::children::Children;
use super::names;
use prometheus::{Gauge, IntCounter};
use testbed_core::queue::Rejection;
use testbed_core::time::Nanos;

#[derive(Debug)]
pub(super) struct QueueMetrics {
    oldest: Gauge,
    looks: IntCounter,
    permits_lost: IntCounter,
    /// In the order of [`Rejection::QUEUED`].
    drops: [IntCounter; Rejection::QUEUED.len()],
}

impl QueueMetrics {
    pub(super) fn new(children: &Children, arm: &str) -> Self {
        let drops = |why: Rejection| children.counter(&names::QUEUE_DROPS, &[arm, why.name()]);
        Self {
            oldest: children.gauge(&names::OLDEST_AGE, &[arm]),
            looks: children.counter(&names::QUEUE_LOOKS, &[arm]),
            permits_lost: children.counter(&names::PERMITS_LOST, &[arm]),
            drops: Rejection::QUEUED.map(drops),
        }
    }

    pub(super) fn rejected(&self, why: Rejection) {
        let of_this = Rejection::QUEUED.into_iter().zip(&self.drops).filter(|(of, _)| *of == why);
        of_this.for_each(|(_, drops)| drops.inc());
    }

    pub(super) fn looked(&self, oldest: Nanos, looks: u64, lost: u32) {
        self.oldest.set(oldest.as_secs_f64());
        self.looks.inc_by(looks.saturating_sub(self.looks.get()));
        self.permits_lost.inc_by(u64::from(lost).saturating_sub(self.permits_lost.get()));
    }
}
