//! `htb`: a hierarchical token bucket of two levels. A task has what it is assured, and borrows what the
//! others leave.
//!
//! Source: Linux's HTB (Devera, 2002; `net/sched/sch_htb.c`), its law for one parent and its leaves.
//! The parent is the global bucket, a leaf a task; the task's bucket, if there is one, is its ceiling.
//!
//! ```text
//! a leaf is assured      while its own bucket, at its assured rate, is not in debt
//!           borrows      while that is in debt, and its ceiling has the cost
//!           is held back while its ceiling has not
//! next           those assured go before those that borrow, among each other by deficit round robin
//! cost           the parent and the ceiling always; the leaf's own bucket if it was assured
//! ```
//!
//! Worked numbers: demands of 10, 50 and 200 B/s under 100 B/s. With nothing assured they get 10, 45 and
//! 45: what the first leaves is shared alike (max-min). With 60 B/s assured to the third: 10, 15 and
//! 75, since 100 - 60 - 10 = 30 are left to borrow in turns of equal bytes, and it borrows as well.
//!
//! Nobody borrows beyond the parent: no grant puts it into debt. So what is assured must not add up to
//! more than the parent's rate; in Linux it may, and then the parent is overdrawn. Linux lends in
//! proportion to a quantum that is a tenth of the assured rate, here all have the same `quantum`.
//!
//! An own bucket holds a second's worth, so a leaf that was idle is assured a burst of that. As with
//! `drr`, a leaf with a single waiter has one grant a turn, whatever its size.

mod running;

pub use running::Htb;

use super::quantity::{ByteRate, Bytes};
use super::{Guarantees, Invalid, Level, LevelsConfig, Policy};
use crate::rng::Streams;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of `htb`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The limits: `global` is the parent, `task` the ceiling of a leaf.
    pub levels: LevelsConfig,
    /// What each task is assured, by its number from 0; at most 1000, and all together no more than the
    /// global rate. Those beyond the list only borrow.
    #[serde(default)]
    #[schemars(length(max = 1000))]
    pub assured: Vec<ByteRate>,
    /// Bytes that a task may use in its turn, 1 or more; best no less than the largest cost.
    #[serde(default = "quantum")]
    pub quantum: Bytes,
}

const fn quantum() -> Bytes {
    Bytes::from_kib(64)
}

impl Policy for Config {
    type Limiter = Htb;
    const ABOUT: &'static str = "a rate assured to each task, and the rest to borrow (Linux HTB)";

    fn over(levels: &LevelsConfig) -> Self {
        Self { levels: levels.clone(), assured: Vec::new(), quantum: quantum() }
    }

    fn levels(&self) -> Option<&LevelsConfig> {
        Some(&self.levels)
    }

    fn build(&self, streams: &Streams) -> Htb {
        Htb::new(self, streams)
    }

    fn guarantees(&self) -> Guarantees {
        Guarantees { quotes: false, order: false, rate: true }
    }

    fn invalid(&self) -> Vec<Invalid> {
        let assured: u128 = self.assured.iter().map(|rate| u128::from(rate.get())).sum();
        let parent = self.levels.bucket(Level::Global).map_or(0, |bucket| bucket.rate.get());
        let mut invalid = Vec::new();
        let mut refuse = |wrong: bool, field, message: String| {
            if wrong {
                invalid.push(Invalid { field, message });
            }
        };
        let orphan = "nobody to borrow from; give a global limit, or use drr".to_owned();
        refuse(parent == 0, "levels", orphan);
        let over = format!("{assured} B/s are assured of {parent} B/s; no more than all can be");
        refuse(parent > 0 && assured > u128::from(parent), "assured", over);
        let cure = "a quantum of 0B serves nobody; write the largest cost, such as 64KiB";
        refuse(self.quantum.get() == 0, "quantum", cure.to_owned());
        invalid
    }
}

#[cfg(test)]
mod tests;
