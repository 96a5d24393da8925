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
//! arithmetic: { integer: S }                  window = w / S, w whole;  a success adds floor(S * S / w)
//! ```
//!
//! Worked numbers: a success adds `1 / window`, so n successes take w to `sqrt(w^2 + 2n)`, nearly: from
//! 20 to 21 in 21, from 20 to 40 in 600. Drops take 100 to 90, 81, 72, 64, 57. A drop is an overload or a
//! timeout. In integers (as TCP counts bytes, S to a request) a success adds nothing once w > S * S: above a
//! window of 1300 at S = 1300, and from 2 on at S = 1 (quinn, issue 975).
//!
//! Known failures: it knows no queue, so it fills the backend's before it hears of it; a burst of drops
//! is a decrease each, and what that takes comes back by one a window.

use super::{Controller, Decision, Invalid, Law, wrong, wrong_backoff, wrong_range};
use crate::quantity::Coefficient;
use crate::request::Sample;
use crate::rng::Streams;
use crate::time::Time;
use crate::vitals::{Unit, VitalInfo, Vitals};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The share of the window that has to be used for it to grow.
const USED: f64 = 0.9;

/// What the window is computed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Precision {
    /// Floating-point numbers.
    Double,
    /// Whole parts of a request, so many to one, 1 or more. What is less than a part is cut off.
    Integer(u32),
}

impl Precision {
    /// What a success adds to `window`, 1 or more.
    fn increment(self, window: f64) -> f64 {
        match self {
            Self::Double => 1.0 / window,
            Self::Integer(parts) => {
                let parts = u64::from(parts.max(1));
                let scaled = libm::round(window * parts as f64) as u64;
                (parts * parts / scaled.max(1)) as f64 / parts as f64
            }
        }
    }
}

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
    /// What the window is computed in.
    pub arithmetic: Precision,
}

impl Default for Config {
    fn default() -> Self {
        let (backoff, arithmetic) = (Coefficient::percent(90), Precision::Double);
        Self { initial: 20, min: 1, max: 1_000_000, backoff, arithmetic }
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
        let (backoff, arithmetic) = (self.backoff.get(), self.arithmetic);
        Ciad { min, max, backoff, arithmetic, window, drops: 0 }
    }

    fn ceiling(&self) -> Option<f64> {
        Some(self.max.max(1).into())
    }

    fn invalid(&self) -> Vec<Invalid> {
        let mut invalid = wrong_range(self.initial, self.min, self.max);
        invalid.extend(wrong_backoff(self.backoff));
        let nothing = self.arithmetic == Precision::Integer(0);
        invalid.extend(wrong(nothing, "arithmetic", "0 parts hold nothing; write 1 or more"));
        invalid
    }
}

/// The running law.
#[derive(Debug)]
pub struct Ciad {
    min: f64,
    max: f64,
    backoff: f64,
    arithmetic: Precision,
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
            Some(false) => {
                let increment = self.arithmetic.increment(self.window);
                self.replace(self.window + increment, "success")
            }
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

    #[test]
    fn whole_parts_stop_growing_above_their_square() {
        for (parts, initial, rests_at) in
            [(1300, 1299, 1_690_001.0 / 1300.0), (1300, 2000, 2000.0), (1, 1, 2.0), (1, 2, 2.0)]
        {
            let arithmetic = Precision::Integer(parts);
            let config = Config { initial, arithmetic, ..Config::default() };
            let mut law = config.build(&Streams::new(1));
            for _ in 0..10_000 {
                let _ = law.on_sample(Time::ZERO, &sample(1_000_000, Outcome::Success));
            }
            assert!((law.window() - rests_at).abs() < 1e-9, "{parts}, {initial}: {}", law.window());
        }
    }
}
