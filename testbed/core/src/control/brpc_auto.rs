//! `brpc_auto`: Little's law. As many as the best rate and the least latency account for, and some more
//! to find out.
//!
//! Source: `policy/auto_concurrency_limiter.cpp` of Apache brpc (August 2026).
//!
//! ```text
//! a window ends with 200 answers, or after 1 s; with fewer than 100 then, it is dropped
//! latency   = (latencies of successes and failures) / successes           all failed: window / 2
//! rate      = successes / length of the window
//! least     = latency if there is none; if less: 0.1 * latency + 0.9 * least
//! best      = rate if that is more, else 0.01 * rate + 0.99 * best
//! explore  += 0.02 if latency <= 1.06 * least or rate <= best / 1.06, else -= 0.02     [0.06, 0.3]
//! window    = least * best * (1 + explore)                                at least min
//! every remeasure_interval / 2 to remeasure_interval:  window = ceil(0.9 * least * best), nothing is
//!             looked at for 2 * latency, and then least is forgotten
//! ```
//!
//! The window keeps its fraction here; the original truncates it to a whole number. A failure is an
//! overload, an error or a timeout.
//!
//! Worked numbers: at 10 ms and 1000 a second, `0.01 * 1000 = 10`, and with all of the exploring 13.
//!
//! Known failures: under a constant load from the start, least latency and best rate are never seen at
//! the same time; a fast backend at a low rate accounts for less than one request (issue 1006 there:
//! 25 us at 10,000 a second is 0.25), so the floor is what matters; and latencies that vary by
//! themselves look like a queue (2013).

use super::{Controller, Decision, Invalid, Law, UNBOUNDED, wrong, wrong_range};
use crate::request::{Outcome, Sample};
use crate::rng::{Rng, Streams};
use crate::time::{Nanos, Time};
use crate::vitals::{Unit, VitalInfo, Vitals};
use rand::RngExt as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Weight of a lower latency.
const LATENCY_WEIGHT: f64 = 0.1;
/// Weight of a lower rate.
const RATE_WEIGHT: f64 = 0.01;
/// Bounds and step of the exploring.
const EXPLORE_MIN: f64 = 0.06;
const EXPLORE_MAX: f64 = 0.3;
const EXPLORE_STEP: f64 = 0.02;
/// What is left of the window before the latency is measured anew.
const REDUCED: f64 = 0.9;

/// Settings of `brpc_auto`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The first window, `min` or more.
    pub initial: u32,
    /// The floor, 1 or more: in the original, the number of its worker threads.
    pub min: u32,
    /// The longest window of measurement, above 0.
    pub window: Nanos,
    /// Answers that end a window, `min_samples` or more.
    pub max_samples: u32,
    /// Answers that a window must have, 1 or more.
    pub min_samples: u32,
    /// The longest time until the latency is measured anew, above 0.
    pub remeasure_interval: Nanos,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            initial: 40,
            min: 8,
            window: Nanos::from_secs(1),
            max_samples: 200,
            min_samples: 100,
            remeasure_interval: Nanos::from_secs(50),
        }
    }
}

const VITALS: &[VitalInfo] = &[
    VitalInfo { name: "baseline_rtt", unit: Unit::Seconds, about: "the least latency" },
    VitalInfo { name: "observed_rtt", unit: Unit::Seconds, about: "latency of the last window" },
    VitalInfo { name: "best_rate", unit: Unit::PerSecond, about: "the best rate of successes" },
    VitalInfo { name: "explore", unit: Unit::Ratio, about: "what it adds to find out" },
    VitalInfo { name: "measurements", unit: Unit::Count, about: "latencies forgotten" },
];

impl Law for Config {
    type Controller = BrpcAuto;
    const ABOUT: &'static str = "least latency times best rate, and some more to explore (brpc)";
    const VITALS: &'static [VitalInfo] = VITALS;

    fn build(&self, streams: &Streams) -> BrpcAuto {
        let min = f64::from(self.min.max(1));
        let mut law = BrpcAuto {
            config: self.clone(),
            rng: streams.stream("controller"),
            window: f64::from(self.initial).max(min),
            min,
            least_ns: None,
            best_rate: 0.0,
            explore: EXPLORE_MAX,
            measured: Measured::default(),
            remeasure_at: Time::ZERO,
            deaf_until: None,
            observed_ns: None,
            measurements: 0,
        };
        law.remeasure_at = law.next_measurement(Time::ZERO);
        law
    }

