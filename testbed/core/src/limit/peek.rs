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

use super::lateness::Lateness;
use super::levels::Levels;
use super::quantity::ByteRate;
use super::waiting::{Wait, Waiting};
use super::{
    Ask, Counters, Grant, Guarantees, Invalid, Level, LevelsConfig, Limiter, Policy, Waiter,
};
use crate::rng::{Rng, Streams};
use crate::time::Time;
use rand::RngExt as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Who goes first of those who wake at the same instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ties {
    /// Whose timer was set first.
    #[default]
    Stable,
    /// The lowest waiter.
    ById,
    /// Whose timer was set last.
    Lifo,
    /// Chance, drawn anew each time a timer is set.
    Random,
    /// Whatever a binary heap that compares nothing but the time makes of it.
    UnstableHeap,
}

/// Settings of `peek`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The limits.
    pub levels: LevelsConfig,
    /// Who goes first of those who wake at the same instant.
    #[serde(default)]
    pub ties: Ties,
    /// How late timers fire.
    #[serde(default)]
    pub lateness: Lateness,
}

impl Policy for Config {
    type Limiter = Peek;
    const ABOUT: &'static str = "every waiter retries by itself: peek, then commit all or nothing";

    fn over(levels: &LevelsConfig) -> Self {
        Self { levels: levels.clone(), ties: Ties::default(), lateness: Lateness::default() }
    }

    fn levels(&self) -> Option<&LevelsConfig> {
        Some(&self.levels)
    }

    fn build(&self, streams: &Streams) -> Peek {
        Peek {
            ties: self.ties,
            lateness: self.lateness.clone(),
            rng: streams.stream("limiter"),
            levels: Levels::new(&self.levels, streams),
            waiting: Waiting::default(),
            timers: BinaryHeap::new(),
            timers_set: 0,
            counters: Counters::default(),
        }
    }

    fn guarantees(&self) -> Guarantees {
        Guarantees { quotes: false, order: false, rate: true }
    }

    fn invalid(&self) -> Vec<Invalid> {
        self.lateness.invalid()
    }
}

/// The running policy.
#[derive(Debug)]
pub struct Peek {
    ties: Ties,
    lateness: Lateness,
    rng: Rng,
    levels: Levels,
    /// With each wait, the number of its timer.
    waiting: Waiting<u64>,
    /// Those of waits that were given up among them.
    timers: BinaryHeap<Timer>,
    timers_set: u64,
    counters: Counters,
}

/// Ordered by instant and rank, and by nothing else: equals are at the heap's mercy. The earliest
/// is the greatest, because the heap gives the greatest first.
#[derive(Clone, Copy, Debug)]
struct Timer {
    at: Time,
    rank: u64,
    number: u64,
    id: u32,
}

impl Ord for Timer {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.rank).cmp(&(self.at, self.rank))
    }
}

impl PartialOrd for Timer {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Timer {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Timer {}

impl Peek {
    /// Sets a timer; its number. None is set for what never comes.
    fn set_timer(&mut self, at: Option<Time>, waiter: Waiter) -> u64 {
        self.timers_set += 1;
        let number = self.timers_set;
        if let Some(at) = at {
            let at = self.lateness.fires_at(at, waiter, &mut self.rng);
            let rank = self.rank(number, waiter.id);
            self.timers.push(Timer { at, rank, number, id: waiter.id });
        }
        number
    }

    fn rank(&mut self, number: u64, id: u32) -> u64 {
        match self.ties {
            Ties::Stable => number,
            Ties::ById => u64::from(id),
            Ties::Lifo => u64::MAX - number,
            Ties::Random => self.rng.random(),
            Ties::UnstableHeap => 0,
        }
    }

    /// A waiter woke and looks again.
    fn retry(&mut self, now: Time, timer: Timer) -> Option<Grant> {
        let wait = self.waiting.get(timer.id)?;
        if wait.state != timer.number {
            return None;
        }
        self.counters.wakes += 1;
        let (waiter, cost) = (wait.waiter, wait.cost);
        let Err(ready_at) = self.levels.take_or_wait(now, waiter, cost) else {
            self.counters.grants += 1;
            return self.waiting.remove(waiter.id).map(|wait| wait.grant());
        };
        let number = self.set_timer(ready_at, waiter);
        if let Some(wait) = self.waiting.get_mut(waiter.id) {
            wait.state = number;
        }
        None
    }

    /// Forgets the timers of waits that were given up, where one of them would wake us next and
    /// where they are the majority.
    fn tidy(&mut self) {
        let waiting = &self.waiting;
        let is_live =
            |timer: &Timer| waiting.get(timer.id).is_some_and(|wait| wait.state == timer.number);
        if self.timers.len() > 2 * waiting.len() + 64 {
            self.timers.retain(is_live);
        }
        while self.timers.peek().is_some_and(|timer| !is_live(timer)) {
            self.timers.pop();
        }
    }
}

impl Limiter for Peek {
    fn ask(&mut self, now: Time, waiter: Waiter, cost: u64) -> Ask {
        self.counters.asks += 1;
        let Err(quoted) = self.levels.take_or_wait(now, waiter, cost) else {
            self.counters.grants += 1;
            return Ask::Granted;
        };
        let state = self.set_timer(quoted, waiter);
        self.waiting.insert(Wait { waiter, cost, asked_at: now, quoted, state });
        Ask::Waiting { quoted }
    }

    fn next_wake(&self) -> Option<Time> {
        self.timers.peek().map(|timer| timer.at)
    }

    fn on_wake(&mut self, now: Time) -> Option<Grant> {
        while self.timers.peek().is_some_and(|timer| timer.at <= now) {
            let timer = self.timers.pop()?;
            let grant = self.retry(now, timer);
            if grant.is_some() {
                self.tidy();
                return grant;
            }
        }
        self.tidy();
        None
    }

    fn cancel(&mut self, _: Time, id: u32) -> bool {
        let was_waiting = self.waiting.remove(id).is_some();
        self.counters.cancels += u64::from(was_waiting);
        self.tidy();
        was_waiting
    }

    /// Sleepers are not told: they find out when they wake.
    fn set_rate(&mut self, now: Time, level: Level, rate: ByteRate) {
        self.levels.set_rate(now, level, rate);
    }

    fn waiting(&self) -> usize {
        self.waiting.len()
    }

    fn counters(&self) -> Counters {
        self.counters
    }

    fn levels(&self) -> &Levels {
        &self.levels
    }
}
