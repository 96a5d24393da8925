//! `governor`: the crate of that name, with waiters who do as its `until_n_ready`.
//!
//! The generic cell rate algorithm, one cell a byte, is the crate's own: `check_n` of governor 0.10,
//! which is told the time. A refusal reserves nothing, so every waiter sleeps for as long as it was
//! told and looks again, as under [`peek`](super::peek):
//!
//! ```text
//! t = floor(1 s / rate),  tau = (capacity - 1) * t
//! earliest = tat + (n - 1) * t - tau;   now >= earliest: go,  tat = max(tat, now) + n * t
//!                                       else: sleep until earliest, then look again
//! ```
//!
//! Worked numbers: 100 waiters for one byte each at 10 B/s, all at once: at each 100 ms all that are
//! left look and one goes, 100 + 99 + ... + 1 = 5050 looks for 100 grants. A queue needs 100.
//!
//! A byte takes whole nanoseconds, rounded down: at 4 MiB/s 238 instead of 238.42, so the crate grants
//! 0.18 % more than the rate, and 6 % more at 64 MiB/s (14 instead of 14.9). The crate cannot change
//! a rate: another rate is another limiter, full again, whom sleepers find when they wake.

use super::levels::Levels;
use super::quantity::ByteRate;
use super::sleepers::{Look, RaceConfig, Sleepers};
use super::{
    Ask, Counters, Grant, Guarantees, Invalid, Level, LevelsConfig, Limiter, Policy, Waiter,
};
use crate::bucket::BucketConfig;
use crate::rng::Streams;
use crate::time::Time;
use ::governor::clock::Clock;
use ::governor::nanos::Nanos;
use ::governor::state::{InMemoryState, NotKeyed};
use ::governor::{InsufficientCapacity, Quota, RateLimiter};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cell::Cell;
use std::num::NonZeroU32;

/// The highest rate, in bytes per second: a byte takes a nanosecond then, and the crate knows no
/// less.
const MAX_RATE: u64 = 1_000_000_000;

/// Settings of `governor`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The limit: `global` and no other. At most 1 GB/s and 4 GiB.
    pub levels: LevelsConfig,
    /// What decides the race of those who wait.
    #[serde(flatten)]
    pub race: RaceConfig,
}

impl Policy for Config {
    type Limiter = Governor;
    const ABOUT: &'static str =
        "the crate governor (GCRA): a refusal reserves nothing, every waiter looks again";

    fn over(levels: &LevelsConfig) -> Self {
        Self { levels: levels.as_one(), race: RaceConfig::default() }
    }

    fn levels(&self) -> Option<&LevelsConfig> {
        Some(&self.levels)
    }

    fn build(&self, streams: &Streams) -> Governor {
        let sleepers = Sleepers::new(&self.race, streams);
        let cells = self.levels.global.as_ref().map(Cells::new);
        Governor { sleepers, cells, levels: Levels::default() }
    }

    fn guarantees(&self) -> Guarantees {
        Guarantees::default()
    }

    fn is_race(&self) -> bool {
        true
    }

    /// It turns such a cost away.
    fn hangs(&self, _: u64) -> Option<Level> {
        None
    }

    fn invalid(&self) -> Vec<Invalid> {
        let mut invalid = self.levels.invalid_as_one("governor");
        invalid.extend(self.race.lateness.invalid());
        if let Some(bucket) = &self.levels.global {
            invalid.extend(beyond_the_crate(bucket));
        }
        invalid
    }
}

fn beyond_the_crate(bucket: &BucketConfig) -> Option<Invalid> {
    let rate = bucket.rate.get() > MAX_RATE;
    let capacity = bucket.capacity() > u64::from(u32::MAX);
    if rate {
        let message = "governor gives a byte 1 ns or more; write a rate of 1GB/s or less";
        return Some(Invalid { field: "rate", message: message.to_owned() });
    }
    let message = "governor counts 32 bits; write a capacity below 4GiB";
    capacity.then(|| Invalid { field: "capacity", message: message.to_owned() })
}

