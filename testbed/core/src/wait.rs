//! Waits for tokens: what is known of each, who overtook whom, and what a fair queue would have
//! done with the same asks.
//!
//! A wait is only long or short against a yardstick. Against `n / rate` any load looks unfair; so
//! the yardstick is the **FIFO twin**: one exact queue that is fed the same asks at the same
//! instants. Because nobody overtakes in it, its answer is known at the ask:
//!
//! ```text
//! fifo_at = max over the levels of (the instant at which the bytes ahead and n have come in)
//! ```
//!
//! Over one level it is the policy `fifo` to the nanosecond, but for those who stand behind one who
//! gives up: they move up, and keep the instant that was known at their ask. Over several levels
//! `fifo` can be faster. The twin takes the tokens of all levels at the ask, as `reservation` does,
//! also those of a level that are of no use until another level lets the waiter go.

use crate::bucket::{BucketConfig, Refill, WhenFull};
use crate::limit::{Grant, Level, Levels, LevelsConfig, Waiter};
use crate::rng::Streams;
use crate::time::{Nanos, Time};
use std::collections::BTreeMap;

/// One wait for tokens, from its ask on. A waiter that is granted at once has waited 0 ns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wait {
    /// Who.
    pub waiter: Waiter,
    /// Bytes asked for.
    pub cost: u64,
    /// When it asked.
    pub asked_at: Time,
    /// The instant that the policy told it; `None` if it told none.
    pub quoted: Option<Time>,
    /// When the FIFO twin would have let it go; `Time::ZERO` without a limit.
    pub fifo_at: Time,
}

impl Wait {
    /// What it was told to wait.
    pub fn quoted_wait(&self) -> Option<Nanos> {
        self.quoted.map(|at| at.since(self.asked_at))
    }

    /// What it would have waited in the FIFO twin.
    pub const fn fifo_wait(&self) -> Nanos {
        self.fifo_at.since(self.asked_at)
    }
}

/// How a wait ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WaitEnd {
    /// The waiter got its tokens.
    Granted,
    /// It gave up.
    Cancelled,
    /// The run ended.
    CutOff,
}

impl WaitEnd {
    /// The end's name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Granted => "granted",
            Self::Cancelled => "cancelled",
            Self::CutOff => "cut_off",
        }
    }
}

/// An exact FIFO queue over the same limits, fed the same asks.
#[derive(Debug)]
struct Twin {
    levels: Levels,
}

impl Twin {
    fn new(levels: Option<&LevelsConfig>) -> Self {
        let exact = |bucket: &Option<BucketConfig>| {
            let (refill, when_full) = (Refill::Exact, WhenFull::Discard);
            let exact = |bucket: BucketConfig| BucketConfig { refill, when_full, ..bucket };
            bucket.clone().map(exact)
        };
        let config = levels.map(|levels| LevelsConfig {
            global: exact(&levels.global),
            queue: exact(&levels.queue),
            task: exact(&levels.task),
        });
        // An exact bucket draws nothing.
        let levels = |config| Levels::new(config, &Streams::new(0));
        Self { levels: config.as_ref().map(levels).unwrap_or_default() }
    }

    fn ask(&mut self, now: Time, waiter: Waiter, cost: u64) -> Time {
        Level::ALL.into_iter().fold(Time::ZERO, |latest, level| {
            let Some(bucket) = self.levels.bucket(now, level, waiter) else { return latest };
            let due = bucket.due(now, cost);
            bucket.take(now, cost);
            latest.max(due)
        })
    }

    /// Who gives up before its turn leaves its tokens to those behind it.
    fn cancel(&mut self, now: Time, wait: &Wait) {
        if wait.fifo_at > now {
            self.levels.give_back(now, wait.waiter, wait.cost);
        }
    }
}

/// The waits that are under way, in the order of their asks.
#[derive(Debug)]
pub struct WaitBook {
    open: BTreeMap<u64, Wait>,
    /// The ask of each waiter that waits, by its id.
    asks: Vec<Option<u64>>,
    next_ask: u64,
    twin: Twin,
}

impl WaitBook {
    /// An empty book; its twin has these limits.
    pub fn new(levels: Option<&LevelsConfig>) -> Self {
        Self { open: BTreeMap::new(), asks: Vec::new(), next_ask: 0, twin: Twin::new(levels) }
    }

    /// Waits under way.
    pub fn len(&self) -> usize {
        self.open.len()
    }

    /// Whether nobody waits.
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Somebody asks, and was told `quoted`.
    pub fn asked(&mut self, now: Time, waiter: Waiter, cost: u64, quoted: Option<Time>) -> Wait {
        let fifo_at = self.twin.ask(now, waiter, cost);
        Wait { waiter, cost, asked_at: now, quoted, fifo_at }
    }

    /// A wait that did not end at once.
    pub fn begin(&mut self, wait: Wait) {
        let index = wait.waiter.id as usize;
        if index >= self.asks.len() {
            self.asks.resize(index + 1, None);
        }
        self.asks[index] = Some(self.next_ask);
        self.open.insert(self.next_ask, wait);
        self.next_ask += 1;
    }

