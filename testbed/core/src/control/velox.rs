//! `velox`: the gradient law of the Velox query engine's RPC window, with either storage.
//!
//! Source: `CongestionController.{h,cpp}` in facebookincubator/velox; `window: integer` as merged
//! in #17886, `window: double` as in #18603. Every 8 samples (there is no clock in it):
//!
//! ```text
//! observed = min of the 8 RTTs
//! g        = clamp(baseline / observed, 0.5, 1)      baseline from before this window
//! window   = window * g + step * sqrt(window)        integer: truncated; then clamped to [min, max]
//! baseline = trunc(0.9 * baseline + 0.1 * observed)  whole nanoseconds in both storages
//! ```
//!
//! The first full window only sets the baseline. An overload halves the window, drops the samples
//! gathered so far and keeps the baseline; at the floor it changes nothing and is no update.
//!
//! Worked numbers. At a held g = 0.7 the fixed point is `(step / (1 - g))^2 = 11.1`. From 2:
//! `2 * 0.7 + sqrt(2) = 2.81`, which `double` keeps and `integer` truncates to 2, for ever. An
//! integer window of 2 grows only if `2g + sqrt(2) >= 3`, that is g >= 0.793; a window of 1 only if
//! g = 1 exactly, and since the baseline is truncated too, it stops just short of a constant higher
//! RTT and g never gets there.

use super::{Controller, Decision, Invalid, Law, Update};
use crate::request::{Outcome, Sample};
use crate::rng::Streams;
use crate::time::{Nanos, Time};
use crate::vitals::{Unit, VitalInfo, Vitals};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Samples in a window of measurement: `kSamplesPerWindow`.
pub const SAMPLES_PER_WINDOW: u32 = 8;
/// Weight of the newest window in the baseline: `kBaselineSmoothing`.
pub const BASELINE_SMOOTHING: f64 = 0.1;
/// The gradient is clamped to [0.5, 1]: it never shrinks faster than by half, never grows by itself.
pub const GRADIENT_MIN: f64 = 0.5;

/// How the law keeps its window between updates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Storage {
    /// A whole number, truncated at each update (before the fix).
    Integer,
    /// A floating-point number; the limit is its floor (after the fix).
    Double,
}

/// Where a window starts and ends in the engine's two streaming modes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Preset {
    /// One RPC a row: start at the maximum of 100.
    PerRow,
    /// One RPC a batch: start at 2, maximum 256.
    Batch,
}

/// Settings of `velox`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Defaults for `start` and `max`.
    pub preset: Preset,
    /// How the window is kept between updates.
    pub window: Storage,
    /// The first window, within min to max. Default: 2 for `batch`, `max` for `per_row`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<i64>,
    /// The floor, 1 or more.
    pub min: i64,
    /// The ceiling. Default: 256 for `batch`, 100 for `per_row`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<i64>,
    /// Coefficient of the growth term `sqrt(window)`, 0 or more (`stepCoef`).
    pub step: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            preset: Preset::Batch,
            window: Storage::Double,
            start: None,
            min: 1,
            max: None,
            step: 1.0,
        }
    }
}

impl Config {
    fn max(&self) -> i64 {
        self.max.unwrap_or(match self.preset {
            Preset::PerRow => 100,
            Preset::Batch => 256,
        })
    }

    fn start(&self) -> i64 {
        self.start.unwrap_or_else(|| match self.preset {
            Preset::PerRow => self.max(),
            Preset::Batch => 2.max(self.min).min(self.max()),
        })
    }
}

impl Law for Config {
    type Controller = Velox;
    const ABOUT: &'static str = "Velox's gradient law on windows of 8 samples; `window: integer` stalls, `double` is the fix";
    const VITALS: &'static [VitalInfo] = &[
        vital("gradient", Unit::Ratio, "baseline over observed RTT, clamped to [0.5, 1]"),
        vital("baseline_rtt", Unit::Seconds, "moving average of the observed RTTs, weight 0.1"),
        vital("observed_rtt", Unit::Seconds, "least of the last 8 RTTs"),
        vital("shrinks", Unit::Count, "how often the limit fell"),
        vital("recomputations", Unit::Count, "how often a gradient moved the window"),
    ];

    fn build(&self, _: &Streams) -> Velox {
        let max = self.max().max(1);
        let min = self.min.clamp(1, max);
        Velox {
            storage: self.window,
            min: min as f64,
            max: max as f64,
            step: self.step.max(0.0),
            window: self.start().clamp(min, max) as f64,
            ..Velox::INERT
        }
    }

    fn ceiling(&self) -> Option<f64> {
        Some(self.max().max(1) as f64)
    }

    fn invalid(&self) -> Vec<Invalid> {
        let (min, max, start) = (self.min, self.max(), self.start());
        let mut invalid = Vec::new();
        let mut refuse = |wrong: bool, field, message: String| {
            if wrong {
                invalid.push(Invalid { field, message });
            }
        };
        refuse(min < 1, "min", format!("min {min} is below 1; a window of 0 admits nothing"));
        refuse(min > max, "min", format!("min {min} is above max {max}; swap them or raise max"));
        refuse(
            min <= max && !(min..=max).contains(&start),
            "start",
            format!("start {start} is outside min {min} to max {max}"),
        );
        refuse(
            !(self.step.is_finite() && self.step >= 0.0),
            "step",
            format!("step {} is not a number from 0 upwards", self.step),
        );
        invalid
    }
}