    fn ceiling(&self) -> Option<f64> {
        Some(UNBOUNDED as f64)
    }

    fn invalid(&self) -> Vec<Invalid> {
        let mut invalid = wrong_range(self.initial, self.min, u32::MAX);
        let zero = |length| length == Nanos::ZERO;
        let few = self.max_samples < self.min_samples;
        for (field, is_wrong, message) in [
            ("window", zero(self.window), "this takes time; write 1s or so"),
            ("remeasure_interval", zero(self.remeasure_interval), "this takes time; write 50s"),
            ("min_samples", self.min_samples == 0, "write 1 answer or more"),
            ("max_samples", few, "it is below min_samples; swap them"),
        ] {
            invalid.extend(wrong(is_wrong, field, message));
        }
        invalid
    }
}

/// The window of measurement that is open.
#[derive(Clone, Copy, Debug, Default)]
struct Measured {
    since: Option<Time>,
    successes: u32,
    failures: u32,
    latency_ns: f64,
}

/// The running law.
#[derive(Debug)]
pub struct BrpcAuto {
    config: Config,
    rng: Rng,
    window: f64,
    min: f64,
    least_ns: Option<f64>,
    best_rate: f64,
    explore: f64,
    measured: Measured,
    remeasure_at: Time,
    /// Until when nothing is looked at, so that what is in flight drains.
    deaf_until: Option<Time>,
    observed_ns: Option<f64>,
    measurements: u64,
}

impl BrpcAuto {
    fn next_measurement(&mut self, now: Time) -> Time {
        let part = 0.5 + self.rng.random::<f64>() / 2.0;
        now.after(self.config.remeasure_interval.scaled(part))
    }

    /// Whether answers count again, after the latency was to be forgotten.
    fn listens(&mut self, now: Time) -> bool {
        let Some(until) = self.deaf_until else { return true };
        if now < until {
            return false;
        }
        (self.deaf_until, self.least_ns) = (None, None);
        self.measurements += 1;
        self.remeasure_at = self.next_measurement(now);
        self.measured = Measured::default();
        true
    }

    fn count(&mut self, now: Time, sample: &Sample) {
        let measured = &mut self.measured;
        measured.since.get_or_insert(now);
        measured.latency_ns += sample.rtt().get() as f64;
        if sample.outcome == Outcome::Success {
            measured.successes += 1;
        } else {
            measured.failures += 1;
        }
    }

    fn close(&mut self, now: Time, length: Nanos) -> Decision {
        let measured = std::mem::take(&mut self.measured);
        if measured.successes == 0 {
            return self.replace(self.window / 2.0, "all_failed");
        }
        let successes = f64::from(measured.successes);
        let latency_ns = libm::ceil(measured.latency_ns / successes);
        self.observed_ns = Some(latency_ns);
        let least_ns = self.learn_latency(latency_ns);
        let rate = successes / length.as_secs_f64().max(1e-9);
        self.learn_rate(rate);
        let needed = least_ns / 1e9 * self.best_rate;
        if now >= self.remeasure_at {
            self.deaf_until = Some(now.after(Nanos::new(latency_ns as u64 * 2)));
            return self.replace(libm::ceil(needed * REDUCED), "remeasure");
        }
        self.explore_by(latency_ns <= least_ns * (1.0 + EXPLORE_MIN), rate);
        self.replace(needed * (1.0 + self.explore), "little")
    }

    fn learn_latency(&mut self, latency_ns: f64) -> f64 {
        let lower = |least| latency_ns * LATENCY_WEIGHT + least * (1.0 - LATENCY_WEIGHT);
        let least_ns = match self.least_ns {
            None => latency_ns,
            Some(least) if latency_ns < least => lower(least),
            Some(least) => least,
        };
        self.least_ns = Some(least_ns);
        least_ns
    }

    fn learn_rate(&mut self, rate: f64) {
        let decayed = rate * RATE_WEIGHT + self.best_rate * (1.0 - RATE_WEIGHT);
        self.best_rate = if rate >= self.best_rate { rate } else { decayed };
    }

