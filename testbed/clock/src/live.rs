//! The clock of a live run.

use std::time::{Instant, SystemTime, UNIX_EPOCH};
use testbed_core::time::{Nanos, Time};

/// The clock of a live run: monotonic, and zero when it was started. Copies tell the same time.
#[derive(Clone, Copy, Debug)]
pub struct LiveClock {
    epoch: Instant,
}

impl LiveClock {
    /// A clock that reads [`Time::ZERO`] now.
    #[expect(clippy::disallowed_methods, reason = "the one reader of the monotonic clock")]
    pub fn start() -> Self {
        Self { epoch: Instant::now() }
    }

    /// Time since the start; never goes back.
    pub fn now(&self) -> Time {
        let since_start = self.epoch.elapsed().as_nanos();
        Time::from_nanos(u64::try_from(since_start).unwrap_or(u64::MAX))
    }

    /// How long until `at`; zero if it has passed.
    pub fn until(&self, at: Time) -> Nanos {
        at.since(self.now())
    }
}

/// Whole seconds since 1970-01-01 00:00 UTC, for names of run directories. Steps with the wall
/// clock, so never measure with it.
pub fn unix_seconds() -> u64 {
    unix_now().get() / 1_000_000_000
}

/// Time since 1970-01-01 00:00 UTC, for dates in headers. Steps with the wall clock, so never measure
/// with it.
#[expect(clippy::disallowed_methods, reason = "the one reader of the wall clock")]
pub fn unix_now() -> Nanos {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Nanos::new(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_near_zero_and_never_goes_back() {
        let clock = LiveClock::start();
        let times: Vec<Time> = (0..1000).map(|_| clock.now()).collect();
        assert!(times.is_sorted());
        assert!(times[0] < Time::ZERO.after(Nanos::from_secs(60)));
    }

    #[test]
    fn copies_tell_the_same_time() {
        let clock = LiveClock::start();
        let copy = clock;
        let (before, between, after) = (clock.now(), copy.now(), clock.now());
        assert!(before <= between && between <= after);
    }

    #[test]
    fn nothing_is_left_until_a_time_that_has_passed() {
        assert_eq!(LiveClock::start().until(Time::ZERO), Nanos::ZERO);
    }

    #[test]
    fn the_wall_clock_is_past_2020() {
        assert!(unix_seconds() > 1_577_836_800);
    }
}
