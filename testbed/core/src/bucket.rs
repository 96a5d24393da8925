//! The token bucket: exact integer arithmetic, so that ties are ties and no token drifts away.
//!
//! Tokens are bytes. Inside, a level is counted in billionths of a byte, because then a rate of
//! `r` bytes a second adds exactly `r` of them in each nanosecond, without a division:
//!
//! ```text
//! refill    level = min(capacity, level + rate * (now - last)),  last = now
//! ready_at  now + ceil((n - level) / rate)     the first nanosecond at which n tokens are there
//! ```
//!
//! Worked numbers: at 4 MiB/s (4,194,304 B/s) an empty bucket has 16 KiB after
//! 16,384 / 4,194,304 s = 3.90625 ms, and not one nanosecond earlier. A level may be negative: what
//! a reservation has taken in advance is a debt that the refill pays off.

pub mod timer;

use crate::limit::quantity::{ByteRate, Bytes};
use crate::rng::Rng;
use crate::time::{Nanos, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use timer::{Timer, TimerConfig};

/// Units of a level in one byte.
const PER_BYTE: i128 = 1_000_000_000;
const NANOS_PER_MILLI: u64 = 1_000_000;

/// How time becomes tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Refill {
    /// Every nanosecond counts.
    #[default]
    Exact,
    /// A mutation found in the wild: the time since the last refill is cut to whole milliseconds,
    /// and the rest is forgotten. The more often somebody looks, the less there is.
    Milliseconds,
    /// In lumps, at multiples of this length; longer than zero.
    Tick(Nanos),
    /// In lumps of `every`'s worth, when a timer fires that wobbles.
    Timer(TimerConfig),
}

/// What a bucket makes of time while it is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WhenFull {
    /// What comes in is lost over the brim.
    #[default]
    Discard,
    /// A mutation found in the wild: its clock stands still, so that whoever takes the first token
    /// brings in all that the idle time was worth, up to the brim.
    StopClock,
}

/// A bucket as a file writes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BucketConfig {
    /// Tokens that come in, in the long run.
    pub rate: ByteRate,
    /// The most tokens that it holds, 1 byte or more. Default: one second's worth.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<Bytes>,
    /// Tokens at the beginning, at most the capacity. Default: full.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial: Option<Bytes>,
    /// How time becomes tokens.
    #[serde(default)]
    pub refill: Refill,
    /// What it makes of time while it is full.
    #[serde(default, skip_serializing_if = "WhenFull::is_discard")]
    pub when_full: WhenFull,
}

impl WhenFull {
    /// Whether it is as it should be, which files need not say.
    const fn is_discard(&self) -> bool {
        matches!(self, Self::Discard)
    }
}

impl BucketConfig {
    /// A bucket that is full at the beginning and holds one second's worth.
    pub const fn new(rate: ByteRate) -> Self {
        let (refill, when_full) = (Refill::Exact, WhenFull::Discard);
        Self { rate, capacity: None, initial: None, refill, when_full }
    }

    /// The most tokens that it holds, in bytes.
    pub fn capacity(&self) -> u64 {
        self.capacity.map_or_else(|| self.rate.get(), Bytes::get)
    }

    /// Tokens at the beginning, in bytes.
    pub fn initial(&self) -> u64 {
        self.initial.map_or_else(|| self.capacity(), Bytes::get).min(self.capacity())
    }
}

/// Where tokens came from and went, in billionths of a byte since the beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Ledger {
    /// There at the beginning.
    pub initial: i128,
    /// Came in with time.
    pub refilled: i128,
    /// Taken and given back.
    pub returned: i128,
    /// Taken.
    pub taken: i128,
    /// Lost over the brim.
    pub discarded: i128,
}

impl Ledger {
    /// What must be there: `initial + refilled + returned - taken - discarded`.
    pub const fn balance(&self) -> i128 {
        self.initial + self.refilled + self.returned - self.taken - self.discarded
    }

    /// Two ledgers as one.
    pub const fn plus(&self, other: &Self) -> Self {
        Self {
            initial: self.initial + other.initial,
            refilled: self.refilled + other.refilled,
            returned: self.returned + other.returned,
            taken: self.taken + other.taken,
            discarded: self.discarded + other.discarded,
        }
    }
}

/// A running bucket.
#[derive(Clone, Debug)]
pub struct Bucket {
    rate: u64,
    capacity: u64,
    refill: Refill,
    when_full: WhenFull,
    /// Runs if `refill` has one.
    timer: Option<Box<Timer>>,
    level: i128,
    last: Time,
    ledger: Ledger,
}

impl Bucket {
    /// A bucket that comes into being at `now`. A tick of 0 counts as 1 ns. `chance` is what a timer
    /// wobbles by; nothing else asks for it.
    pub fn new(config: &BucketConfig, now: Time, chance: impl FnOnce() -> Rng) -> Self {
        let initial = units(config.initial());
        let timer = match config.refill {
            Refill::Timer(timer) => Some(Box::new(Timer::new(timer, now, chance()))),
            Refill::Exact | Refill::Milliseconds | Refill::Tick(_) => None,
        };
        Self {
            rate: config.rate.get(),
            capacity: config.capacity(),
            refill: config.refill,
            when_full: config.when_full,
            timer,
            level: initial,
            last: now,
            ledger: Ledger { initial, ..Ledger::default() },
        }
    }

