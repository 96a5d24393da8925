//! The metrics of one arm's transfers.

use super::children::Children;
use super::names;
use prometheus::{Gauge, IntCounter};
use testbed_core::download::{Change, Reason};

#[derive(Debug)]
pub(super) struct TransferMetrics {
    active: Gauge,
    done: IntCounter,
    failed: IntCounter,
    low_speed: IntCounter,
    broken: IntCounter,
    tasks_done: IntCounter,
    lost: IntCounter,
}

impl TransferMetrics {
    pub(super) fn new(children: &Children, arm: &str) -> Self {
        let ends = |how| children.counter(&names::TRANSFER_ENDS, &[arm, how]);
        Self {
            active: children.gauge(&names::TRANSFERS, &[arm]),
            done: ends("done"),
            failed: ends("failed"),
            low_speed: ends(Reason::LowSpeed.name()),
            broken: ends(Reason::Broken.name()),
            tasks_done: children.counter(&names::TASKS_DONE, &[arm]),
            lost: children.counter(&names::LOST, &[arm]),
        }
    }

    pub(super) fn changed(&self, change: Change, active: u32) {
        self.active.set(active.into());
        match change {
            Change::Opened { .. } => {}
            Change::Aborted { reason, lost } => {
                self.aborted(reason).inc();
                self.lost.inc_by(lost);
            }
            Change::Done { task_done } => {
                self.done.inc();
                self.tasks_done.inc_by(task_done.into());
            }
            Change::Failed => self.failed.inc(),
        }
    }

    const fn aborted(&self, reason: Reason) -> &IntCounter {
        match reason {
            Reason::LowSpeed => &self.low_speed,
            Reason::Broken => &self.broken,
        }
    }
}
