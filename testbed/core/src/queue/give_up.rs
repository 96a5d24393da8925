//! The longest wait: when a request leaves the queue by a timer of its own, and what such timers get wrong.

use crate::control::Invalid;
use crate::time::{Nanos, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// When a request that waits gives up, by its own timer. The timer is set when it comes, and again by what
/// is left whenever a place is released and it does not get it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GiveUp {
    /// The longest wait, above 0s.
    pub after: Nanos,
    /// What is left is cut to whole multiples of this before the timer is set; exact, if 0s.
    #[serde(default)]
    pub granularity: Nanos,
    /// What a timer means of which nothing is left by that.
    #[serde(default)]
    pub zero: Zero,
    /// What becomes of a place that is granted at the very instant at which the timer fires.
    #[serde(default)]
    pub tie: Tie,
}

/// What a timer of length 0 means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Zero {
    /// The wait is over.
    #[default]
    Now,
    /// It never is, until another place is released: as `Object.wait(0)` of Java.
    Never,
}

/// A place that is granted to somebody who gives up at the same instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Tie {
    /// It leaves, and the place goes to another.
    #[default]
    Leaves,
    /// It leaves, and nobody ever gives the place back: a race that is lost.
    LosesPermit,
}

impl GiveUp {
    /// After a wait of so long, to the nanosecond.
    pub const fn after(after: Nanos) -> Self {
        Self { after, granularity: Nanos::ZERO, zero: Zero::Now, tie: Tie::Leaves }
    }

    /// When one leaves that came at `since`, if no place is released after `released`; `None` if it then
    /// waits without a timer.
    pub fn leaves_at(&self, since: Time, released: Time) -> Option<Time> {
        let set_at = since.max(released);
        let left = since.after(self.after).since(set_at);
        let cut = Nanos::new(left.get().checked_rem(self.granularity.get()).unwrap_or(0));
        let fires = set_at.after(left.minus(cut));
        // Less than a multiple is left when it fires, so the timer that would be set then has length 0.
        (cut == Nanos::ZERO || self.zero == Zero::Now).then_some(fires)
    }

    /// Settings that an experiment file should not contain.
    pub fn invalid(&self) -> Vec<Invalid> {
        let mut invalid = Vec::new();
        if self.after == Nanos::ZERO {
            let message = "a wait of 0s turns everybody away; write 100ms or so".to_owned();
            invalid.push(Invalid { field: "after", message });
        } else if self.granularity > self.after {
            let message =
                "nothing is left of `after` in whole multiples of this; write less".to_owned();
            invalid.push(Invalid { field: "granularity", message });
        }
        invalid
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(us: u64) -> Time {
        Time::ZERO.after(Nanos::from_micros(us))
    }

    #[test]
    fn a_timer_is_set_anew_by_whole_milliseconds_of_what_is_left() {
        let exact = GiveUp::after(Nanos::from_millis(100));
        let cut = GiveUp { granularity: Nanos::from_millis(1), ..exact };
        let parked = GiveUp { zero: Zero::Never, ..cut };
        // All in us: came, last release -> leaves, exact, cut and with a 0 that means never.
        for (since, released, expected) in [
            (0, 0, [Some(100_000), Some(100_000), Some(100_000)]),
            (7_000, 0, [Some(107_000), Some(107_000), Some(107_000)]),
            (0, 30_000, [Some(100_000), Some(100_000), Some(100_000)]),
            (0, 30_300, [Some(100_000), Some(99_300), None]),
            (0, 99_500, [Some(100_000), Some(99_500), None]),
            // The release comes after its end: it looks at the clock, and leaves.
            (0, 130_000, [Some(130_000), Some(130_000), Some(130_000)]),
        ] {
            let leaves =
                [exact, cut, parked].map(|give_up| give_up.leaves_at(us(since), us(released)));
            assert_eq!(leaves, expected.map(|at| at.map(us)), "{since} {released}");
        }
    }
}
