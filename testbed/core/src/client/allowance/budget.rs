//! Retry budgets: so many retries for so many requests, by either of two ways to count those.

mod active;
mod recent;

pub use active::{ActiveBudget, Counted};
pub use recent::RecentBudget;

use crate::control::Invalid;
use crate::request::Arrival;
use crate::time::{Nanos, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How many retries there may be: a share of the requests of the last seconds, or of those that are
/// under way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Budget {
    /// Of the last seconds.
    Recent(RecentBudget),
    /// Of those under way.
    Active(ActiveBudget),
}

impl Budget {
    /// What a file should not contain.
    pub(in crate::client) fn invalid(&self) -> Option<Invalid> {
        let endless = matches!(self, Self::Recent(RecentBudget { over: Nanos::ZERO, .. }));
        let message = "nothing happens within 0s; write 10s or so".to_owned();
        endless.then_some(Invalid { field: "retry/budget/over", message })
    }
}

/// What an arm's clients are about when a retry is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(in crate::client) struct UnderWay {
    /// Attempts that wait for admission or are in flight, the one that has just ended among them.
    pub(in crate::client) attempts: u64,
    /// Retries that wait out their back-off.
    pub(in crate::client) scheduled: u64,
}

/// The budget at work.
#[derive(Debug)]
pub(super) enum Running {
    Recent(recent::Running),
    Active(active::Running),
}

impl Running {
    pub(super) const fn new(config: Budget) -> Self {
        match config {
            Budget::Recent(config) => Self::Recent(recent::Running::new(config)),
            Budget::Active(config) => Self::Active(active::Running::new(config)),
        }
    }

    /// An attempt ended.
    pub(super) fn on_end(&mut self, now: Time, arrival: &Arrival) {
        match self {
            Self::Recent(recent) if arrival.attempt == 0 => recent.on_request(now),
            Self::Recent(_) => {}
            Self::Active(active) => active.on_end(arrival.id),
        }
    }

    /// A retry's back-off is over.
    pub(super) fn on_retry(&mut self, id: u64) {
        if let Self::Active(active) = self {
            active.on_retry(id);
        }
    }

    /// A request is over.
    pub(super) fn forget(&mut self, id: u64) {
        if let Self::Active(active) = self {
            active.on_end(id);
        }
    }

    pub(super) fn has_one(&mut self, now: Time, under_way: UnderWay) -> bool {
        match self {
            Self::Recent(recent) => recent.has_one(now),
            Self::Active(active) => active.has_one(under_way),
        }
    }

    pub(super) fn take_one(&mut self, now: Time) {
        if let Self::Recent(recent) = self {
            recent.take_one(now);
        }
    }
}
