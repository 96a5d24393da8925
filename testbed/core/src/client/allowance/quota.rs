//! A retry quota: tokens that retries cost and successes bring back, as in the AWS SDKs' standard mode
//! (`retry_quota`, `RetryTokenBucket`).

use crate::request::Outcome;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The quota's settings, in tokens; the defaults are those of the SDKs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Quota {
    /// What there is at first, and at most, 1 or more.
    #[schemars(range(min = 1))]
    pub capacity: u32,
    /// What a retry costs, 1 or more.
    #[schemars(range(min = 1))]
    pub cost: u32,
    /// What a retry costs after a timeout, 1 or more.
    #[schemars(range(min = 1))]
    pub timeout_cost: u32,
    /// What a success at the first attempt brings. A success after retries brings what the last of
    /// them cost.
    pub refund: u32,
}

impl Default for Quota {
    fn default() -> Self {
        Self { capacity: 500, cost: 5, timeout_cost: 10, refund: 1 }
    }
}

/// The quota at work.
#[derive(Debug)]
pub(super) struct Running {
    config: Quota,
    tokens: u32,
    /// What the last retry of each request cost that is being tried again.
    spent: BTreeMap<u64, u32>,
}

impl Running {
    pub(super) const fn new(config: Quota) -> Self {
        Self { tokens: config.capacity, config, spent: BTreeMap::new() }
    }

    fn cost(&self, outcome: Outcome) -> u32 {
        if outcome == Outcome::Timeout { self.config.timeout_cost } else { self.config.cost }
    }

    pub(super) fn on_end(&mut self, id: u64, outcome: Outcome) {
        let spent = self.spent.remove(&id);
        if outcome == Outcome::Success {
            let back = spent.unwrap_or(self.config.refund);
            self.tokens = self.tokens.saturating_add(back).min(self.config.capacity);
        }
    }

    pub(super) fn has(&self, outcome: Outcome) -> bool {
        self.tokens >= self.cost(outcome)
    }

    pub(super) fn take(&mut self, id: u64, outcome: Outcome) {
        let cost = self.cost(outcome);
        self.tokens = self.tokens.saturating_sub(cost);
        self.spent.insert(id, cost);
    }

    pub(super) fn forget(&mut self, id: u64) {
        self.spent.remove(&id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Outcome::{Error, Success, Timeout};

    #[test]
    fn a_hundred_retries_and_then_one_for_each_five_clean_successes() {
        let mut quota = Running::new(Quota::default());
        let allowed =
            (0..200).filter(|id| quota.has(Error).then(|| quota.take(*id, Error)).is_some());
        assert_eq!(allowed.count(), 100, "500 / 5");
        for id in 1000..1004 {
            quota.on_end(id, Success);
            assert!(!quota.has(Error), "{} of 5 tokens", quota.tokens);
        }
        quota.on_end(1004, Success);
        assert!(quota.has(Error) && !quota.has(Timeout), "5 tokens, and 10 for a timeout");
    }

    #[test]
    fn a_retry_that_succeeds_brings_back_what_it_cost_and_no_more_than_there_is_room_for() {
        let mut quota = Running::new(Quota::default());
        quota.take(1, Timeout);
        quota.take(2, Error);
        assert_eq!(quota.tokens, 485);
        quota.on_end(2, Error);
        quota.on_end(1, Success);
        assert_eq!((quota.tokens, quota.spent.len()), (495, 0), "what failed is not given back");
        (0..9).for_each(|id| quota.on_end(id, Success));
        assert_eq!(quota.tokens, 500);
    }
}
