//! `peek`: look, then take at all levels or at none; whoever fails sleeps and tries again by
//! himself, with no memory of having waited.
//!
//! ```text
//! wait = max over the levels of ceil((n - tokens) / rate);   0: take,   else: ask again then
//! ```
//!
//! For equal costs **every waiter is told the same instant**, whenever it asked: a herd each n/rate,
//! one winner, all others told the next. So what breaks ties decides everything. Worked numbers, 32
//! waiters of 16 KiB at 4 MiB/s who ask again 20 us after a grant: in stable order a perfect round
//! robin of 125 ms; by id or last-in-first-out 31 of 32 get nothing, ever; one waiter 1 ns later
//! than the others, or with a cost 1 byte larger, gets nothing; in random order a wait is geometric
//! and one in 25,000 lasts more than ten rounds.
//!
//! A cost beyond a capacity sleeps for ever. (The original would spin, and grant as little.)

use super::levels::Levels;
use super::quantity::ByteRate;
use super::sleepers::{RaceConfig, Sleepers};
use super::{
    Ask, Counters, Grant, Guarantees, Invalid, Level, LevelsConfig, Limiter, Policy, Waiter,
};
use crate::rng::Streams;
use crate::time::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of `peek`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The limits.
    pub levels: LevelsConfig,
    /// What decides the race of those who wait.
    #[serde(flatten)]
    pub race: RaceConfig,
}

impl Policy for Config {
    type Limiter = Peek;
    const ABOUT: &'static str = "every waiter retries by itself: peek, then commit all or nothing";

    fn over(levels: &LevelsConfig) -> Self {
        Self { levels: levels.clone(), race: RaceConfig::default() }
    }

    fn levels(&self) -> Option<&LevelsConfig> {
        Some(&self.levels)
    }

    fn build(&self, streams: &Streams) -> Peek {
        let sleepers = Sleepers::new(&self.race, streams);
        Peek { sleepers, levels: Levels::new(&self.levels, streams) }
    }

    fn guarantees(&self) -> Guarantees {
        Guarantees { quotes: false, order: false, rate: true }
    }

    fn is_race(&self) -> bool {
        true
    }

    fn invalid(&self) -> Vec<Invalid> {
        self.race.lateness.invalid()
    }
}

/// The running policy.
#[derive(Debug)]
pub struct Peek {
    sleepers: Sleepers,
    levels: Levels,
}

impl Limiter for Peek {
    fn ask(&mut self, now: Time, waiter: Waiter, cost: u64) -> Ask {
        let look = self.levels.take_or_wait(now, waiter, cost);
        self.sleepers.ask(now, waiter, cost, look)
    }

    fn next_wake(&self) -> Option<Time> {
        self.sleepers.next_wake()
    }

    fn on_wake(&mut self, now: Time) -> Option<Grant> {
        let levels = &mut self.levels;
        self.sleepers.on_wake(now, |waiter, cost| levels.take_or_wait(now, waiter, cost))
    }

    fn cancel(&mut self, _: Time, id: u32) -> bool {
        self.sleepers.cancel(id)
    }

    /// Sleepers are not told: they find out when they wake.
    fn set_rate(&mut self, now: Time, level: Level, rate: ByteRate) {
        self.levels.set_rate(now, level, rate);
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
