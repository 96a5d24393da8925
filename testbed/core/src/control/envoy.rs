//! `envoy`: a percentile of round trips against one that was measured with few requests in flight.
//!
//! Source: the gradient controller of Envoy's `adaptive_concurrency` filter
//! (`controller/gradient_controller.cc`, August 2026).
//!
//! ```text
//! each update_interval, unless the minimum is being measured or nothing was answered:
//!     g      = clamp(min_rtt * (1 + buffer) / sample_rtt, 0.5, 2)      percentiles of the same kind
//!     window = floor(window * g + sqrt(window * g))                    clamped to [min, max]
//! each min_rtt_interval and up to jitter of it more, by chance, and after 5 updates at the floor:
//!     the window is set to min_rtt_concurrency until min_rtt_samples requests of this time are
//!     answered; their percentile is min_rtt; then the window is what it was
//! ```
//!
//! With a `min` of its own the window is left alone while the minimum is measured. Every answer is a
//! sample, whatever it says; what was given up is none.
//!
//! Worked numbers: at a held g the fixed point is `g / (1 - g)^2`: 20 at 0.8, 90 at 0.9. At the best g of
//! an idle backend, 1.25, 3 grows to 1000 in 17 updates.
//!
//! Known failures: it grows without being used, so a spike after an idle time is let in whole; fast
//! errors look like a fast backend; and while the minimum is measured, a window has to drain first,
//! requests are held back, and at a low rate it takes long, for nothing ends it but answers.

use super::{Controller, Decision, Invalid, Law, wrong, wrong_range};
use crate::quantile::Quantiles;
use crate::quantity::Coefficient;
use crate::request::{Outcome, Sample};
use crate::rng::{Rng, Streams};
use crate::time::{Nanos, Time};
use crate::vitals::{Unit, VitalInfo, Vitals};
use rand::RngExt as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Updates at the floor after which the minimum is measured anew.
const UPDATES_AT_FLOOR: u32 = 5;

/// Settings of `envoy`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// From one update of the window to the next, above 0.
    pub update_interval: Nanos,
    /// Which percentile of the RTTs counts.
    pub percentile: Coefficient,
    /// The floor. Default: `min_rtt_concurrency`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<u32>,
    /// The ceiling.
    pub max: u32,
    /// How much above the minimum an RTT may be, as a part of it.
    pub buffer: Coefficient,
    /// From one measurement of the minimum to the next, above 0.
    pub min_rtt_interval: Nanos,
    /// The most that is added to that by chance, as a part of it.
    pub jitter: Coefficient,
    /// Answers that a measurement of the minimum needs, 1 or more.
    pub min_rtt_samples: u32,
    /// The window while the minimum is measured, 1 or more.
    pub min_rtt_concurrency: u32,
    /// A minimum RTT that is known; then it is never measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fixed_min_rtt: Option<Nanos>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            update_interval: Nanos::from_millis(100),
            percentile: Coefficient::percent(50),
            min: None,
            max: 1000,
            buffer: Coefficient::percent(25),
            min_rtt_interval: Nanos::from_secs(60),
            jitter: Coefficient::percent(15),
            min_rtt_samples: 50,
            min_rtt_concurrency: 3,
            fixed_min_rtt: None,
        }
    }
}

impl Config {
    fn min(&self) -> u32 {
        self.min.unwrap_or(self.min_rtt_concurrency)
    }
}

const VITALS: &[VitalInfo] = &[
    VitalInfo {
        name: "gradient",
        unit: Unit::Ratio,
        about: "minimum RTT and buffer over the sampled RTT, clamped to [0.5, 2]",
    },
    VitalInfo { name: "baseline_rtt", unit: Unit::Seconds, about: "the measured minimum RTT" },
    VitalInfo { name: "observed_rtt", unit: Unit::Seconds, about: "the sampled RTT" },
    VitalInfo { name: "measuring", unit: Unit::Ratio, about: "1 while the minimum is measured" },
    VitalInfo { name: "measurements", unit: Unit::Count, about: "measurements of the minimum" },
];