const fn vital(name: &'static str, unit: Unit, about: &'static str) -> VitalInfo {
    VitalInfo { name, unit, about }
}

/// The running law.
#[derive(Debug)]
pub struct Velox {
    storage: Storage,
    min: f64,
    max: f64,
    step: f64,
    /// The window. Whole if the storage is integer; exact, since it stays far below 2^53.
    window: f64,
    baseline_ns: u64,
    least_rtt_ns: u64,
    samples: u32,
    shrinks: u64,
    recomputations: u64,
    gradient: Option<f64>,
    observed_ns: Option<u64>,
}

impl Velox {
    const INERT: Self = Self {
        storage: Storage::Double,
        min: 1.0,
        max: 1.0,
        step: 1.0,
        window: 1.0,
        baseline_ns: 0,
        least_rtt_ns: u64::MAX,
        samples: 0,
        shrinks: 0,
        recomputations: 0,
        gradient: None,
        observed_ns: None,
    };

    /// How often the limit fell.
    pub const fn shrinks(&self) -> u64 {
        self.shrinks
    }

    fn on_rtt(&mut self, rtt: Nanos) -> Decision {
        if rtt == Nanos::ZERO {
            return Decision::Waiting;
        }
        self.least_rtt_ns = self.least_rtt_ns.min(rtt.get());
        self.samples += 1;
        if self.samples < SAMPLES_PER_WINDOW {
            return Decision::Waiting;
        }
        let observed_ns = self.least_rtt_ns;
        self.forget_samples();
        self.observed_ns = Some(observed_ns);
        if self.baseline_ns == 0 {
            self.baseline_ns = observed_ns;
            return self.replace_window(self.window, "first_baseline");
        }
        self.recompute(observed_ns as f64)
    }

    /// Steps 6 to 9 of the law: both terms use the same old window, and the old baseline.
    fn recompute(&mut self, observed: f64) -> Decision {
        let baseline = self.baseline_ns as f64;
        let gradient = (baseline / observed).clamp(GRADIENT_MIN, 1.0);
        self.gradient = Some(gradient);
        self.recomputations += 1;
        let grown = self.window * gradient + self.step * libm::sqrt(self.window);
        let decision = self.replace_window(grown, "gradient");
        self.baseline_ns =
            ((1.0 - BASELINE_SMOOTHING) * baseline + BASELINE_SMOOTHING * observed) as u64;
        decision
    }

    fn on_overload(&mut self) -> Decision {
        self.forget_samples();
        // Neither had a part in this update.
        (self.gradient, self.observed_ns) = (None, None);
        match self.replace_window(self.window / 2.0, "overload") {
            // The floor stopped it: a storm would fill the journal with updates of nothing.
            Decision::Updated(update) if update.old == update.new => Decision::Waiting,
            decision => decision,
        }
    }

    fn forget_samples(&mut self) {
        self.samples = 0;
        self.least_rtt_ns = u64::MAX;
    }

    fn replace_window(&mut self, raw: f64, reason: &'static str) -> Decision {
        let (old, old_limit) = (self.window, self.limit());
        let stored = match self.storage {
            Storage::Integer => libm::trunc(raw),
            Storage::Double => raw,
        };
        self.window = stored.clamp(self.min, self.max);
        self.shrinks += u64::from(self.limit() < old_limit);
        Decision::Updated(Update { old, new: self.window, limit: self.limit(), reason })
    }
}

impl Controller for Velox {
    fn window(&self) -> f64 {
        self.window
    }

    fn limit(&self) -> u64 {
        self.window as u64
    }

    fn on_sample(&mut self, _: Time, sample: &Sample) -> Decision {
        match sample.outcome {
            Outcome::Success => self.on_rtt(sample.rtt()),
            Outcome::Overload => self.on_overload(),
            Outcome::Error | Outcome::Timeout | Outcome::Cancelled => Decision::Waiting,
        }
    }

    fn baseline_rtt(&self) -> Option<Nanos> {
        (self.baseline_ns > 0).then(|| Nanos::new(self.baseline_ns))
    }

    fn vitals(&self, vitals: &mut Vitals) {
        if let Some(gradient) = self.gradient {
            vitals.push("gradient", gradient);
        }
        if let Some(baseline) = self.baseline_rtt() {
            vitals.push("baseline_rtt", baseline.as_secs_f64());
        }
        if let Some(observed_ns) = self.observed_ns {
            vitals.push("observed_rtt", Nanos::new(observed_ns).as_secs_f64());
        }
        vitals.push("shrinks", self.shrinks as f64);
        vitals.push("recomputations", self.recomputations as f64);
    }
}
