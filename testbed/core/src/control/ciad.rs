//! `ciad`: cautious increase, aggressive decrease. One more for a window of successes, a tenth less for
//! each drop; round-trip times do not matter.
//!
//! Source: `CautiousIncreaseAggressiveDecreaseConcurrencyLimiter` of Palantir's dialogue
//! (`dialogue-core`, October 2024).
//!
//! ```text
//! success, in flight >= floor(0.9 * window):  window + 1 / window     in flight: as of the admission
//! drop:                                       max(min, floor(0.9 * window))
//! else:                                       as it is                 at most max
//! ```
//!
//! Worked numbers: a success adds `1 / window`, so n successes take w to `sqrt(w^2 + 2n)`, nearly: from
//! 20 to 21 in 21, from 20 to 40 in 600. Drops take 100 to 90, 81, 72, 64, 57. A drop is an overload or a
//! timeout.
//!
//! Known failures: it knows no queue, so it fills the backend's before it hears of it; a burst of drops
//! is a decrease each, and what that takes comes back by one a window.

use super::{Controller, Decision, Invalid, Law, wrong_backoff, wrong_range};
use crate::quantity::Coefficient;
use crate::request::Sample;
use crate::rng::Streams;
use crate::time::Time;
use crate::vitals::{Unit, VitalInfo, Vitals};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The share of the window that has to be used for it to grow.
const USED: f64 = 0.9;

/// Settings of `ciad`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The first window, within `min` to `max`.
    pub initial: u32,
    /// The floor, 1 or more.
    pub min: u32,
    /// The ceiling.
    pub max: u32,
    /// What a drop leaves of the window, below 1.
    pub backoff: Coefficient,
}

impl Default for Config {
    fn default() -> Self {
        Self { initial: 20, min: 1, max: 1_000_000, backoff: Coefficient::percent(90) }
    }
}

impl Law for Config {
    type Controller = Ciad;
    const ABOUT: &'static str = "plus 1/window for a success, less a tenth for a drop (dialogue)";
    const VITALS: &'static [VitalInfo] =
        &[VitalInfo { name: "drops", unit: Unit::Count, about: "decreases since the run began" }];

    fn build(&self, _: &Streams) -> Ciad {
        let max = f64::from(self.max.max(1));
        let min = f64::from(self.min.max(1)).min(max);
        let window = f64::from(self.initial).clamp(min, max);
        Ciad { min, max, backoff: self.backoff.get(), window, drops: 0 }
    }

    fn ceiling(&self) -> Option<f64> {
        Some(self.max.max(1).into())
    }

    fn invalid(&self) -> Vec<Invalid> {
        let mut invalid = wrong_range(self.initial, self.min, self.max);
        invalid.extend(wrong_backoff(self.backoff));
        invalid
    }
}

/// The running law.
#[derive(Debug)]
pub struct Ciad {
    min: f64,
    max: f64,
    backoff: f64,
    window: f64,
    drops: u64,
}

impl Ciad {
    fn replace(&mut self, raw: f64, reason: &'static str) -> Decision {
        let old = self.window;
        self.window = raw.clamp(self.min, self.max);
        Decision::moved(old, self.window, reason)
    }
}

impl Controller for Ciad {
    fn window(&self) -> f64 {
        self.window
    }

    fn limit(&self) -> u64 {
        self.window as u64
    }

    fn on_sample(&mut self, _: Time, sample: &Sample) -> Decision {
        match sample.outcome.dropped() {
            None => Decision::Waiting,
            Some(true) => {
                self.drops += 1;
                self.replace(libm::floor(self.window * self.backoff), "drop")
            }
            Some(false)
                if f64::from(sample.in_flight_at_start) < libm::floor(self.window * USED) =>
            {
                Decision::Waiting
            }
            Some(false) => self.replace(self.window + 1.0 / self.window, "success"),
        }
    }

    fn vitals(&self, vitals: &mut Vitals) {
        vitals.push("drops", self.drops as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Outcome;

    fn sample(in_flight: u32, outcome: Outcome) -> Sample {
        Sample {
            start: Time::ZERO,
            sent: Time::ZERO,
            end: Time::from_nanos(10_000_000),
            in_flight_at_start: in_flight,
            in_flight_at_end: in_flight,
            limit_at_start: u64::from(in_flight),
            outcome,
            bytes: 0,
        }
    }

    fn successes_until(limit: u64) -> u32 {
        let mut law = Config::default().build(&Streams::new(1));
        let success = sample(1_000, Outcome::Success);
        (0..)
            .find(|_| {
                law.limit() >= limit || law.on_sample(Time::ZERO, &success) == Decision::Waiting
            })
            .unwrap()
    }

    #[test]
    fn a_window_of_successes_adds_one() {
        assert_eq!(successes_until(21), 21);
        assert_eq!(successes_until(40), 600);
    }

    #[test]
    fn an_unused_window_does_not_grow_and_each_drop_takes_a_tenth() {
        let mut law = Config { initial: 100, ..Config::default() }.build(&Streams::new(1));
        assert_eq!(law.on_sample(Time::ZERO, &sample(89, Outcome::Success)), Decision::Waiting);
        for limit in [90, 81, 72, 64, 57] {
            let _ = law.on_sample(Time::ZERO, &sample(1, Outcome::Overload));
            assert_eq!(law.limit(), limit);
        }
    }
}
