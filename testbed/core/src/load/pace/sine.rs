//! `sine`: a rate that goes up and down, as between day and night.

use super::{PaceKind, too_short};
use crate::control::Invalid;
use crate::load::varying::{RateOverTime, Spread, Varying};
use crate::quantity::Rate;
use crate::time::{Nanos, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::f64::consts::TAU;

/// An instant is searched for until it is known to this, in seconds: a quarter of a nanosecond.
const PRECISION_S: f64 = 0.25e-9;
/// Halvings after which a search ends in any case: more than a double has digits.
const MOST_HALVINGS: u32 = 64;

/// Settings of `sine`: `mean + amplitude * sin(2 pi t / period)` arrivals a second.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Arrivals a second over whole periods.
    pub mean: Rate,
    /// By how much the rate rises above the mean and falls below it; not more than the mean.
    pub amplitude: Rate,
    /// From one peak to the next, above 0s. It begins at the mean, rising.
    pub period: Nanos,
    /// How arrivals are spread.
    #[serde(default)]
    pub arrivals: Spread,
}

impl Config {
    /// A file whose amplitude is above the mean is refused; what is built all the same stops at 0.
    fn rate(&self) -> Sine {
        let amplitude = self.amplitude.get().min(self.mean.get());
        let period_s = self.period.as_secs_f64().max(1e-9);
        Sine { mean: self.mean.get(), amplitude, period_s }
    }
}

impl PaceKind for Config {
    type Pace = Varying<Sine>;
    const ABOUT: &'static str = "a rate that goes up and down as a sine";

    fn build(&self) -> Varying<Sine> {
        Varying::new(self.rate(), self.arrivals)
    }

    fn expected(&self, until: Time) -> f64 {
        self.rate().expected(until.as_secs_f64())
    }

    fn invalid(&self) -> Vec<Invalid> {
        let mut invalid = too_short("period", self.period);
        if self.amplitude > self.mean {
            let (amplitude, mean) = (self.amplitude, self.mean);
            let message = format!(
                "an amplitude of {amplitude} takes a mean of {mean} below 0; write {mean} or less"
            );
            invalid.push(Invalid { field: "amplitude", message });
        }
        invalid
    }
}

/// The rate over time.
#[derive(Debug)]
pub struct Sine {
    mean: f64,
    amplitude: f64,
    period_s: f64,
}

impl RateOverTime for Sine {
    /// `mean * t + amplitude * period / 2 pi * (1 - cos(2 pi t / period))`.
    fn expected(&self, at_s: f64) -> f64 {
        let wave = self.amplitude * self.period_s / TAU;
        self.mean * at_s + wave * (1.0 - libm::cos(TAU * at_s / self.period_s))
    }

    /// Whole periods come by division, and within one the interval is halved.
    fn when_s(&self, arrivals: f64) -> f64 {
        let periods = libm::floor(arrivals / (self.mean * self.period_s));
        let rest = arrivals - periods * self.mean * self.period_s;
        let (mut low, mut high) = (0.0, self.period_s);
        for _ in 0..MOST_HALVINGS {
            if high - low < PRECISION_S {
                break;
            }
            let middle = f64::midpoint(low, high);
            if self.expected(middle) < rest { low = middle } else { high = middle }
        }
        periods * self.period_s + f64::midpoint(low, high)
    }
}