    /// Somebody who asked just now went at once, past all who wait; how many they are.
    pub fn went_at_once(&self) -> u32 {
        self.who_asked_before(self.next_ask)
    }

    /// A grant ends a wait: what became of it, and how many it overtook.
    pub fn granted(&mut self, grant: &Grant) -> Option<(Wait, u32)> {
        let ask = self.asks.get_mut(grant.waiter.id as usize)?.take()?;
        let wait = self.open.remove(&ask)?;
        Some((wait, self.who_asked_before(ask)))
    }

    /// A waiter gives up.
    pub fn cancelled(&mut self, now: Time, id: u32) -> Option<Wait> {
        let ask = self.asks.get_mut(id as usize)?.take()?;
        let wait = self.open.remove(&ask)?;
        self.twin.cancel(now, &wait);
        Some(wait)
    }

    /// Ends all waits, in the order of their asks.
    pub fn cut_off(&mut self) -> Vec<Wait> {
        self.asks.clear();
        std::mem::take(&mut self.open).into_values().collect()
    }

    /// Those who wait since an earlier ask than this one.
    fn who_asked_before(&self, ask: u64) -> u32 {
        self.open.range(..ask).count() as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limit::quantity::{ByteRate, Bytes};

    fn levels() -> LevelsConfig {
        let rate = ByteRate::per_second(1000).unwrap();
        let empty = BucketConfig { initial: Some(Bytes::new(0)), ..BucketConfig::new(rate) };
        LevelsConfig::global(empty)
    }

    fn waiter(id: u32) -> Waiter {
        Waiter { id, ..Waiter::default() }
    }

    fn ms(ms: u64) -> Time {
        Time::ZERO.after(Nanos::from_millis(ms))
    }

    fn ask(book: &mut WaitBook, now: Time, id: u32, cost: u64) -> Wait {
        let wait = book.asked(now, waiter(id), cost, None);
        book.begin(wait);
        wait
    }

    fn grant(book: &mut WaitBook, wait: &Wait) -> (Wait, u32) {
        let Wait { waiter, cost, asked_at, quoted, .. } = *wait;
        book.granted(&Grant { waiter, cost, asked_at, quoted }).unwrap()
    }

    #[test]
    fn the_twin_serves_in_the_order_of_the_asks() {
        let mut book = WaitBook::new(Some(&levels()));
        for (at, id, cost, fifo_ms) in
            [(0, 0, 10, 10), (0, 1, 20, 30), (5, 2, 1, 31), (50, 3, 1, 50)]
        {
            let wait = ask(&mut book, ms(at), id, cost);
            assert_eq!(wait.fifo_at, ms(fifo_ms), "waiter {id}");
        }
    }

    #[test]
    fn who_gives_up_leaves_its_place_in_the_twin() {
        let mut book = WaitBook::new(Some(&levels()));
        ask(&mut book, ms(0), 0, 100);
        book.cancelled(ms(10), 0).unwrap();
        assert_eq!(ask(&mut book, ms(10), 1, 10).fifo_at, ms(10));
        assert!(book.cancelled(ms(10), 0).is_none());
    }

    #[test]
    fn who_gives_up_after_its_turn_has_been_served_in_the_twin() {
        let mut book = WaitBook::new(Some(&levels()));
        ask(&mut book, ms(0), 0, 10);
        book.cancelled(ms(20), 0).unwrap();
        assert_eq!(ask(&mut book, ms(20), 1, 20).fifo_at, ms(30), "10 B of 20 B are there");
    }

    #[test]
    fn the_twin_is_exact_whatever_the_limiter_makes_of_time() {
        for refill in [Refill::Milliseconds, Refill::Tick(Nanos::from_secs(1))] {
            let global = levels().global.map(|bucket| BucketConfig { refill, ..bucket });
            let mut book = WaitBook::new(Some(&LevelsConfig { global, ..levels() }));
            let at = Time::from_nanos(500_000);
            assert_eq!(ask(&mut book, at, 0, 10).fifo_at, ms(10), "{refill:?}");
            assert_eq!(ask(&mut book, at, 1, 10).fifo_at, ms(20), "{refill:?}");
        }
    }

    #[test]
    fn grants_to_later_askers_are_overtakes() {
        let mut book = WaitBook::new(Some(&levels()));
        let waits: Vec<_> = (0..3).map(|id| ask(&mut book, ms(0), id, 1)).collect();
        assert_eq!(grant(&mut book, &waits[2]).1, 2, "the last went first");
        assert_eq!(grant(&mut book, &waits[0]).1, 0, "the first overtakes nobody");
        assert_eq!(book.went_at_once(), 1);
        assert_eq!(grant(&mut book, &waits[1]).1, 0, "nobody is left");
        assert!(book.is_empty());
    }

    #[test]
    fn without_limits_the_twin_lets_everybody_go() {
        let mut book = WaitBook::new(None);
        let wait = book.asked(ms(5), waiter(0), u64::MAX, None);
        assert_eq!(wait.fifo_wait(), Nanos::ZERO);
    }
}
