//! `wake_heap`: one heap of computed wake times; only its head has a timer.
//!
//! Each waiter computes its instant as `peek` does, once, and keeps it: the heap is served in that
//! order, equal instants in the order of the asks. So it favours small costs, but nobody overtakes a
//! waiter whose instant has come:
//!
//! ```text
//! key = now + ceil((n - tokens) / rate) at the ask;   the head goes when its tokens are there
//! ```
//!
//! Worked numbers: at 4 MiB/s and no tokens, an asker of 64 KiB can be overtaken by those who ask
//! within 64 KiB / 4 MiB/s = 15.6 ms after it, and by nobody later.
//!
//! A head whose task or queue has its tokens later than the global bucket gets a new key, so that it
//! blocks nobody else. A cost beyond a capacity sleeps for ever, without blocking.

use super::levels::Levels;
use super::quantity::ByteRate;
use super::waiting::{Wait, Waiting};
use super::{Ask, Counters, Grant, Guarantees, Level, LevelsConfig, Limiter, Policy, Waiter};
use crate::rng::Streams;
use crate::time::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Settings of `wake_heap`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The limits.
    pub levels: LevelsConfig,
}

impl Policy for Config {
    type Limiter = WakeHeap;
    const ABOUT: &'static str = "served in the order of computed wake times, one timer at the head";

    fn over(levels: &LevelsConfig) -> Self {
        Self { levels: levels.clone() }
    }

    fn levels(&self) -> Option<&LevelsConfig> {
        Some(&self.levels)
    }

    fn build(&self, streams: &Streams) -> WakeHeap {
        WakeHeap {
            levels: Levels::new(&self.levels, streams),
            waiting: Waiting::default(),
            order: BTreeSet::new(),
            timer: None,
            counters: Counters::default(),
        }
    }

    fn guarantees(&self) -> Guarantees {
        Guarantees { quotes: false, order: false, rate: true }
    }
}

/// A waiter's place: its wake time, then the number of its ask. `Time::NEVER` is for costs that fit
/// nowhere.
type Key = (Time, u64, u32);

/// The running policy.
#[derive(Debug)]
pub struct WakeHeap {
    levels: Levels,
    waiting: Waiting<Key>,
    order: BTreeSet<Key>,
    /// When the head may go, as far as is known.
    timer: Option<Time>,
    counters: Counters,
}

impl WakeHeap {
    /// The first of those whose instant ever comes: that instant, who, and its cost.
    fn head(&self) -> Option<(Time, Waiter, u64)> {
        let (at, _, id) = self.order.first()?;
        let wait = self.waiting.get(*id).filter(|_| *at < Time::NEVER)?;
        Some((*at, wait.waiter, wait.cost))
    }

    /// Finds a head that only the global bucket holds back, and sets the timer for it: its own
    /// instant, or later if others emptied that bucket meanwhile.
    fn arm(&mut self, now: Time) {
        self.timer = None;
        while let Some((key, waiter, cost)) = self.head() {
            let ready_at = self.levels.ready_at(now, waiter, cost).unwrap_or(Time::NEVER);
            let global = self.levels.level_ready_at(now, Level::Global, waiter, cost);
            if ready_at <= key || Some(ready_at) == global {
                self.timer = Some(key.max(ready_at));
                return;
            }
            self.replace(waiter.id, ready_at);
        }
    }

    /// Gives a waiter a place by another wake time.
    fn replace(&mut self, id: u32, at: Time) {
        if let Some(wait) = self.waiting.get_mut(id) {
            self.order.remove(&wait.state);
            wait.state.0 = at;
            self.order.insert(wait.state);
        }
    }

    fn serve(&mut self, now: Time) -> Option<Grant> {
        let (_, waiter, cost) = self.head()?;
        self.counters.wakes += 1;
        self.levels.take_or_wait(now, waiter, cost).ok()?;
        let wait = self.waiting.remove(waiter.id)?;
        self.order.remove(&wait.state);
        self.counters.grants += 1;
        Some(wait.grant())
    }
}

impl Limiter for WakeHeap {
    fn ask(&mut self, now: Time, waiter: Waiter, cost: u64) -> Ask {
        self.counters.asks += 1;
        // Those whose instant is yet to come block nobody.
        let is_free = self.order.first().is_none_or(|(at, ..)| *at > now);
        let ready_at = self.levels.ready_at(now, waiter, cost);
        if is_free && ready_at.is_some_and(|at| at <= now) {
            self.levels.take(now, waiter, cost);
            self.counters.grants += 1;
            self.arm(now);
            return Ask::Granted;
        }
        let state = (ready_at.unwrap_or(Time::NEVER), self.counters.asks, waiter.id);
        self.waiting.insert(Wait { waiter, cost, asked_at: now, quoted: ready_at, state });
        self.order.insert(state);
        self.arm(now);
        Ask::Waiting { quoted: ready_at }
    }

