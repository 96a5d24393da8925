//! The permits of `SmoothBursty`, in billionths of a byte: a rate of `r` bytes a second stores `r` of
//! them in each nanosecond.

use crate::bucket::BucketConfig;
use crate::limit::quantity::ByteRate;
use crate::time::{Nanos, Time};

/// Units of a permit in one byte.
const PER_BYTE: u128 = 1_000_000_000;

/// The state of a `RateLimiter`.
#[derive(Clone, Debug)]
pub struct Bursty {
    rate: u64,
    /// Whether the capacity is a second's worth whatever the rate.
    is_one_second: bool,
    capacity: u128,
    stored: u128,
    next_free: Time,
}

impl Bursty {
    /// At the beginning of the run, with what the bucket has then.
    pub fn new(config: &BucketConfig) -> Self {
        Self {
            rate: config.rate.get(),
            is_one_second: config.capacity.is_none(),
            capacity: units(config.capacity()),
            stored: units(config.initial()),
            next_free: Time::ZERO,
        }
    }

    /// `reserve`: when these bytes may go. It is the time of those before; the next pay for these.
    pub fn reserve(&mut self, now: Time, cost: u64) -> Time {
        self.sync(now);
        let goes_at = self.next_free;
        let spent = self.stored.min(units(cost));
        let fresh = units(cost) - spent;
        let rate = u128::from(self.rate);
        let ns = fresh.div_ceil(rate);
        self.next_free = goes_at.after(Nanos::new(u64::try_from(ns).unwrap_or(u64::MAX)));
        // What comes in the last nanosecond beyond what is needed is not lost.
        self.stored = self.stored - spent + (ns * rate - fresh);
        goes_at
    }

    /// `tryAcquire` without a timeout: now, or nothing is reserved.
    pub fn try_reserve(&mut self, now: Time, cost: u64) -> bool {
        let is_free = self.next_free <= now;
        if is_free {
            self.reserve(now, cost);
        }
        is_free
    }

    /// What is stored at `now`, in bytes; below 0 what is still to be paid, at the present rate.
    pub fn tokens(&self, now: Time) -> f64 {
        let brought =
            |from: Time, to: Time| u128::from(to.since(from).get()) * u128::from(self.rate);
        let stored = self.capacity.min(self.stored + brought(self.next_free, now));
        (stored as f64 - brought(now, self.next_free) as f64) / PER_BYTE as f64
    }

    /// `setRate`: what is stored keeps its share of the capacity.
    pub fn set_rate(&mut self, now: Time, rate: ByteRate) {
        self.sync(now);
        let old = std::mem::replace(&mut self.rate, rate.get());
        if self.is_one_second {
            self.capacity = units(rate.get());
            self.stored = scaled(self.stored, u128::from(rate.get()), u128::from(old));
        }
    }

    /// `resync`: idle time since the last debt was paid is stored.
    fn sync(&mut self, now: Time) {
        if now > self.next_free {
            let idle = u128::from(now.since(self.next_free).get());
            self.stored = self.capacity.min(self.stored + idle * u128::from(self.rate));
            self.next_free = now;
        }
    }
}

const fn units(bytes: u64) -> u128 {
    bytes as u128 * PER_BYTE
}

/// `stored * new / old`, divided first so that it fits in 128 bits.
const fn scaled(stored: u128, new: u128, old: u128) -> u128 {
    stored / old * new + stored % old * new / old
}