impl Law for Config {
    type Controller = Envoy;
    const ABOUT: &'static str = "percentile RTTs against a minimum that is measured apart (Envoy)";
    const VITALS: &'static [VitalInfo] = VITALS;

    fn build(&self, streams: &Streams) -> Envoy {
        let max = f64::from(self.max.max(1));
        let min = f64::from(self.min().max(1)).min(max);
        let mut law = Envoy {
            config: self.clone(),
            rng: streams.stream("controller"),
            min,
            max,
            window: min,
            baseline: self.fixed_min_rtt,
            rtts: Quantiles::default(),
            phase: Phase::Sampling { update_at: Time::ZERO, measure_at: None },
            at_floor: 0,
            last: None,
            measurements: 0,
        };
        match self.fixed_min_rtt {
            Some(_) => law.sample_from(Time::ZERO, None),
            None => law.phase = Phase::Measuring { since: Time::ZERO, restore: min },
        }
        law
    }

    fn ceiling(&self) -> Option<f64> {
        Some(self.max.max(1).into())
    }

    fn invalid(&self) -> Vec<Invalid> {
        let mut invalid = wrong_range(self.min().max(1), self.min(), self.max);
        let zero = |length| length == Nanos::ZERO;
        for (field, wrong_value, message) in [
            ("update_interval", zero(self.update_interval), "this takes time; write 100ms or so"),
            ("min_rtt_interval", zero(self.min_rtt_interval), "this takes time; write 60s or so"),
            ("min_rtt_samples", self.min_rtt_samples == 0, "write 1 answer or more"),
            (
                "min_rtt_concurrency",
                self.min_rtt_concurrency == 0,
                "0 admits nothing; write 1 or more",
            ),
            (
                "fixed_min_rtt",
                self.fixed_min_rtt.is_some_and(zero),
                "this takes time; write 10ms or so",
            ),
        ] {
            invalid.extend(wrong(wrong_value, field, message));
        }
        invalid
    }
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    /// The minimum is measured from requests that began `since` then; the window to return to.
    Measuring { since: Time, restore: f64 },
    /// Updates, and the next measurement, if the minimum is not known for good.
    Sampling { update_at: Time, measure_at: Option<Time> },
}

/// The running law.
#[derive(Debug)]
pub struct Envoy {
    config: Config,
    rng: Rng,
    min: f64,
    max: f64,
    window: f64,
    baseline: Option<Nanos>,
    rtts: Quantiles,
    phase: Phase,
    /// Updates in a row that ended at the floor.
    at_floor: u32,
    /// The sampled RTT and the gradient of the last update.
    last: Option<(Nanos, f64)>,
    measurements: u64,
}

impl Envoy {
    fn sample_from(&mut self, now: Time, measure_at: Option<Time>) {
        self.rtts.clear();
        self.phase = Phase::Sampling { update_at: now.after(self.tick()), measure_at };
    }

    /// The update interval. A run must not stand still, so it is 1 ns at least.
    fn tick(&self) -> Nanos {
        self.config.update_interval.max(Nanos::new(1))
    }

    fn measure_from(&mut self, now: Time) -> Decision {
        self.rtts.clear();
        (self.at_floor, self.last) = (0, None);
        self.phase = Phase::Measuring { since: now, restore: self.window };
        let few = f64::from(self.config.min_rtt_concurrency.max(1));
        let window = if self.config.min.is_some() { self.window } else { few.min(self.max) };
        self.replace(window, "measure")
    }

    fn measured(&mut self, now: Time, restore: f64) -> Decision {
        self.baseline = self.rtts.get(self.config.percentile.get());
        self.measurements += 1;
        let by_chance = self.config.jitter.get() * self.rng.random::<f64>();
        let interval = self.config.min_rtt_interval.max(self.tick());
        self.sample_from(now, Some(now.after(interval.scaled(1.0 + by_chance))));
        self.replace(restore, "measured")
    }

