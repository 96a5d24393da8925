//! `pacer`: one after the other, an interval apart, with nothing that could be saved up by chance.
//!
//! Source: the leaky bucket as a meter of instants, as in Sentinel's `RateLimiterController` and in
//! uber-go/ratelimit. It keeps the instant of the last grant and no tokens:
//!
//! ```text
//! interval(n) = n / rate                       rounded up to 1 ns, or half up as `interval` says
//! next        = last + interval(n)             the first ask of all goes at once
//! saved       = next, but now - slack if now - next > slack;     slack: so many bytes' interval
//! goes at max(now, saved);  last = saved
//! ```
//!
//! A request of 1 B is one interval, a cost of n is n of them. Worked numbers: at 160 B/s an interval
//! is 6.25 ms. In whole milliseconds it is 6 ms, 166.7 B/s; at 1500 B/s it is 1 ms, a third too slow;
//! from 2001 B/s on it is 0.4998 ms, which is rounded to 0 and holds nobody back.
//!
//! `idle_from: last` is a mutation found in the wild (uber-go/ratelimit#119): idle time counts from the
//! last grant in place of the next. At 1 B/s with a slack of 1 B, 2 s after the first, `last` becomes
//! 1 s, which lies `slack` back again as soon as any time has passed: from then on all go at once.
//!
//! Known failures: who gives up leaves its interval behind, unused, as in both originals. Sleepers keep
//! their instants when the rate changes. There is no bucket, so no tokens are shown, and no FIFO twin.

use super::quantity::{ByteRate, Bytes};
use super::waiting::{Wait, Waiting};
use super::{
    Ask, Counters, Grant, Guarantees, Invalid, Level, Levels, LevelsConfig, Limiter, Policy, Waiter,
};
use crate::rng::Streams;
use crate::time::{Nanos, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

const NANOS_PER_SEC: u128 = 1_000_000_000;

/// How the interval of a cost becomes a length of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Interval {
    /// To the nanosecond, rounded up.
    #[default]
    Exact,
    /// To the nearest multiple of this length, half of one up; longer than zero. Below half of it
    /// nothing is held back.
    Round(Nanos),
}

impl Interval {
    /// How long `bytes` take at `rate`.
    fn of(self, bytes: u64, rate: ByteRate) -> Nanos {
        let (ns, rate) = (u128::from(bytes) * NANOS_PER_SEC, u128::from(rate.get()));
        let length = match self {
            Self::Exact => ns.div_ceil(rate),
            Self::Round(step) => {
                let step = u128::from(step.get().max(1));
                (2 * ns + step * rate) / (2 * step * rate) * step
            }
        };
        Nanos::new(u64::try_from(length).unwrap_or(u64::MAX))
    }
}

/// From when on idle time counts against the slack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IdleFrom {
    /// From the instant at which the next could have gone.
    #[default]
    Next,
    /// A mutation found in the wild: from the last grant, an interval too early.
    Last,
}

/// Settings of `pacer`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Bytes in a second, one after the other.
    pub rate: ByteRate,
    /// How the interval of a cost becomes a length of time.
    #[serde(default)]
    pub interval: Interval,
    /// How many bytes may be made up for after idle time, at once.
    #[serde(default = "no_slack")]
    pub slack: Bytes,
    /// From when on idle time counts against the slack.
    #[serde(default)]
    pub idle_from: IdleFrom,
}

const fn no_slack() -> Bytes {
    Bytes::new(0)
}

impl Policy for Config {
    type Limiter = Pacer;
    const ABOUT: &'static str = "an interval apart: Sentinel's pacer, uber's with its slack";

    /// At the rate of the global level; without one, at the highest.
    fn over(levels: &LevelsConfig) -> Self {
        let rate = levels.bucket(Level::Global).map_or(ByteRate::MAX, |bucket| bucket.rate);
        let (interval, idle_from) = (Interval::default(), IdleFrom::default());
        Self { rate, interval, slack: no_slack(), idle_from }
    }

