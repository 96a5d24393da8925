//! The low-speed abort: a transfer that is too slow for too long is given up.
//!
//! The law is curl's (`CURLOPT_LOW_SPEED_LIMIT`, `CURLOPT_LOW_SPEED_TIME`; `lib/progress.c` and
//! `lib/speedcheck.c`): once a second the speed is the mean between the newest and the oldest of the
//! last six records; below the limit a clock starts, at it or above the clock is reset, and when
//! the clock has run for the time allowed, the transfer is aborted.
//!
//! Worked numbers: 1024 B/s for 30 s. A transfer that gets no byte is aborted 31 s after it began:
//! the clock starts at the first check, one second in. One that gets 16 KiB every 42.7 s is aborted
//! too, though its mean of 384 B/s may be all that its limiter gives it.

use crate::limit::quantity::ByteRate;
use crate::time::{Nanos, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// From one check to the next.
pub const CHECK_EVERY: Nanos = Nanos::from_secs(1);
/// Records that the speed is taken over.
const RECORDS: usize = 6;

/// When a transfer is given up for being slow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LowSpeed {
    /// Slower than this is too slow.
    pub below: ByteRate,
    /// For this long.
    #[serde(rename = "for")]
    pub length: Nanos,
    /// What waiting for the limiter means.
    #[serde(default)]
    pub paused: Paused,
}

/// What a wait for the limiter means to the low-speed abort.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Paused {
    /// Nothing: the transfer is slow. (A client that blocks or buffers; curl before it exempted.)
    #[default]
    Counts,
    /// The transfer is paused: it is not checked, and its records begin anew when it goes on.
    Exempt,
}

/// Watches the speed of one transfer.
#[derive(Clone, Debug, Default)]
pub struct SpeedWatch {
    records: VecDeque<(Time, u64)>,
    slow_since: Option<Time>,
}

impl SpeedWatch {
    /// Forgets everything: the transfer begins, or goes on after a pause.
    pub fn reset(&mut self, now: Time, total: u64) {
        self.slow_since = None;
        self.records.clear();
        self.records.push_back((now, total));
    }

    /// A check, with the bytes that have come in all; whether the transfer is to be given up.
    pub fn check(&mut self, now: Time, total: u64, limit: &LowSpeed) -> bool {
        self.records.push_back((now, total));
        if self.records.len() > RECORDS {
            self.records.pop_front();
        }
        if !self.is_slow(limit) {
            self.slow_since = None;
            return false;
        }
        let since = *self.slow_since.get_or_insert(now);
        now.since(since) >= limit.length
    }

    fn is_slow(&self, limit: &LowSpeed) -> bool {
        let (Some((from, old)), Some((to, new))) = (self.records.front(), self.records.back())
        else {
            return false;
        };
        let allowed = u128::from(to.since(*from).get()) * u128::from(limit.below.get());
        u128::from(new - old) * 1_000_000_000 < allowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The second at which a transfer is aborted to which this many bytes have come by each second.
    fn aborted(total: impl Fn(u64) -> u64) -> Option<u64> {
        let below = ByteRate::per_second(1024).unwrap();
        let limit = LowSpeed { below, length: Nanos::from_secs(30), paused: Paused::Counts };
        let mut watch = SpeedWatch::default();
        watch.reset(Time::ZERO, 0);
        (1..200).find(|second| {
            let now = Time::ZERO.after(Nanos::from_secs(*second));
            watch.check(now, total(*second), &limit)
        })
    }

    #[test]
    fn slow_for_thirty_seconds_is_too_slow() {
        for (what, total, expected) in [
            ("nothing", (|_| 0) as fn(u64) -> u64, Some(31)),
            ("900 B/s", |second| second * 900, Some(31)),
            ("1024 B/s", |second| second * 1024, None),
            // Fast within the last five seconds until second 14; the clock starts at 15.
            (
                "10 KiB in second 10",
                |second| if second < 10 { second * 1024 } else { 10_240 },
                Some(41),
            ),
            ("16 KiB every 30 s", |second| second / 30 * 16_384, None),
            ("16 KiB every 43 s", |second| second / 43 * 16_384, Some(31)),
        ] {
            assert_eq!(aborted(total), expected, "{what}");
        }
    }
}
