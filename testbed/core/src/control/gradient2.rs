//! `gradient2`: the long average of round trips over the newest one, and a constant queue on top.
//!
//! Source: `Gradient2Limit` of Netflix's concurrency-limits (`limit/Gradient2Limit.java`, January
//! 2026); every row recorded from it is reproduced (`testbed/vectors/netflix_gradient2_*.csv`).
//!
//! ```text
//! long     = moving average of the RTTs, weight 2 / (long_window + 1); the plain mean of the first 10
//!            if long > 2 rtt, it is multiplied by 0.95
//! in flight < window / 2: as it is                          in flight: as of the request's admission
//! g        = clamp(tolerance * long / rtt, 0.5, 1)          long from before the 0.95
//! window   = (1 - smoothing) * window + smoothing * (window * g + queue)      clamped to [min, max]
//! ```
//!
//! It is made for the means of [`windowed`](super::windowed); alone, 600 is a number of requests.
//!
//! Worked numbers: at a held g the fixed point is `queue / (1 - g)`: with 4, 20 at 0.8 and 40 at 0.9, so
//! at the default floor of 20 no g up to 0.8 does anything. A permanent tripling of the RTT is
//! forgiven after 208 windows.
//!
//! Known failures: it ignores drops (issues 137 and 176 there), so while every call times out after the
//! same time it climbs to its ceiling; and a g that a modest overload keeps near 1 never settles (134).

use super::{Controller, Decision, Invalid, Law, wrong, wrong_range};
use crate::average::MovingAverage;
use crate::quantity::Coefficient;
use crate::request::Sample;
use crate::rng::Streams;
use crate::time::{Nanos, Time};
use crate::vitals::{Unit, VitalInfo, Vitals};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Samples of which the long average is a plain mean.
const WARM_UP: u32 = 10;
/// How fast a long average that is far too long comes down.
const RECOVERY: f64 = 0.95;

/// Settings of `gradient2`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The first window, within `min` to `max`.
    pub initial: u32,
    /// The floor, 1 or more.
    pub min: u32,
    /// The ceiling.
    pub max: u32,
    /// Weight of the newest window against the one before, above 0.
    pub smoothing: Coefficient,
    /// Requests added in each update: the queue that it allows itself.
    pub queue: u32,
    /// Samples that the long average spans, 1 or more.
    pub long_window: u32,
    /// How many times the long average an RTT may be before the window shrinks, 1 or more.
    pub tolerance: f64,
}

impl Default for Config {
    fn default() -> Self {
        let smoothing = Coefficient::percent(20);
        let (initial, min, max) = (20, 20, 200);
        Self { initial, min, max, smoothing, queue: 4, long_window: 600, tolerance: 1.5 }
    }
}

const VITALS: &[VitalInfo] = &[
    VitalInfo {
        name: "gradient",
        unit: Unit::Ratio,
        about: "tolerance times the long average over the RTT, clamped to [0.5, 1]",
    },
    VitalInfo { name: "baseline_rtt", unit: Unit::Seconds, about: "the long average of the RTTs" },
    VitalInfo { name: "observed_rtt", unit: Unit::Seconds, about: "the last RTT" },
];

impl Law for Config {
    type Controller = Gradient2;
    const ABOUT: &'static str =
        "the long average RTT over the newest one, plus a constant queue (Netflix)";
    const VITALS: &'static [VitalInfo] = VITALS;

    fn build(&self, _: &Streams) -> Gradient2 {
        let max = f64::from(self.max.max(1));
        let min = f64::from(self.min.max(1)).min(max);
        Gradient2 {
            min,
            max,
            smoothing: self.smoothing.get(),
            queue: self.queue.into(),
            tolerance: self.tolerance.max(0.0),
            window: f64::from(self.initial).clamp(min, max),
            long: MovingAverage::new(self.long_window, WARM_UP),
            gradient: None,
            observed: Nanos::ZERO,
        }
    }

    fn ceiling(&self) -> Option<f64> {
        Some(self.max.max(1).into())
    }

    fn invalid(&self) -> Vec<Invalid> {
        let mut invalid = wrong_range(self.initial, self.min, self.max);
        let tolerant = self.tolerance.is_finite() && self.tolerance >= 1.0;
        let still = self.smoothing.get() == 0.0;
        invalid.extend(wrong(still, "smoothing", "at 0 the window never moves; write 0.2 or so"));
        invalid.extend(wrong(self.long_window == 0, "long_window", "write 1 sample or more"));
        invalid.extend(wrong(!tolerant, "tolerance", "write a number from 1 up, such as 1.5"));
        invalid
    }
}

/// The running law.
#[derive(Debug)]
pub struct Gradient2 {
    min: f64,
    max: f64,
    smoothing: f64,
    queue: f64,
    tolerance: f64,
    window: f64,
    long: MovingAverage,
    gradient: Option<f64>,
    observed: Nanos,
}

impl Gradient2 {
    /// Takes an RTT into the long average, and says what that was before it was brought down.
    fn lengthen(&mut self, rtt: f64) -> f64 {
        let long = self.long.add(rtt);
        if long / rtt > 2.0 {
            self.long.scale(RECOVERY);
        }
        long
    }
}

impl Controller for Gradient2 {
    fn window(&self) -> f64 {
        self.window
    }

    fn limit(&self) -> u64 {
        self.window as u64
    }

    fn on_sample(&mut self, _: Time, sample: &Sample) -> Decision {
        if sample.outcome.dropped().is_none() || sample.rtt() == Nanos::ZERO {
            return Decision::Waiting;
        }
        self.observed = sample.rtt();
        let rtt = sample.rtt().get() as f64;
        let long = self.lengthen(rtt);
        if f64::from(sample.in_flight_at_start) < self.window / 2.0 {
            return Decision::Waiting;
        }
        let gradient = (self.tolerance * long / rtt).clamp(0.5, 1.0);
        self.gradient = Some(gradient);
        let (old, raw) = (self.window, self.window * gradient + self.queue);
        let smoothed = old * (1.0 - self.smoothing) + raw * self.smoothing;
        self.window = smoothed.clamp(self.min, self.max);
        Decision::moved(old, self.window, "gradient")
    }

    fn baseline_rtt(&self) -> Option<Nanos> {
        self.long.get().map(|ns| Nanos::new(ns as u64))
    }

    fn vitals(&self, vitals: &mut Vitals) {
        if let Some(gradient) = self.gradient {
            vitals.push("gradient", gradient);
        }
        if let Some(baseline) = self.baseline_rtt() {
            vitals.push("baseline_rtt", baseline.as_secs_f64());
            vitals.push("observed_rtt", self.observed.as_secs_f64());
        }
    }
}