    fn levels(&self) -> Option<&LevelsConfig> {
        None
    }

    fn build(&self, _: &Streams) -> Pacer {
        Pacer {
            config: self.clone(),
            last: None,
            levels: Levels::default(),
            waiting: Waiting::default(),
            timers: BTreeSet::new(),
            counters: Counters::default(),
        }
    }

    fn guarantees(&self) -> Guarantees {
        Guarantees { quotes: true, order: true, rate: false }
    }

    fn invalid(&self) -> Vec<Invalid> {
        let message = "a step of 0s rounds to nothing; write 1ms or so".to_owned();
        match self.interval {
            Interval::Round(Nanos::ZERO) => vec![Invalid { field: "interval", message }],
            _ => Vec::new(),
        }
    }
}

/// When a sleeper goes, and the number of its ask.
type Timer = (Time, u64, u32);

/// The running policy.
#[derive(Debug)]
pub struct Pacer {
    config: Config,
    /// The instant of the last grant, in the future if somebody sleeps until then.
    last: Option<Time>,
    /// None.
    levels: Levels,
    waiting: Waiting<Timer>,
    timers: BTreeSet<Timer>,
    counters: Counters,
}

impl Pacer {
    /// The instant that a cost is given at `now`. Before `now` it is slack that was saved.
    fn next(&self, now: Time, cost: u64) -> Time {
        let Some(last) = self.last else { return now };
        let Config { rate, interval, slack, idle_from } = &self.config;
        let next = last.after(interval.of(cost, *rate));
        let slack = interval.of(slack.get(), *rate);
        let idle_from = match idle_from {
            IdleFrom::Next => next,
            IdleFrom::Last => last,
        };
        let is_forgotten = now.since(idle_from) > slack;
        if is_forgotten { Time::ZERO.after(now.since(Time::ZERO).minus(slack)) } else { next }
    }

    fn sleep(&mut self, now: Time, waiter: Waiter, cost: u64, until: Time) -> Ask {
        let timer = (until, self.counters.asks, waiter.id);
        let quoted = Some(until);
        self.waiting.insert(Wait { waiter, cost, asked_at: now, quoted, state: timer });
        self.timers.insert(timer);
        Ask::Waiting { quoted }
    }
}

impl Limiter for Pacer {
    fn ask(&mut self, now: Time, waiter: Waiter, cost: u64) -> Ask {
        self.counters.asks += 1;
        let next = self.next(now, cost);
        self.last = Some(next);
        // An interval that is rounded to 0 overtakes nobody either.
        if next > now || !self.timers.is_empty() {
            return self.sleep(now, waiter, cost, next.max(now));
        }
        self.counters.grants += 1;
        Ask::Granted
    }

    /// Who does not wait takes no interval.
    fn try_ask(&mut self, now: Time, _: Waiter, cost: u64) -> bool {
        self.counters.asks += 1;
        let next = self.next(now, cost);
        let granted = next <= now && self.timers.is_empty();
        if granted {
            self.last = Some(next);
            self.counters.grants += 1;
        }
        granted
    }

    fn next_wake(&self) -> Option<Time> {
        self.timers.first().map(|(at, ..)| *at)
    }

    fn on_wake(&mut self, now: Time) -> Option<Grant> {
        let &(_, _, id) = self.timers.first().filter(|(at, ..)| *at <= now)?;
        self.timers.pop_first();
        self.counters.wakes += 1;
        self.counters.grants += 1;
        self.waiting.remove(id).map(|wait| wait.grant())
    }

    fn cancel(&mut self, _: Time, id: u32) -> bool {
        let Some(wait) = self.waiting.remove(id) else { return false };
        self.timers.remove(&wait.state);
        self.counters.cancels += 1;
        true
    }

    fn set_rate(&mut self, _: Time, level: Level, rate: ByteRate) {
        if level == Level::Global {
            self.config.rate = rate;
        }
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
mod tests;