    fn explore_by(&mut self, is_fast: bool, rate: f64) {
        let is_slack = rate <= self.best_rate / (1.0 + EXPLORE_MIN);
        let step = if is_fast || is_slack { EXPLORE_STEP } else { -EXPLORE_STEP };
        self.explore = (self.explore + step).clamp(EXPLORE_MIN, EXPLORE_MAX);
    }

    fn replace(&mut self, raw: f64, reason: &'static str) -> Decision {
        let old = self.window;
        self.window = raw.clamp(self.min, UNBOUNDED as f64);
        Decision::moved(old, self.window, reason)
    }
}

impl Controller for BrpcAuto {
    fn window(&self) -> f64 {
        self.window
    }

    fn limit(&self) -> u64 {
        self.window as u64
    }

    fn on_sample(&mut self, now: Time, sample: &Sample) -> Decision {
        if sample.outcome == Outcome::Cancelled || !self.listens(now) {
            return Decision::Waiting;
        }
        self.count(now, sample);
        let answers = self.measured.successes + self.measured.failures;
        let length = now.since(self.measured.since.unwrap_or(now));
        let is_over = length >= self.config.window;
        if answers < self.config.min_samples {
            if is_over {
                self.measured = Measured::default();
            }
            return Decision::Waiting;
        }
        if is_over || answers >= self.config.max_samples {
            return self.close(now, length);
        }
        Decision::Waiting
    }

    fn baseline_rtt(&self) -> Option<Nanos> {
        self.least_ns.map(|ns| Nanos::new(ns as u64))
    }

    fn vitals(&self, vitals: &mut Vitals) {
        if let Some(least_ns) = self.least_ns {
            vitals.push("baseline_rtt", least_ns / 1e9);
        }
        if let Some(observed_ns) = self.observed_ns {
            vitals.push("observed_rtt", observed_ns / 1e9);
        }
        vitals.push("best_rate", self.best_rate);
        vitals.push("explore", self.explore);
        vitals.push("measurements", self.measurements as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::super::Update;
    use super::*;

    /// `times` answers, one each ms from `from_ms` on, that took 10 ms.
    fn answers(law: &mut BrpcAuto, from_ms: u64, times: u64, outcome: Outcome) -> Option<Update> {
        let mut last = None;
        for ms in from_ms..from_ms + times {
            let end = Time::from_nanos(ms * 1_000_000);
            let start = Time::from_nanos((ms - 10) * 1_000_000);
            let sample = Sample {
                start,
                sent: start,
                end,
                in_flight_at_start: 1,
                in_flight_at_end: 1,
                limit_at_start: 1,
                outcome,
                bytes: 0,
            };
            if let Decision::Updated(update) = law.on_sample(end, &sample) {
                last = Some(update);
            }
        }
        last
    }

    #[test]
    fn a_thousand_a_second_at_10_ms_are_10_and_what_it_explores() {
        let mut law = Config::default().build(&Streams::new(1));
        let update = answers(&mut law, 10, 200, Outcome::Success).unwrap();
        // 200 answers have 199 gaps of a ms between them, and exploring begins at its most.
        assert!((update.new - 0.01 * 200.0 / 0.199 * 1.3).abs() < 1e-9, "{update:?}");
        let failed = answers(&mut law, 210, 200, Outcome::Error).unwrap();
        assert_eq!((failed.new, failed.reason), (8.0, "all_failed"), "half, but the floor");
    }

    #[test]
    fn a_window_with_too_few_answers_is_dropped() {
        let mut law = Config {
            min_samples: 150,
            max_samples: 150,
            window: Nanos::from_millis(100),
            ..Config::default()
        }
        .build(&Streams::new(1));
        assert_eq!(answers(&mut law, 10, 1_000, Outcome::Success), None);
    }

    #[test]
    fn the_latency_is_forgotten_within_the_interval_and_after_half_of_it() {
        let config = Config { remeasure_interval: Nanos::from_secs(4), ..Config::default() };
        let mut law = config.build(&Streams::new(1));
        let _ = answers(&mut law, 10, 2_000, Outcome::Success);
        assert_eq!(law.measurements, 0);
        let _ = answers(&mut law, 2_010, 2_300, Outcome::Success);
        assert_eq!(law.measurements, 1);
    }
}
