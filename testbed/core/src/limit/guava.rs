//! `guava`: pay afterwards. Who asks goes as soon as those before him have paid, whatever he asks
//! for; the next waits for it.
//!
//! The law of `SmoothBursty` in Guava's `RateLimiter` (`SmoothRateLimiter.java`), whose
//! `maxBurstSeconds` is 1. It saves permits while it is idle, and otherwise pushes the instant at which
//! the next may go:
//!
//! ```text
//! at an ask, if now > next_free:  stored = min(capacity, stored + rate * (now - next_free)),
//!                                 next_free = now
//! goes at next_free;  then  spent = min(n, stored),  stored -= spent,
//!                           next_free += ceil((n - spent) / rate)
//! ```
//!
//! Worked numbers, at 1 B/s and nothing stored: an ask for 100 B at 0 s goes at once, one for 1 B at 0 s
//! goes at 100 s, the next at 101 s. After 4 s of idleness, of which it keeps one, two more go at once
//! and the third a second later: the rate is not a bound of any window.
//!
//! Guava counts microseconds in floating point; here they are whole nanoseconds, and what rounding up
//! gives away is stored, so nothing drifts. Guava begins with nothing stored: write `initial: 0B`.
//! Its `acquire` cannot be given up, so what was reserved stays reserved. Another rate moves nobody:
//! sleepers keep their instants, and the first to ask then still pays for the one before at the old
//! rate. What is stored keeps its share of the capacity, unless the file gives a capacity, which stays.

mod bursty;

pub use bursty::Bursty;

use super::lateness::Lateness;
use super::reservation::Reservation;
use super::{Guarantees, Invalid, Level, LevelsConfig, Policy};
use crate::bucket::BucketConfig;
use crate::limit::quantity::ByteRate;
use crate::rng::Streams;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of `guava`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The limit: `global` and no other. The capacity is what idle time saves at most.
    pub levels: LevelsConfig,
    /// How late timers fire.
    #[serde(default)]
    pub lateness: Lateness,
}

impl Policy for Config {
    type Limiter = Reservation;
    const ABOUT: &'static str =
        "Guava's SmoothBursty: who asks goes once those before have paid, and pays afterwards";

    fn over(levels: &LevelsConfig) -> Self {
        Self { levels: levels.as_one(), lateness: Lateness::default() }
    }

    fn levels(&self) -> Option<&LevelsConfig> {
        Some(&self.levels)
    }

    fn build(&self, streams: &Streams) -> Reservation {
        let without_limit = BucketConfig::new(ByteRate::MAX);
        let bursty = Bursty::new(self.levels.global.as_ref().unwrap_or(&without_limit));
        Reservation::of_guava(bursty, &self.lateness, streams)
    }

    fn guarantees(&self) -> Guarantees {
        let on_time = self.lateness == Lateness::None;
        Guarantees { quotes: on_time, order: on_time, rate: false }
    }

    fn hangs(&self, _: u64) -> Option<Level> {
        None
    }

    fn invalid(&self) -> Vec<Invalid> {
        let mut invalid = self.levels.invalid_as_one("guava");
        invalid.extend(self.lateness.invalid());
        invalid
    }
}

#[cfg(test)]
mod tests;