    fn update(&mut self, now: Time) -> Decision {
        if let Phase::Sampling { update_at, .. } = &mut self.phase {
            *update_at = now.after(self.config.update_interval.max(Nanos::new(1)));
        }
        let observed = self.rtts.get(self.config.percentile.get());
        let Some((observed, tolerated)) = observed.zip(self.tolerated()) else {
            return Decision::Waiting;
        };
        self.rtts.clear();
        let gradient = (tolerated / observed.get() as f64).clamp(0.5, 2.0);
        self.last = Some((observed, gradient));
        let shrunk = self.window * gradient;
        let decision = self.replace(libm::floor(shrunk + libm::sqrt(shrunk)), "gradient");
        self.at_floor = if self.window <= self.min { self.at_floor + 1 } else { 0 };
        decision
    }

    /// Nanoseconds up to which an RTT is no sign of congestion.
    fn tolerated(&self) -> Option<f64> {
        Some(self.baseline?.get() as f64 * (1.0 + self.config.buffer.get()))
    }

    fn replace(&mut self, raw: f64, reason: &'static str) -> Decision {
        let old = self.window;
        self.window = raw.clamp(self.min, self.max);
        Decision::moved(old, self.window, reason)
    }
}

impl Controller for Envoy {
    fn window(&self) -> f64 {
        self.window
    }

    fn limit(&self) -> u64 {
        self.window as u64
    }

    fn on_sample(&mut self, now: Time, sample: &Sample) -> Decision {
        let given_up = matches!(sample.outcome, Outcome::Timeout | Outcome::Cancelled);
        if given_up || sample.rtt() == Nanos::ZERO {
            return Decision::Waiting;
        }
        let Phase::Measuring { since, restore } = self.phase else {
            self.rtts.record(sample.rtt());
            return Decision::Waiting;
        };
        if sample.start < since {
            return Decision::Waiting;
        }
        self.rtts.record(sample.rtt());
        let enough = self.rtts.len() >= u64::from(self.config.min_rtt_samples.max(1));
        if enough { self.measured(now, restore) } else { Decision::Waiting }
    }

    fn on_wake(&mut self, now: Time) -> Decision {
        let Phase::Sampling { update_at, measure_at } = self.phase else {
            return Decision::Waiting;
        };
        if measure_at.is_some_and(|due| due <= now) {
            return self.measure_from(now);
        }
        if update_at > now {
            return Decision::Waiting;
        }
        if measure_at.is_some() && self.at_floor >= UPDATES_AT_FLOOR {
            return self.measure_from(now);
        }
        self.update(now)
    }

    fn next_wake(&self) -> Option<Time> {
        match self.phase {
            Phase::Measuring { .. } => None,
            Phase::Sampling { update_at, measure_at } => {
                Time::earliest([Some(update_at), measure_at])
            }
        }
    }

    fn baseline_rtt(&self) -> Option<Nanos> {
        self.baseline
    }

    fn tolerated_rtt(&self) -> Option<Nanos> {
        self.tolerated().map(|ns| Nanos::new(ns as u64))
    }

    fn vitals(&self, vitals: &mut Vitals) {
        if let Some((observed, gradient)) = self.last {
            vitals.push("gradient", gradient);
            vitals.push("observed_rtt", observed.as_secs_f64());
        }
        if let Some(baseline) = self.baseline {
            vitals.push("baseline_rtt", baseline.as_secs_f64());
        }
        let measuring = matches!(self.phase, Phase::Measuring { .. });
        vitals.push("measuring", f64::from(u8::from(measuring)));
        vitals.push("measurements", self.measurements as f64);
    }
}

#[cfg(test)]
mod tests;
