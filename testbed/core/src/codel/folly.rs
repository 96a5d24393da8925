//! The rule of folly's executors: whether a queue is overloaded is decided once an interval, by the least
//! wait in it, and while it is, all that have waited for more than twice the target are turned away.

use super::Codel;
use crate::time::{Nanos, Time};

/// What the rule remembers.
#[derive(Debug, Default)]
pub(super) struct Folly {
    /// When the interval ends.
    until: Time,
    /// The least wait in it so far.
    least: Nanos,
    /// Whether even the least wait of the interval before was above the target.
    overloaded: bool,
}

impl Folly {
    /// Whether to drop the request whose turn it is at `now`, which has waited so long. The first of an
    /// interval never is.
    pub(super) fn drops(&mut self, codel: Codel, now: Time, waited: Nanos) -> bool {
        if now >= self.until {
            self.overloaded = self.least > codel.target;
            (self.until, self.least) = (now.after(codel.interval), waited);
            return false;
        }
        self.least = self.least.min(waited);
        self.overloaded && waited > codel.target.plus(codel.target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_whose_least_wait_was_too_long_drops_all_above_twice_the_target_in_the_next() {
        // Target 5 ms, interval 100 ms. Instant and wait in ms, and whether it is dropped.
        let table = [
            (0, 6, false),
            (50, 20, false),
            // The least was 6 ms: overloaded from here on, but the first of an interval goes.
            (100, 20, false),
            (110, 10, false),
            (120, 11, true),
            (130, 50, true),
            // The least was 10 ms: still overloaded. One short wait ends it with this interval, not before.
            (200, 50, false),
            (210, 1, false),
            (220, 50, true),
            (300, 50, false),
            (310, 50, false),
        ];
        let mut folly = Folly::default();
        for (at, waited, dropped) in table {
            let (now, waited) =
                (Time::ZERO.after(Nanos::from_millis(at)), Nanos::from_millis(waited));
            assert_eq!(folly.drops(Codel::default(), now, waited), dropped, "at {at} ms");
        }
    }
}
