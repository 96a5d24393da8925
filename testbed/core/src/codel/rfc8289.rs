//! The rule of RFC 8289 (Nichols and Jacobson, 2018), for requests in place of packets.

use super::Codel;
use crate::time::{Nanos, Time};

/// A pause of fewer intervals than this between two spells of dropping lets the second go on at the pace
/// that the first had come to (RFC 8289, section 5.5).
const REMEMBERED: u64 = 16;

/// The control law: when the next is due after the `count`-th at `at`.
fn after(codel: Codel, at: Time, count: u32) -> Time {
    at.after(codel.interval.scaled(1.0 / libm::sqrt(f64::from(count))))
}

/// What the rule remembers, with the names of the RFC's pseudocode (section 5.3).
#[derive(Debug, Default)]
pub(super) struct Rfc8289 {
    /// When waits will have been above the target for an interval, if they stay so.
    first_above: Option<Time>,
    state: State,
    drop_next: Time,
    count: u32,
    last_count: u32,
}

/// How far a spell of dropping has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
enum State {
    #[default]
    NotDropping,
    /// The first was just dropped: the next one goes in any case.
    Entered,
    Dropping,
    /// One was just dropped: when the next is due has not been worked out yet.
    Dropped,
}

impl Rfc8289 {
    /// Whether to drop the request whose turn it is at `now`, which has waited so long; `others` wait
    /// behind it.
    pub(super) fn drops(&mut self, codel: Codel, now: Time, waited: Nanos, others: usize) -> bool {
        let too_long = self.too_long(codel, now, waited, others);
        match self.state {
            State::NotDropping => too_long && self.enter(codel, now),
            State::Entered => {
                self.state = State::Dropping;
                false
            }
            State::Dropping | State::Dropped if !too_long => {
                self.state = State::NotDropping;
                false
            }
            State::Dropping => self.drop_if_due(now),
            State::Dropped => {
                self.drop_next = after(codel, self.drop_next, self.count);
                self.drop_if_due(now)
            }
        }
    }

    /// Whether waits have been above the target for an interval (`dodequeue` of the RFC).
    fn too_long(&mut self, codel: Codel, now: Time, waited: Nanos, others: usize) -> bool {
        if waited < codel.target || others == 0 {
            self.first_above = None;
            return false;
        }
        let Some(first_above) = self.first_above else {
            self.first_above = Some(now.after(codel.interval));
            return false;
        };
        now >= first_above
    }

    fn enter(&mut self, codel: Codel, now: Time) -> bool {
        let delta = self.count - self.last_count;
        let recent = now.since(self.drop_next).get() < REMEMBERED * codel.interval.get();
        self.count = if delta > 1 && recent { delta } else { 1 };
        self.last_count = self.count;
        self.drop_next = after(codel, now, self.count);
        self.state = State::Entered;
        true
    }

    fn drop_if_due(&mut self, now: Time) -> bool {
        let due = now >= self.drop_next;
        self.state = if due { State::Dropped } else { State::Dropping };
        self.count = self.count.saturating_add(u32::from(due));
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Time {
        Time::ZERO.after(Nanos::from_millis(ms))
    }

    /// When requests are dropped of a queue from which one is taken each 10 ms from 0 ms on, and in which
    /// each has waited 20 ms but for those between `calm_ms`.
    fn drops(until_ms: u64, calm_ms: std::ops::Range<u64>) -> Vec<u64> {
        let mut control = Rfc8289::default();
        let taken = (0..until_ms / 10).map(|n| 10 * n);
        taken
            .filter(|at| {
                let waited = Nanos::from_millis(if calm_ms.contains(at) { 1 } else { 20 });
                control.drops(Codel::default(), ms(*at), waited, 9)
            })
            .collect()
    }

    #[test]
    fn the_nth_drop_follows_the_one_before_it_by_the_interval_over_the_root_of_n() {
        // Above from 0 ms: the first at 100. Then due at 200, 270.7, 328.4, 378.4, 423.2, 464.0 ms.
        assert_eq!(drops(470, 0..0), [100, 200, 280, 330, 380, 430]);
    }

    #[test]
    fn one_wait_below_the_target_ends_a_spell_and_a_new_one_goes_on_where_it_was() {
        // The spell ends at 340 ms with a count of 4. Above again from 350: the next begins at 450, at a
        // count of 4 - 1 = 3: due 57.7 ms and then 50 ms later.
        assert_eq!(drops(570, 340..350), [100, 200, 280, 330, 450, 510, 560]);
    }

    #[test]
    fn the_last_that_waits_is_never_dropped() {
        let mut control = Rfc8289::default();
        let second = Nanos::from_secs(1);
        assert!((0..100).all(|n| !control.drops(Codel::default(), ms(100 * n), second, 0)));
    }
}
