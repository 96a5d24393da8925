//! Those who retry by themselves: each sleeps for as long as it was told, looks again, and has no
//! memory of having waited. What a look finds, and what it takes, is the policy's.

use super::lateness::Lateness;
use super::waiting::{Wait, Waiting};
use super::{Ask, Counters, Grant, Waiter};
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

/// What decides a race of those who sleep: who looks first.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RaceConfig {
    /// Who goes first of those who wake at the same instant.
    pub ties: Ties,
    /// How late timers fire. `jitter` does what the crate governor's `until_n_ready_with_jitter` does.
    pub lateness: Lateness,
}

/// What a look finds: the tokens, which are taken then, or the instant of the next look; `None` if
/// that never comes.
pub type Look = Result<(), Option<Time>>;

/// Everybody who sleeps.
#[derive(Debug)]
pub struct Sleepers {
    race: RaceConfig,
    rng: Rng,
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

impl Sleepers {
    /// Nobody sleeps yet. Chance comes from the stream `limiter`.
    pub fn new(race: &RaceConfig, streams: &Streams) -> Self {
        Self {
            race: race.clone(),
            rng: streams.stream("limiter"),
            waiting: Waiting::default(),
            timers: BinaryHeap::new(),
            timers_set: 0,
            counters: Counters::default(),
        }
    }

    /// Somebody asked, and `look` is what he found: he goes, or sleeps from now on.
    ///
    /// # Panics
    /// When he sleeps already.
    pub fn ask(&mut self, now: Time, waiter: Waiter, cost: u64, look: Look) -> Ask {
        self.counters.asks += 1;
        let Err(quoted) = look else {
            self.counters.grants += 1;
            return Ask::Granted;
        };
        let state = self.set_timer(quoted, waiter);
        self.waiting.insert(Wait { waiter, cost, asked_at: now, quoted, state });
        Ask::Waiting { quoted }
    }

    /// Somebody asked for what he will never get, and is told so.
    pub const fn refuse(&mut self) -> Ask {
        self.counters.asks += 1;
        Ask::Refused
    }

    /// When the first of them wakes.
    pub fn next_wake(&self) -> Option<Time> {
        self.timers.peek().map(|timer| timer.at)
    }

    /// Wakes those whose timers have fired, one after the other, until one finds his tokens.
    pub fn on_wake(
        &mut self,
        now: Time,
        mut look: impl FnMut(Waiter, u64) -> Look,
    ) -> Option<Grant> {
        while self.timers.peek().is_some_and(|timer| timer.at <= now) {
            let timer = self.timers.pop()?;
            let grant = self.retry(timer, &mut look);
            if grant.is_some() {
                self.tidy();
                return grant;
            }
        }
        self.tidy();
        None
    }

    /// Somebody gives up; whether he was asleep.
    pub fn cancel(&mut self, id: u32) -> bool {
        let was_waiting = self.waiting.remove(id).is_some();
        self.counters.cancels += u64::from(was_waiting);
        self.tidy();
        was_waiting
    }

    /// How many sleep.
    pub const fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Whether nobody sleeps.
    pub const fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// What was done: a wake is a look of somebody who slept.
    pub const fn counters(&self) -> Counters {
        self.counters
    }

    /// Sets a timer; its number. None is set for what never comes.
    fn set_timer(&mut self, at: Option<Time>, waiter: Waiter) -> u64 {
        self.timers_set += 1;
        let number = self.timers_set;
        if let Some(at) = at {
            let at = self.race.lateness.fires_at(at, waiter, &mut self.rng);
            let rank = self.rank(number, waiter.id);
            self.timers.push(Timer { at, rank, number, id: waiter.id });
        }
        number
    }

    fn rank(&mut self, number: u64, id: u32) -> u64 {
        match self.race.ties {
            Ties::Stable => number,
            Ties::ById => u64::from(id),
            Ties::Lifo => u64::MAX - number,
            Ties::Random => self.rng.random(),
            Ties::UnstableHeap => 0,
        }
    }

    /// A waiter woke and looks again.
    fn retry(&mut self, timer: Timer, look: &mut impl FnMut(Waiter, u64) -> Look) -> Option<Grant> {
        let wait = self.waiting.get(timer.id)?;
        if wait.state != timer.number {
            return None;
        }
        self.counters.wakes += 1;
        let waiter = wait.waiter;
        let Err(ready_at) = look(waiter, wait.cost) else {
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
