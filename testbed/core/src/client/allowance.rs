//! Allowances: how many retries there may be among all requests of an arm, so that they cannot keep a
//! backend overloaded that would recover without them.

mod budget;
mod quota;
mod throttle;

pub(super) use budget::UnderWay;
pub use budget::{ActiveBudget, Budget, Counted, RecentBudget};
pub use quota::Quota;
pub use throttle::Throttle;

use crate::request::{Arrival, Outcome};
use crate::time::Time;

/// The allowances of an arm; a retry needs the leave of each that there is.
#[derive(Debug, Default)]
pub(super) struct Allowances {
    budget: Option<budget::Running>,
    quota: Option<quota::Running>,
    throttle: Option<throttle::Running>,
}

impl Allowances {
    pub(super) fn new(
        budget: Option<Budget>,
        quota: Option<Quota>,
        throttle: Option<Throttle>,
    ) -> Self {
        Self {
            budget: budget.map(budget::Running::new),
            quota: quota.map(quota::Running::new),
            throttle: throttle.map(throttle::Running::new),
        }
    }

    /// An attempt ended.
    pub(super) fn on_end(&mut self, now: Time, arrival: &Arrival, outcome: Outcome) {
        if let Some(budget) = &mut self.budget {
            budget.on_end(now, arrival);
        }
        if let Some(quota) = &mut self.quota {
            quota.on_end(arrival.id, outcome);
        }
        if let Some(throttle) = &mut self.throttle {
            throttle.on_end(outcome);
        }
    }

    /// Takes leave for a retry of a request, the last attempt of which ended so; whether there is any.
    pub(super) fn take(
        &mut self,
        now: Time,
        arrival: &Arrival,
        outcome: Outcome,
        under_way: UnderWay,
    ) -> bool {
        let budget = self.budget.as_mut().is_none_or(|budget| budget.has_one(now, under_way));
        let quota = self.quota.as_ref().is_none_or(|quota| quota.has(outcome));
        let throttle = self.throttle.as_ref().is_none_or(throttle::Running::is_open);
        let leave = budget && quota && throttle;
        if leave {
            if let Some(budget) = &mut self.budget {
                budget.take_one(now);
            }
            if let Some(quota) = &mut self.quota {
                quota.take(arrival.id, outcome);
            }
        }
        leave
    }

    /// A retry's back-off is over.
    pub(super) fn on_retry(&mut self, arrival: &Arrival) {
        if let Some(budget) = &mut self.budget {
            budget.on_retry(arrival.id);
        }
    }

    /// A request is over, its last attempt sent or not.
    pub(super) fn forget(&mut self, arrival: &Arrival) {
        if let Some(budget) = &mut self.budget {
            budget.forget(arrival.id);
        }
        if let Some(quota) = &mut self.quota {
            quota.forget(arrival.id);
        }
    }
}