    /// Takes in what came until `now`. An instant before the last one adds nothing.
    pub fn refill(&mut self, now: Time) {
        if now <= self.last || self.clock_stands() {
            return;
        }
        let counted = self.counted(now);
        self.last = match self.refill {
            Refill::Tick(_) => self.last.after(Nanos::new(counted)),
            Refill::Exact | Refill::Milliseconds | Refill::Timer(_) => now,
        };
        let added = i128::from(self.rate) * i128::from(counted);
        self.ledger.refilled += added;
        self.add(added);
    }

    fn clock_stands(&self) -> bool {
        self.when_full == WhenFull::StopClock && self.level >= units(self.capacity)
    }

    /// How many nanoseconds since the last refill become tokens at `now`.
    fn counted(&mut self, now: Time) -> u64 {
        let elapsed = now.since(self.last).get();
        match self.refill {
            Refill::Exact => elapsed,
            Refill::Milliseconds => elapsed - elapsed % NANOS_PER_MILLI,
            Refill::Tick(tick) => last_tick(now, tick).since(self.last).get(),
            Refill::Timer(TimerConfig { every, .. }) => {
                let fills = self.timer.as_mut().map_or(0, |timer| timer.fills(now));
                fills.saturating_mul(every.get())
            }
        }
    }

    /// The first instant from `now` on at which `n` bytes are there if nobody takes any; `None` if
    /// the bucket cannot hold so many.
    pub fn ready_at(&mut self, now: Time, n: u64) -> Option<Time> {
        (n <= self.capacity).then(|| self.due(now, n))
    }

    /// The first instant from `now` on at which `n` bytes will have come in, whether or not the
    /// bucket can hold them: the end of a debt, or the turn of somebody with bytes ahead of him.
    pub fn due(&mut self, now: Time, n: u64) -> Time {
        self.refill(now);
        let missing = units(n) - self.level;
        if missing <= 0 { now } else { self.filled_at(now, missing.unsigned_abs()) }
    }

    /// Takes `n` bytes, into debt if they are not there.
    pub fn take(&mut self, now: Time, n: u64) {
        self.refill(now);
        self.level -= units(n);
        self.ledger.taken += units(n);
    }

    /// Gives `n` bytes back; what does not fit is discarded.
    pub fn give_back(&mut self, now: Time, n: u64) {
        self.refill(now);
        self.ledger.returned += units(n);
        self.add(units(n));
    }

    /// Another rate from `now` on; tokens and debts stay.
    pub fn set_rate(&mut self, now: Time, rate: ByteRate) {
        self.refill(now);
        self.rate = rate.get();
    }

    /// Another capacity from `now` on; what no longer fits is discarded.
    pub fn set_capacity(&mut self, now: Time, capacity: Bytes) {
        self.refill(now);
        self.capacity = capacity.get();
        self.add(0);
    }

    /// The most tokens that it holds, in bytes.
    pub const fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Tokens in bytes, as of the last refill; negative in debt.
    pub const fn tokens(&self) -> f64 {
        self.level as f64 / PER_BYTE as f64
    }

    /// Tokens in billionths of a byte, as of the last refill: equal to [`Ledger::balance`].
    pub const fn level(&self) -> i128 {
        self.level
    }

    /// Where tokens came from and went.
    pub const fn ledger(&self) -> Ledger {
        self.ledger
    }

    /// Adds units that are in the ledger already, up to the brim.
    fn add(&mut self, units_added: i128) {
        let full = self.level + units_added;
        self.level = full.min(units(self.capacity));
        self.ledger.discarded += full - self.level;
    }

    fn filled_at(&self, now: Time, missing: u128) -> Time {
        match self.refill {
            Refill::Exact | Refill::Milliseconds => {
                now.after(nanos(div_ceil(missing, u128::from(self.rate))))
            }
            Refill::Tick(tick) => {
                let tick = u128::from(tick.get().max(1));
                let ticks = div_ceil(missing, u128::from(self.rate) * tick);
                last_tick(now, Nanos::new(tick as u64)).after(nanos(ticks * tick))
            }
            Refill::Timer(TimerConfig { every, .. }) => {
                let a_fill = u128::from(self.rate) * u128::from(every.get().max(1));
                let fills = div_ceil(missing, a_fill);
                self.timer.as_ref().map_or(Time::NEVER, |timer| timer.filled_at(fills))
            }
        }
    }
}

const fn units(bytes: u64) -> i128 {
    bytes as i128 * PER_BYTE
}

/// The last multiple of `tick` at or before `now`.
const fn last_tick(now: Time, tick: Nanos) -> Time {
    let tick = if tick.get() == 0 { 1 } else { tick.get() };
    Time::from_nanos(now.as_nanos() - now.as_nanos() % tick)
}

/// A division of 128 bits costs several times one of 64, and nearly all fit.
fn div_ceil(dividend: u128, divisor: u128) -> u128 {
    match (u64::try_from(dividend), u64::try_from(divisor)) {
        (Ok(dividend), Ok(divisor)) => u128::from(dividend.div_ceil(divisor)),
        _ => dividend.div_ceil(divisor),
    }
}

fn nanos(ns: u128) -> Nanos {
    Nanos::new(u64::try_from(ns).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests;
