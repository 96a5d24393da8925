//! `drr`: deficit round robin by task, so that shares are fair in bytes, not in grants.
//!
//! Source: Shreedhar and Varghese, "Efficient fair queueing using deficit round robin" (SIGCOMM
//! 1995); the shape is that of Linux's `net/sched/sch_drr.c`. Tasks with waiters stand in a ring:
//!
//! ```text
//! a task's turn comes:      deficit += quantum
//! its first waiter fits:    cost <= deficit: it goes when its tokens are there, deficit -= cost
//! it does not:              the turn passes on, the deficit stays
//! nobody of it waits:       it leaves the ring, its deficit is lost
//! ```
//!
//! Worked numbers: with a quantum of 64 KiB, a task whose segments ask for 64 KiB at a time and one
//! whose segments ask for 16 KiB get half of the rate each: one grant of the first for four of the
//! second. Both need a second segment that waits when the first goes: a task that leaves the ring
//! loses its turn, so a lone segment gets one grant a turn, whatever its size.
//!
//! A task whose own bucket or whose queue's has its tokens later than the global one leaves the ring
//! until then, so that it blocks nobody else. It comes back with a deficit of one cost at most.
//!
//! A quantum below the costs is fair too, but takes cost / quantum turns of the ring for a grant.

mod running;

pub use running::Drr;

use super::quantity::Bytes;
use super::{Guarantees, Invalid, LevelsConfig, Policy};
use crate::rng::Streams;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of `drr`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The limits.
    pub levels: LevelsConfig,
    /// Bytes that a task may use in its turn, 1 or more; best no less than the largest cost.
    #[serde(default = "quantum")]
    pub quantum: Bytes,
}

const fn quantum() -> Bytes {
    Bytes::from_kib(64)
}

impl Policy for Config {
    type Limiter = Drr;
    const ABOUT: &'static str = "deficit round robin by task: fair in bytes";

    fn over(levels: &LevelsConfig) -> Self {
        Self { levels: levels.clone(), quantum: quantum() }
    }

    fn levels(&self) -> Option<&LevelsConfig> {
        Some(&self.levels)
    }

    fn build(&self, streams: &Streams) -> Drr {
        Drr::new(self, streams)
    }

    fn guarantees(&self) -> Guarantees {
        Guarantees { quotes: false, order: false, rate: true }
    }

    fn invalid(&self) -> Vec<Invalid> {
        let message = "a quantum of 0B serves nobody; write the largest cost, such as 64KiB".into();
        match self.quantum.get() {
            0 => vec![Invalid { field: "quantum", message }],
            _ => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests;
