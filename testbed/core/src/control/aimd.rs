//! `aimd`: one more for a success, a tenth less for a drop. Round-trip times do not matter, unless
//! they are beyond a timeout.
//!
//! Source: `AIMDLimit` of Netflix's concurrency-limits (`limit/AIMDLimit.java`, January 2026);
//! every row recorded from it is reproduced (`testbed/vectors/netflix_aimd_*.csv`).
//!
//! ```text
//! drop, or rtt > timeout:     window = floor(window * backoff)
//! success, 2 * in flight >= window:  window + 1        in flight: as of the request's admission
//! else:                       as it is                  clamped to [min, max]
//! ```
//!
//! Worked numbers: from 20 to 200 takes 180 successes, because each counts and not each round trip;
//! one drop takes 100 to 90. A drop is an overload or a timeout; other errors are ignored.
//!
//! Known failures: it knows no queue, so it fills the backend's before it hears of it; and a burst
//! of drops is a decrease each.

use super::{Controller, Decision, Invalid, Law};
use crate::quantity::Coefficient;
use crate::request::{Outcome, Sample};
use crate::rng::Streams;
use crate::time::{Nanos, Time};
use crate::vitals::{Unit, VitalInfo, Vitals};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of `aimd`.
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
    /// A success that took longer counts as a drop.
    pub timeout: Nanos,
}

impl Default for Config {
    fn default() -> Self {
        let backoff = Coefficient::percent(90);
        Self { initial: 20, min: 20, max: 200, backoff, timeout: Nanos::from_secs(5) }
    }
}

const VITALS: &[VitalInfo] = &[
    VitalInfo { name: "drops", unit: Unit::Count, about: "decreases since the run began" },
    VitalInfo { name: "observed_rtt", unit: Unit::Seconds, about: "the last round-trip time" },
];

impl Law for Config {
    type Controller = Aimd;
    const ABOUT: &'static str = "plus one for a success, less a tenth for a drop (Netflix)";
    const VITALS: &'static [VitalInfo] = VITALS;

    fn build(&self, _: &Streams) -> Aimd {
        let window = self.initial.clamp(self.min.max(1), self.max.max(1));
        Aimd { config: self.clone(), window, drops: 0, observed: Nanos::ZERO }
    }

    fn ceiling(&self) -> Option<f64> {
        Some(self.max.max(1).into())
    }

    fn invalid(&self) -> Vec<Invalid> {
        let mut invalid = super::wrong_range(self.initial, self.min, self.max);
        invalid.extend(super::wrong_backoff(self.backoff));
        invalid
    }
}

/// The running law.
#[derive(Debug)]
pub struct Aimd {
    config: Config,
    window: u32,
    drops: u64,
    observed: Nanos,
}

impl Aimd {
    fn moved(&mut self, to: u32, reason: &'static str) -> Decision {
        let old = f64::from(self.window);
        self.window = to.clamp(self.config.min.max(1), self.config.max.max(1));
        Decision::moved(old, f64::from(self.window), reason)
    }

    fn drop(&mut self, reason: &'static str) -> Decision {
        self.drops += 1;
        let left = f64::from(self.window) * self.config.backoff.get();
        self.moved(left as u32, reason)
    }
}

impl Controller for Aimd {
    fn window(&self) -> f64 {
        f64::from(self.window)
    }

    fn limit(&self) -> u64 {
        u64::from(self.window)
    }

    fn on_sample(&mut self, _: Time, sample: &Sample) -> Decision {
        match sample.outcome {
            Outcome::Overload => return self.drop("overload"),
            Outcome::Timeout => return self.drop("timeout"),
            Outcome::Error | Outcome::Cancelled => return Decision::Waiting,
            Outcome::Success => {}
        }
        self.observed = sample.rtt();
        if sample.rtt() > self.config.timeout {
            return self.drop("slow");
        }
        if u64::from(sample.in_flight_at_start) * 2 < u64::from(self.window) {
            return Decision::Waiting;
        }
        self.moved(self.window.saturating_add(1), "success")
    }

    fn vitals(&self, vitals: &mut Vitals) {
        vitals.push("drops", self.drops as f64);
        if self.observed > Nanos::ZERO {
            vitals.push("observed_rtt", self.observed.as_secs_f64());
        }
    }
}