/// The crate's limiter, and what it begins with anew when the rate changes.
#[derive(Debug)]
struct Cells {
    limiter: RateLimiter<NotKeyed, InMemoryState, Told>,
    capacity: NonZeroU32,
}

/// A clock that is told the time.
#[derive(Debug)]
struct Told(Cell<Time>);

impl Clock for Told {
    type Instant = Nanos;

    fn now(&self) -> Nanos {
        Nanos::from(self.0.get().as_nanos())
    }
}

impl Cells {
    /// The crate's is full at the beginning: what is not there then is taken at once.
    fn new(bucket: &BucketConfig) -> Self {
        let capacity = clamped(bucket.capacity());
        let cells = Self { limiter: limiter(Time::ZERO, bucket.rate, capacity), capacity };
        // Less than the capacity, so neither answer is a refusal.
        let _: Result<Look, _> =
            cells.look(Time::ZERO, bucket.capacity().saturating_sub(bucket.initial()));
        cells
    }

    /// One turn of the loop of `until_n_ready`.
    fn look(&self, now: Time, cost: u64) -> Result<Look, InsufficientCapacity> {
        let Some(cells) = NonZeroU32::new(u32::try_from(cost).unwrap_or(u32::MAX)) else {
            return Ok(Ok(()));
        };
        self.limiter.clock().0.set(now);
        let checked = self.limiter.check_n(cells)?;
        Ok(checked.map_err(|until| Some(Time::from_nanos(until.earliest_possible().as_u64()))))
    }
}

fn limiter(
    now: Time,
    rate: ByteRate,
    capacity: NonZeroU32,
) -> RateLimiter<NotKeyed, InMemoryState, Told> {
    let quota = Quota::per_second(clamped(rate.get())).allow_burst(capacity);
    RateLimiter::direct_with_clock(quota, Told(Cell::new(now)))
}

/// As 32 bits above zero. What does not fit is [invalid](Policy::invalid).
fn clamped(bytes: u64) -> NonZeroU32 {
    NonZeroU32::new(u32::try_from(bytes).unwrap_or(u32::MAX)).unwrap_or(NonZeroU32::MIN)
}

/// The running policy.
#[derive(Debug)]
pub struct Governor {
    sleepers: Sleepers,
    /// `None` without a limit.
    cells: Option<Cells>,
    /// None: the crate keeps the tokens.
    levels: Levels,
}

impl Limiter for Governor {
    fn ask(&mut self, now: Time, waiter: Waiter, cost: u64) -> Ask {
        match look(self.cells.as_ref(), now, cost) {
            Ok(look) => self.sleepers.ask(now, waiter, cost, look),
            Err(InsufficientCapacity(_)) => self.sleepers.refuse(),
        }
    }

    fn next_wake(&self) -> Option<Time> {
        self.sleepers.next_wake()
    }

    fn on_wake(&mut self, now: Time) -> Option<Grant> {
        let cells = self.cells.as_ref();
        // Who sleeps was not refused when it asked, and the capacity stays.
        self.sleepers.on_wake(now, |_, cost| look(cells, now, cost).unwrap_or(Err(None)))
    }

    fn cancel(&mut self, _: Time, id: u32) -> bool {
        self.sleepers.cancel(id)
    }

    /// Another limiter, full at the beginning.
    fn set_rate(&mut self, now: Time, level: Level, rate: ByteRate) {
        if let (Some(cells), Level::Global) = (&mut self.cells, level) {
            cells.limiter = limiter(now, rate, cells.capacity);
        }
    }

    fn waiting(&self) -> usize {
        self.sleepers.len()
    }

    fn counters(&self) -> Counters {
        self.sleepers.counters()
    }

    fn levels(&self) -> &Levels {
        &self.levels
    }
}

fn look(cells: Option<&Cells>, now: Time, cost: u64) -> Result<Look, InsufficientCapacity> {
    cells.map_or(Ok(Ok(())), |cells| cells.look(now, cost))
}

#[cfg(test)]
mod tests;
