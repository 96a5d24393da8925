//! The tokens: they come in lumps.

use super::NANOS_PER_MILLI;
use crate::bucket::BucketConfig;
use crate::limit::quantity::ByteRate;
use crate::time::{Nanos, Time};

/// Parts of a byte, of which a rate of `r` bytes a second brings `r` in each nanosecond.
const PER_BYTE: u128 = 1_000_000_000;

/// What is there, and when the next lump comes.
#[derive(Clone, Debug)]
pub(super) struct Lumps {
    rate: ByteRate,
    /// The lowest rate since the last lump: what the next one brings.
    lowest: ByteRate,
    interval: Nanos,
    capacity: u64,
    balance: u64,
    /// Parts of a byte that the last lump left over.
    rest: u128,
    next: Time,
}

impl Lumps {
    /// At the beginning of the run. Without a bucket, more than anybody asks for.
    pub(super) fn new(bucket: Option<&BucketConfig>, interval: Nanos) -> Self {
        let without_limit = BucketConfig::new(ByteRate::MAX);
        let bucket = bucket.unwrap_or(&without_limit);
        let whole_ms = (interval.get() / NANOS_PER_MILLI).max(1);
        let interval = Nanos::from_millis(whole_ms);
        Self {
            rate: bucket.rate,
            lowest: bucket.rate,
            interval,
            capacity: bucket.capacity(),
            balance: bucket.initial(),
            rest: 0,
            next: Time::ZERO.after(interval),
        }
    }

    /// When the next lump comes.
    pub(super) const fn next(&self) -> Time {
        self.next
    }

    /// Bytes that are there: of lumps that have come and that nobody has taken.
    pub(super) const fn balance(&self) -> u64 {
        self.balance
    }

    /// Takes all of it or nothing.
    pub(super) const fn take(&mut self, bytes: u64) -> bool {
        let is_there = bytes <= self.balance;
        if is_there {
            self.balance -= bytes;
        }
        is_there
    }

    /// Takes as much of it as is there.
    pub(super) fn take_up_to(&mut self, bytes: u64) -> u64 {
        let taken = bytes.min(self.balance);
        self.balance -= taken;
        taken
    }

    /// Gives bytes back; what does not fit is lost.
    pub(super) fn give_back(&mut self, bytes: u64) {
        self.balance = self.balance.saturating_add(bytes).min(self.capacity);
    }

    /// The core woke: one lump, however late it is.
    pub(super) fn come(&mut self, now: Time) {
        self.add(1);
        self.next = now.after(self.interval);
    }

    /// All lumps that were due by now, whether there were any. The rest of a millisecond is forgotten.
    pub(super) fn catch_up(&mut self, now: Time) -> bool {
        if now < self.next {
            return false;
        }
        let since_ms = now.since(self.next).get() / NANOS_PER_MILLI;
        let interval_ms = self.interval.get() / NANOS_PER_MILLI;
        self.add(since_ms / interval_ms + 1);
        self.next = now.after(Nanos::from_millis(interval_ms - since_ms % interval_ms));
        true
    }

    /// Another rate: a lump under way brings what the lower one does.
    pub(super) fn set_rate(&mut self, rate: ByteRate) {
        self.rate = rate;
        self.lowest = self.lowest.min(rate);
    }

    fn add(&mut self, lumps: u64) {
        let each = u128::from(self.lowest.get()) * u128::from(self.interval.get());
        let parts = each.saturating_mul(u128::from(lumps)).saturating_add(self.rest);
        self.rest = parts % PER_BYTE;
        self.give_back(u64::try_from(parts / PER_BYTE).unwrap_or(u64::MAX));
        self.lowest = self.rate;
    }
}
