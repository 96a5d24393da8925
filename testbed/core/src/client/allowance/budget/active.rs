//! A retry budget of what is active, as in Envoy (`retry_budget`).
//!
//! Worked: of 20 %, with 3 at least, 25 requests under way leave 5 retries, and 2 leave 3.

use super::UnderWay;
use crate::quantity::Share;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// What rounding may take from a whole number of retries.
const ROUNDING: f64 = 1e-9;

/// How many retries there may be at a time: `active` of the attempts that wait for admission or are
/// in flight, and `at_least` whatever those are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ActiveBudget {
    /// Retries for each attempt that is active, retries among them.
    pub active: Share,
    /// Retries that there may be at a time in any case.
    #[serde(default = "at_least")]
    pub at_least: u32,
    /// Which retries count.
    #[serde(default)]
    pub counts: Counted,
}

/// Which retries a budget counts, as retries and as active.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Counted {
    /// From the moment that they are decided on, back-off included.
    #[default]
    Scheduled,
    /// A mutation found in the wild: from the end of their back-off on. Of many that fail at the same
    /// time none counts yet, so all are tried again.
    Running,
}

/// The `min_retry_concurrency` of Envoy.
const fn at_least() -> u32 {
    3
}

/// The budget at work.
#[derive(Debug)]
pub(in crate::client::allowance) struct Running {
    config: ActiveBudget,
    /// Requests that are being tried again, their back-off being over.
    running: BTreeSet<u64>,
}

impl Running {
    pub(super) const fn new(config: ActiveBudget) -> Self {
        Self { config, running: BTreeSet::new() }
    }

    /// A retry's back-off is over.
    pub(super) fn on_retry(&mut self, id: u64) {
        self.running.insert(id);
    }

    /// A retry has ended, or there will be none.
    pub(super) fn on_end(&mut self, id: u64) {
        self.running.remove(&id);
    }

    pub(super) fn has_one(&self, UnderWay { attempts, scheduled }: UnderWay) -> bool {
        let scheduled = if self.config.counts == Counted::Scheduled { scheduled } else { 0 };
        let retries = self.running.len() as u64 + scheduled;
        let share = self.config.active.get() * (attempts + scheduled) as f64;
        retries as f64 + 1.0 <= share.max(f64::from(self.config.at_least)) + ROUNDING
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(counts: Counted) -> Running {
        Running::new(ActiveBudget { active: Share::percent(20), at_least: 3, counts })
    }

    #[test]
    fn a_share_of_what_is_active_and_three_in_any_case() {
        use Counted::{Running, Scheduled};
        // which count, running, attempts, scheduled -> whether there may be one more
        for (counts, running, attempts, scheduled, leave) in [
            (Scheduled, 4, 25, 0, true),
            (Scheduled, 5, 25, 0, false),
            (Scheduled, 0, 2, 2, true),
            (Scheduled, 0, 2, 3, false),
            (Scheduled, 2, 2, 1, false),
            // 20 % of 1000: those that are scheduled are active too.
            (Scheduled, 0, 801, 199, true),
            (Scheduled, 0, 800, 200, false),
            (Running, 0, 1, 999, true),
            (Running, 3, 2, 0, false),
        ] {
            let mut budget = budget(counts);
            (0..running).for_each(|id| budget.on_retry(id));
            let row = (counts, running, attempts, scheduled);
            assert_eq!(budget.has_one(UnderWay { attempts, scheduled }), leave, "{row:?}");
        }
    }

    #[test]
    fn a_retry_counts_until_it_ends() {
        let mut budget = budget(Counted::Running);
        let under_way = UnderWay { attempts: 3, scheduled: 0 };
        (0..3).for_each(|id| budget.on_retry(id));
        assert!(!budget.has_one(under_way));
        // The end of an attempt may be told twice: once for it, and once for its request.
        [1, 1].into_iter().for_each(|id| budget.on_end(id));
        assert!(budget.has_one(under_way));
        budget.on_retry(1);
        assert!(!budget.has_one(under_way));
    }
}
