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
//! `at_most` bounds what is quoted. Beyond it an ask is refused and nothing is taken, or it goes at the
//! bound with its debt made, as by client-go's `WithMaxWaitRateLimiter`: waits are short then, and the
//! rate is no longer kept.
//!
//! `arithmetic: go` is [Go's `x/time/rate`](go) to the nanosecond.

pub mod go;
mod running;

pub use running::Reservation;

use super::lateness::Lateness;
use super::{Guarantees, Invalid, Level, LevelsConfig, Policy};
use crate::rng::Streams;
use crate::time::Nanos;
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

/// What becomes of an ask whose wait would be beyond `at_most`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Beyond {
    /// It is refused, and takes nothing.
    #[default]
    Refuse,
    /// It goes when it has waited so long. Its tokens are taken all the same, so the debt grows.
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
    /// The longest wait that is quoted. Default: none is too long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<Nanos>,
    /// What becomes of an ask whose wait would be longer.
    #[serde(default, skip_serializing_if = "Beyond::is_refuse")]
    pub beyond: Beyond,
}

impl Beyond {
    /// Whether it is the default, which files need not say.
    const fn is_refuse(&self) -> bool {
        matches!(self, Self::Refuse)
    }
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
            at_most: None,
            beyond: Beyond::default(),
        }
    }

    fn levels(&self) -> Option<&LevelsConfig> {
        Some(&self.levels)
    }

    fn build(&self, streams: &Streams) -> Reservation {
        Reservation::new(self, streams)
    }

    fn guarantees(&self) -> Guarantees {
        let goes_early = self.at_most.is_some() && self.beyond == Beyond::Go;
        let rate = self.arithmetic == Arithmetic::Exact && !goes_early;
        Guarantees { quotes: self.lateness == Lateness::None, order: false, rate }
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
        if self.at_most.is_none() && self.beyond == Beyond::Go {
            let message = "there is nothing to be beyond of; write `at_most: 1m` or so".to_owned();
            invalid.push(Invalid { field: "beyond", message });
        }
        invalid
    }
}

#[cfg(test)]
mod tests;
