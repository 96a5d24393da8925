//! `leaky_bucket`: tokens in lumps, and one waiter, the *core*, who sleeps for all of them.
//!
//! The law of the crate `leaky-bucket` 1.1 (`src/lib.rs`), which cannot run here itself because it
//! sleeps on tokio's clock; `tests/limiters_leaky.rs` holds the grants of both against each other,
//! one by one. A live run can have the crate in place of the law ([`Live::Crate`]).
//!
//! ```text
//! a lump:          balance = min(capacity, balance + rate * interval),  each interval
//! to the line:     the head takes what is there, in instalments; when it has all, the next
//! who asks:        takes what is left; then becomes the core if there is none, else stands last
//! the core's wake: a lump to the line; if it has all itself, it goes, and the last one is the next core
//!
//! fair: true       the core stands in the line: who becomes it by asking, at the head
//! fair: false      it does not, and takes what the line leaves; who asks takes a balance that is enough
//! ```
//!
//! Worked numbers: five ask for one token each at 0 ms, one comes each 100 ms. Fair, they go in the order
//! of the asks, at 100, 200, 300, 400 and 500 ms. Unfair, the first to ask sleeps for all and goes last, at
//! 500 ms, and if the others come back it never goes.
//!
//! Fair is not quite fair: a core that asks again at once, before the next one has woken, is the
//! core again and stands at the head. With a lump of one token it then has all of them.
//!
//! A lump comes when the core wakes, and the next a whole interval after that: each late wake is time
//! that brings nothing. A capacity below a lump loses the difference. A cost beyond the capacity pays in
//! instalments. Parts of a byte, which the crate has not, are kept for the next lump. Another rate,
//! which it has not either, counts from the next lump on if it is higher, and at once if it is lower.

mod lumps;
mod running;

pub use running::LeakyBucket;

use super::lateness::Lateness;
use super::{Guarantees, Invalid, Level, LevelsConfig, Policy};
use crate::rng::Streams;
use crate::time::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const NANOS_PER_MILLI: u64 = 1_000_000;
const NANOS_PER_SEC: u128 = 1_000_000_000;

/// Settings of `leaky_bucket`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The limit: `global` and no other.
    pub levels: LevelsConfig,
    /// From one lump to the next, in whole milliseconds, 1 or more.
    #[serde(default = "interval")]
    pub interval: Nanos,
    /// Whether the core has its turn in the line.
    #[serde(default = "yes")]
    pub fair: bool,
    /// How late the core's timer fires. tokio's: `constant: 1ms`, since the interval begins at a wake, which
    /// is past a whole millisecond, and a timer fires at the next one.
    #[serde(default)]
    pub lateness: Lateness,
    /// What a live run has of it. Virtual time has the law.
    #[serde(default)]
    pub live: Live,
}

/// What a live run has of a crate whose law is written down here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Live {
    /// The law, as in virtual time.
    #[default]
    Law,
    /// The crate itself, on tokio's own timers. A lump is whole bytes, and `lateness` is the machine's.
    Crate,
}

impl Config {
    /// What comes in each interval at the rate of the one bucket, if it is a whole number of bytes and
    /// above 0: the crate knows no parts.
    pub fn whole_lump(&self) -> Option<u64> {
        let parts = self.lump_parts();
        let whole = parts > 0 && parts.is_multiple_of(NANOS_PER_SEC);
        u64::try_from(parts / NANOS_PER_SEC).ok().filter(|_| whole)
    }

    /// What comes in each interval, in parts of a byte, of which there are [`NANOS_PER_SEC`].
    fn lump_parts(&self) -> u128 {
        let rate = self.levels.global.as_ref().map_or(0, |bucket| bucket.rate.get());
        u128::from(rate) * u128::from(self.interval.get())
    }
}

const fn interval() -> Nanos {
    Nanos::from_millis(100)
}

const fn yes() -> bool {
    true
}

impl Policy for Config {
    type Limiter = LeakyBucket;
    const ABOUT: &'static str = "the law of the crate leaky-bucket: tokens in lumps, one waiter sleeps for all; fair or not";

    fn over(levels: &LevelsConfig) -> Self {
        let (levels, lateness) = (levels.as_one(), Lateness::default());
        Self { levels, interval: interval(), fair: true, lateness, live: Live::Law }
    }

    fn levels(&self) -> Option<&LevelsConfig> {
        Some(&self.levels)
    }

    fn build(&self, streams: &Streams) -> LeakyBucket {
        LeakyBucket::new(self, streams)
    }

    fn guarantees(&self) -> Guarantees {
        Guarantees { quotes: false, order: false, rate: true }
    }

    fn lump(&self) -> u64 {
        u64::try_from(self.lump_parts().div_ceil(NANOS_PER_SEC)).unwrap_or(u64::MAX)
    }

    fn is_race(&self) -> bool {
        !self.fair
    }

    fn hangs(&self, _: u64) -> Option<Level> {
        None
    }

    fn invalid(&self) -> Vec<Invalid> {
        let mut invalid = self.levels.invalid_as_one("leaky_bucket");
        invalid.extend(self.lateness.invalid());
        let ns = self.interval.get();
        if ns == 0 || !ns.is_multiple_of(NANOS_PER_MILLI) {
            let message = "leaky_bucket counts whole milliseconds; write 1ms or more".to_owned();
            invalid.push(Invalid { field: "interval", message });
        }
        if self.live == Live::Crate && self.whole_lump().is_none() {
            let message = "the crate takes whole bytes, and the rate does not bring them in an interval; \
                           change the rate or the interval, or write `live: law`";
            invalid.push(Invalid { field: "live", message: message.to_owned() });
        }
        invalid
    }
}

#[cfg(test)]
mod tests;
