//! A retry budget: a share of the requests of the last seconds, as in Finagle (`RetryBudget`).

use crate::quantity::{Rate, Share};
use crate::time::{Nanos, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parts of the window, after each of which the oldest is forgotten; Finagle has as many.
const PARTS: u64 = 10;
/// What rounding may take from a whole number of retries.
const ROUNDING: f64 = 1e-9;

/// How many retries there may be: within any `over`, `ratio` of the requests in it, and `at_least`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecentBudget {
    /// Retries for each request. A request counts when its first attempt ends.
    pub ratio: Share,
    /// Retries that there may be on top, whatever the requests; none, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least: Option<Rate>,
    /// The window, above 0s. It moves on by a tenth at a time.
    #[serde(default = "over")]
    pub over: Nanos,
}

const fn over() -> Nanos {
    Nanos::from_secs(10)
}

/// The budget at work.
#[derive(Debug)]
pub(in crate::client::allowance) struct Running {
    config: RecentBudget,
    /// Requests and retries of each part, the part number `n` at `n % PARTS`.
    parts: [(u64, u64); PARTS as usize],
    part: u64,
}

impl Running {
    pub(super) const fn new(config: RecentBudget) -> Self {
        Self { config, parts: [(0, 0); PARTS as usize], part: 0 }
    }

    /// The part that is now, with what is too old forgotten.
    fn now(&mut self, now: Time) -> &mut (u64, u64) {
        let length = (self.config.over.get() / PARTS).max(1);
        let part = now.as_nanos() / length;
        for new in (self.part + 1..=part).rev().take(PARTS as usize) {
            self.parts[(new % PARTS) as usize] = (0, 0);
        }
        self.part = self.part.max(part);
        &mut self.parts[(self.part % PARTS) as usize]
    }

    pub(super) fn on_request(&mut self, now: Time) {
        self.now(now).0 += 1;
    }

    pub(super) fn has_one(&mut self, now: Time) -> bool {
        self.now(now);
        let sum = |(a, b): (u64, u64), part: &(u64, u64)| (a + part.0, b + part.1);
        let (requests, retries) = self.parts.iter().fold((0, 0), sum);
        let reserve = self.config.at_least.map_or(0.0, Rate::get) * self.config.over.as_secs_f64();
        let allowed = self.config.ratio.get() * requests as f64 + reserve;
        retries as f64 + 1.0 <= allowed + ROUNDING
    }

    pub(super) fn take_one(&mut self, now: Time) {
        self.now(now).1 += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO.after(Nanos::from_millis(ms))
    }

    /// How many retries there may be at that time.
    fn allowed(budget: &mut Running, ms: u64) -> u64 {
        let mut taken = 0;
        while budget.has_one(at(ms)) {
            budget.take_one(at(ms));
            taken += 1;
        }
        taken
    }

    #[test]
    fn a_share_of_the_requests_and_what_there_is_at_least_within_the_window() {
        let config = |at_least: Option<f64>| RecentBudget {
            ratio: Share::percent(20),
            at_least: at_least.and_then(Rate::per_second),
            over: Nanos::from_secs(10),
        };
        let mut budget = Running::new(config(None));
        (0..100).for_each(|n| budget.on_request(at(10 * n)));
        assert_eq!(allowed(&mut budget, 5_000), 20, "20 % of 100");
        assert_eq!(allowed(&mut budget, 9_999), 0, "spent");
        // The part of the requests, 0 s to 1 s, is over; that of the retries is not.
        (0..200).for_each(|_| budget.on_request(at(10_500)));
        assert_eq!(allowed(&mut budget, 10_500), 20, "20 % of 200, less the 20 of 5 s");
        assert_eq!(allowed(&mut budget, 15_500), 20, "those are forgotten");
        assert_eq!(allowed(&mut budget, 99_000), 0, "all is forgotten");
        let mut budget = Running::new(config(Some(10.0)));
        assert_eq!(allowed(&mut budget, 0), 100, "10/s for 10 s");
    }
}
