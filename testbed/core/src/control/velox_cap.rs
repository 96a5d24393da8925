//! `velox_cap`: Velox's limiter for a whole tier, an AIMD that cannot stall, because its step is 1 at
//! least.
//!
//! Source: `RPCRateLimiter.cpp` in facebookincubator/velox (August 2026).
//!
//! ```text
//! overload:                max(min, floor(window * factor))
//! success after a cut:     window + max(1, floor(units / window))      units: 1, an answer
//! success before any:      as it is; at max the cut is forgotten
//! ```
//!
//! Worked numbers: from 200, overloads take it to 100 and 50, its floor; 150 successes bring it back,
//! one each, however wide it is. (The original counts each row of a batch.)
//!
//! Known failures: rate limits come fast, and recovery by one a success is fast as well, so it swings
//! between two cuts; and its wake is not a reservation: whoever comes before a woken waiter takes the
//! slot, and the waiter goes to the end. Here the queue of the admission keeps the order, so that part
//! is not there; `peek` among the limiters shows it.

use super::{Controller, Decision, Invalid, Law, wrong_backoff, wrong_range};
use crate::quantity::Coefficient;
use crate::request::{Outcome, Sample};
use crate::rng::Streams;
use crate::time::Time;
use crate::vitals::{Unit, VitalInfo, Vitals};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of `velox_cap`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The floor, 1 or more.
    pub min: u32,
    /// The ceiling, where it begins.
    pub max: u32,
    /// What an overload leaves of the window, below 1. The original keeps it within 0.01 to 0.99.
    pub factor: Coefficient,
}

impl Default for Config {
    fn default() -> Self {
        Self { min: 50, max: 200, factor: Coefficient::percent(50) }
    }
}

impl Law for Config {
    type Controller = VeloxCap;
    const ABOUT: &'static str = "half for an overload, plus one for a success after it (Velox)";
    const VITALS: &'static [VitalInfo] =
        &[VitalInfo { name: "cuts", unit: Unit::Count, about: "overloads that it heard of" }];

    fn build(&self, _: &Streams) -> VeloxCap {
        let max = self.max.max(1);
        let min = self.min.clamp(1, max);
        let factor = self.factor.get().clamp(0.01, 0.99);
        VeloxCap { min, max, factor, window: max, is_cut: false, cuts: 0 }
    }

    fn ceiling(&self) -> Option<f64> {
        Some(self.max.max(1).into())
    }

    fn invalid(&self) -> Vec<Invalid> {
        let mut invalid = wrong_range(self.max, self.min, self.max);
        let renamed = |invalid: Invalid| Invalid { field: "factor", ..invalid };
        invalid.extend(wrong_backoff(self.factor).map(renamed));
        invalid
    }
}

/// The running law.
#[derive(Debug)]
pub struct VeloxCap {
    min: u32,
    max: u32,
    factor: f64,
    window: u32,
    /// Whether it was cut and has not been at its ceiling since.
    is_cut: bool,
    cuts: u64,
}

impl VeloxCap {
    fn replace(&mut self, raw: u32, reason: &'static str) -> Decision {
        let old = self.window();
        self.window = raw.clamp(self.min, self.max);
        Decision::moved(old, self.window(), reason)
    }
}

impl Controller for VeloxCap {
    fn window(&self) -> f64 {
        f64::from(self.window)
    }

    fn limit(&self) -> u64 {
        u64::from(self.window)
    }

    fn on_sample(&mut self, _: Time, sample: &Sample) -> Decision {
        match sample.outcome {
            Outcome::Overload => {
                (self.is_cut, self.cuts) = (true, self.cuts + 1);
                self.replace((f64::from(self.window) * self.factor) as u32, "overload")
            }
            Outcome::Success if self.is_cut => {
                let decision = self.replace(self.window.saturating_add(1), "success");
                self.is_cut = self.window < self.max;
                decision
            }
            _ => Decision::Waiting,
        }
    }

    fn vitals(&self, vitals: &mut Vitals) {
        vitals.push("cuts", self.cuts as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_overloads_take_it_to_its_floor_and_150_successes_bring_it_back() {
        use Outcome::{Overload, Success, Timeout};
        let mut law = Config::default().build(&Streams::new(1));
        for (times, outcome, window) in [
            (5, Success, 200),
            (1, Overload, 100),
            (2, Overload, 50),
            (9, Timeout, 50),
            (149, Success, 199),
            (2, Success, 200),
        ] {
            let sample = Sample {
                start: Time::ZERO,
                sent: Time::ZERO,
                end: Time::from_nanos(1),
                in_flight_at_start: 1,
                in_flight_at_end: 1,
                limit_at_start: 1,
                outcome,
                bytes: 0,
            };
            for _ in 0..times {
                let _ = law.on_sample(Time::ZERO, &sample);
            }
            assert_eq!(law.limit(), window, "{times} {outcome:?}");
        }
    }
}