    fn next_wake(&self) -> Option<Time> {
        self.timer
    }

    fn on_wake(&mut self, now: Time) -> Option<Grant> {
        while self.timer.is_some_and(|at| at <= now) {
            let grant = self.serve(now);
            self.arm(now);
            if grant.is_some() {
                return grant;
            }
        }
        None
    }

    fn cancel(&mut self, now: Time, id: u32) -> bool {
        let Some(wait) = self.waiting.remove(id) else { return false };
        self.order.remove(&wait.state);
        self.counters.cancels += 1;
        self.arm(now);
        true
    }

    /// Everybody computes anew.
    fn set_rate(&mut self, now: Time, level: Level, rate: ByteRate) {
        self.levels.set_rate(now, level, rate);
        let (levels, order) = (&mut self.levels, &mut self.order);
        order.clear();
        for wait in self.waiting.iter_mut() {
            let ready_at = levels.ready_at(now, wait.waiter, wait.cost);
            wait.state.0 = ready_at.unwrap_or(Time::NEVER);
            order.insert(wait.state);
        }
        self.arm(now);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bucket::BucketConfig;
    use crate::limit::quantity::Bytes;

    const MS: u64 = 1_000_000;

    /// Empty at the beginning; at 1000 B/s, a byte each millisecond.
    fn bucket(rate: u64, initial: u64) -> BucketConfig {
        let bucket = BucketConfig::new(ByteRate::per_second(rate).unwrap());
        BucketConfig { initial: Some(Bytes::new(initial)), ..bucket }
    }

    fn ms(ms: u64) -> Time {
        Time::from_nanos(ms * MS)
    }

    /// (milliseconds, id) of all grants after these asks of (milliseconds, id, task, cost).
    fn grants(levels: &LevelsConfig, asks: &[(u64, u32, u32, u64)]) -> Vec<(u64, u32)> {
        let mut limiter = Config::over(levels).build(&Streams::new(1));
        let mut grants = Vec::new();
        for (at, id, task, cost) in asks {
            drain(&mut limiter, ms(*at), &mut grants);
            if limiter.ask(ms(*at), Waiter { id: *id, task: *task, queue: 0, segment: 0 }, *cost)
                == Ask::Granted
            {
                grants.push((*at, *id));
            }
        }
        drain(&mut limiter, Time::NEVER, &mut grants);
        grants
    }

    fn drain(limiter: &mut WakeHeap, until: Time, grants: &mut Vec<(u64, u32)>) {
        while let Some(now) = limiter.next_wake().filter(|at| *at < until) {
            while let Some(grant) = limiter.on_wake(now) {
                grants.push((now.as_nanos() / MS, grant.waiter.id));
            }
        }
    }

    #[test]
    fn small_costs_overtake_until_the_instant_of_the_large_one_and_no_longer() {
        let global = LevelsConfig::global(bucket(1000, 0));
        let soon = [(0, 0, 0, 64), (1, 1, 0, 16), (2, 2, 0, 16)];
        assert_eq!(grants(&global, &soon), [(16, 1), (32, 2), (96, 0)]);
        let later = [(0, 0, 0, 64), (60, 1, 0, 16), (65, 2, 0, 1)];
        assert_eq!(grants(&global, &later), [(60, 1), (80, 0), (81, 2)]);
    }

    #[test]
    fn a_head_held_back_by_its_own_task_blocks_nobody_else() {
        let asks = [(0, 0, 0, 20), (0, 1, 0, 20), (0, 2, 1, 20)];
        for (task_rate, expected) in
            [(1000, [(20, 0), (40, 1), (60, 2)]), (100, [(20, 0), (40, 2), (200, 1)])]
        {
            let task = Some(bucket(task_rate, 20));
            let levels = LevelsConfig { task, ..LevelsConfig::global(bucket(1000, 0)) };
            assert_eq!(grants(&levels, &asks), expected, "task at {task_rate} B/s");
        }
    }

    #[test]
    fn nor_does_one_that_lacks_global_tokens_and_those_of_its_task_still_longer() {
        let levels =
            LevelsConfig { task: Some(bucket(100, 20)), ..LevelsConfig::global(bucket(1000, 0)) };
        let asks = [(0, 0, 0, 20), (0, 1, 0, 20), (21, 2, 1, 10)];
        assert_eq!(grants(&levels, &asks), [(20, 0), (30, 2), (200, 1)]);
    }
}
