//! Wake lateness: how much after its instant a timer fires.
//!
//! Lateness decides between perfect fairness and total starvation when waiters race: one waiter
//! that is one nanosecond later than the others gets nothing at all.

use super::{Invalid, Waiter};
use crate::rng::Rng;
use crate::time::{Nanos, Time};
use rand::RngExt as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How late timers fire.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Lateness {
    /// On the nanosecond.
    #[default]
    None,
    /// All by the same length.
    Constant(Nanos),
    /// Waiter i by i times this length.
    Step(Nanos),
    /// Waiter i by the i-th length; those beyond the list on time.
    Each(Vec<Nanos>),
    /// At the next multiple of this length, longer than zero.
    Tick(Nanos),
    /// By a random length, uniform from zero to this.
    Jitter(Nanos),
}

impl Lateness {
    /// When a timer set for `at` fires for this waiter: at `at` or later.
    pub fn fires_at(&self, at: Time, waiter: Waiter, rng: &mut Rng) -> Time {
        match self {
            Self::None => at,
            Self::Constant(length) => at.after(*length),
            Self::Step(step) => {
                at.after(Nanos::new(step.get().saturating_mul(u64::from(waiter.id))))
            }
            Self::Each(lengths) => {
                at.after(lengths.get(waiter.id as usize).copied().unwrap_or_default())
            }
            Self::Tick(tick) => {
                let next = at.as_nanos().checked_next_multiple_of(tick.get().max(1));
                Time::from_nanos(next.unwrap_or(u64::MAX))
            }
            Self::Jitter(most) => at.after(Nanos::new(rng.random_range(0..=most.get()))),
        }
    }

    /// Settings that an experiment file should not contain.
    pub fn invalid(&self) -> Vec<Invalid> {
        let message = "a tick of 0s never comes; write 1ms or so".to_owned();
        match self {
            Self::Tick(Nanos::ZERO) => vec![Invalid { field: "lateness", message }],
            _ => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Streams;

    #[test]
    fn timers_are_late_as_told() {
        let ns = Nanos::new;
        let cases = [
            (Lateness::None, 0, 1000),
            (Lateness::Constant(ns(5)), 3, 1005),
            (Lateness::Step(ns(5)), 3, 1015),
            (Lateness::Each(vec![ns(0), ns(7)]), 1, 1007),
            (Lateness::Each(vec![ns(0), ns(7)]), 2, 1000),
            (Lateness::Tick(ns(300)), 0, 1200),
            (Lateness::Tick(ns(500)), 0, 1000),
        ];
        let mut rng = Streams::new(1).stream("limiter");
        for (lateness, id, expected) in cases {
            let waiter = Waiter { id, ..Waiter::default() };
            let fires = lateness.fires_at(Time::from_nanos(1000), waiter, &mut rng);
            assert_eq!(fires.as_nanos(), expected, "{lateness:?}");
        }
        let jitter = Lateness::Jitter(ns(4));
        let draw = |_| jitter.fires_at(Time::ZERO, Waiter::default(), &mut rng).as_nanos();
        assert!((0..100).map(draw).all(|at| at <= 4));
    }
}
