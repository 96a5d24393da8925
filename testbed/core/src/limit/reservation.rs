//! `reservation`: everybody is told his instant when he asks, and nobody can take it from him.
//!
//! The generic cell rate algorithm (ITU-T I.371, annex A) as a bucket that goes into debt: the
//! tokens are taken at the ask, and the waiter goes when its debt is paid off, without another look
//! at the bucket. It is the theoretical arrival time in other words:
//!
//! ```text
//! tokens -= n;   goes at now + ceil(-tokens / rate), or at once if tokens >= 0
//! ```
//!
//! Worked numbers: at 4 MiB/s an empty bucket sends the first asker of 16 KiB away until 3.90625
//! ms, the second until 7.8125 ms. A cost beyond the capacity just waits longer. Who gives up gives
//! his tokens back to whoever asks next; sleepers keep their instants. Without that refund every
//! cancelled wait is a ghost that uses the rate up. When a rate changes, debts stay and the rest of
//! each wait is stretched: `left * old / new`.
//!
//! `arithmetic: go` is [Go's `x/time/rate`](go) to the nanosecond.

pub mod go;
mod running;

pub use running::Reservation;

use super::lateness::Lateness;
use super::{Guarantees, Invalid, Level, LevelsConfig, Policy};
use crate::rng::Streams;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whose arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Arithmetic {
    /// Whole billionths of a byte.
    #[default]
    Exact,
    /// That of Go's `x/time/rate`: floating point; a cost beyond the capacity is refused; a cancel
    /// gives back what that library gives back. Knows the global level only.
    Go,
}

/// Settings of `reservation`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The limits.
    pub levels: LevelsConfig,
    /// Whose arithmetic.
    #[serde(default)]
    pub arithmetic: Arithmetic,
    /// Whether a cancelled wait gives its tokens back. Without, it stays as a ghost.
    #[serde(default = "yes")]
    pub refund: bool,
    /// How late timers fire.
    #[serde(default)]
    pub lateness: Lateness,
}

const fn yes() -> bool {
    true
}

impl Policy for Config {
    type Limiter = Reservation;
    const ABOUT: &'static str =
        "GCRA: everybody is told his instant when he asks, never recomputed; Go's x/time/rate";

    fn over(levels: &LevelsConfig) -> Self {
        Self {
            levels: levels.clone(),
            arithmetic: Arithmetic::default(),
            refund: true,
            lateness: Lateness::default(),
        }
    }

    fn levels(&self) -> Option<&LevelsConfig> {
        Some(&self.levels)
    }

    fn build(&self, streams: &Streams) -> Reservation {
        Reservation::new(self, streams)
    }

    fn guarantees(&self) -> Guarantees {
        let exact = self.arithmetic == Arithmetic::Exact;
        Guarantees { quotes: self.lateness == Lateness::None, order: false, rate: exact }
    }

    fn hangs(&self, _: u64) -> Option<Level> {
        None
    }

    fn invalid(&self) -> Vec<Invalid> {
        let mut invalid = self.lateness.invalid();
        let own = self.levels.queue.is_some() || self.levels.task.is_some();
        if self.arithmetic == Arithmetic::Go && (own || self.levels.global.is_none()) {
            let message =
                "Go's limiter has one bucket; give `global` and no other level".to_owned();
            invalid.push(Invalid { field: "arithmetic", message });
        }
        invalid
    }
}

#[cfg(test)]
mod tests;
