//! `failsafe`: Vegas on smoothed percentiles, which also asks whether more requests in flight brought more
//! throughput, and never goes far beyond what is used.
//!
//! Source: `adaptivelimiter/adaptivelimiter.go` of failsafe-go (August 2026), an open cousin of Uber's
//! Cinnamon.
//!
//! ```text
//! a window ends after 2 * its least RTT, within [min_window, max_window], and `samples` successes
//! recent     = moving average, span 5, of the median of the last 5 percentiles
//! baseline   = moving average of recent, span baseline_age
//! queue      = ceil(window * (1 - baseline / recent))
//! throughput = greatest in flight / recent;   full: in flight >= limit as the window ends
//! with log = 1 below 100, 2 below 1000, ...; over the last correlation_window windows, the first of
//!   queue > 6 log                                                          window - log
//!   full, corr(in flight, throughput) < 0                                  window - log
//!   full, corr(in flight, throughput) < 0.3, corr(in flight, recent) > 0.5 window - log
//!   full, variation of throughput < 0.2, corr(in flight, recent) > 0.5     window - log
//!   queue < 3 log                                                          window + log
//!   else                                                                   as it is
//! then, if it is above max_limit_factor * greatest in flight:              old window - log
//! clamped to [min, max]
//! ```
//!
//! Both averages begin as a plain mean of 10. Only successes are samples: a drop says nothing to it.
//!
//! Worked numbers: at a window of 20 an RTT that has tripled reads as a queue of `ceil(20 * 2 / 3) = 14`,
//! which is a decrease, until the baseline has followed; one request in flight keeps the window at 5.
//! From 200 to 20 takes 130 windows, by two above 100 and by one below.
//!
//! Known failures: the baseline follows an incident, and after that it does not decrease any more
//! (issue 127 there); and a window takes a second at least, so it is slow in both directions.

use super::{Controller, Decision, Invalid, Law, log10, wrong, wrong_range};
use crate::average::MovingAverage;
use crate::quantile::Quantiles;
use crate::quantity::Coefficient;
use crate::request::{Outcome, Sample};
use crate::rng::Streams;
use crate::time::{Nanos, Time};
use crate::vitals::{Unit, VitalInfo, Vitals};
use history::History;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

mod history;

/// Percentiles in the median, and the span of the average after it.
const SMOOTHING: usize = 5;
/// Windows of which an average is a plain mean.
const WARM_UP: u32 = 10;

/// Settings of `failsafe`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The first window, within `min` to `max`.
    pub initial: u32,
    /// The floor, 1 or more.
    pub min: u32,
    /// The ceiling.
    pub max: u32,
    /// How many times the greatest number in flight the window may be, 1 or more.
    pub max_limit_factor: f64,
    /// The shortest window of measurement, above 0.
    pub min_window: Nanos,
    /// The longest window of measurement.
    pub max_window: Nanos,
    /// Successes that a window must have, 1 or more.
    pub samples: u32,
    /// Which percentile of the RTTs counts.
    pub percentile: Coefficient,
    /// Windows that the baseline spans, 1 or more.
    pub baseline_age: u32,
    /// Windows over which correlations are taken, 10 to 1000.
    pub correlation_window: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            initial: 20,
            min: 1,
            max: 200,
            max_limit_factor: 5.0,
            min_window: Nanos::from_secs(1),
            max_window: Nanos::from_secs(30),
            samples: 50,
            percentile: Coefficient::percent(90),
            baseline_age: 10,
            correlation_window: 50,
        }
    }
}

const VITALS: &[VitalInfo] = &[
    VitalInfo { name: "baseline_rtt", unit: Unit::Seconds, about: "moving average of the recent" },
    VitalInfo { name: "observed_rtt", unit: Unit::Seconds, about: "the recent RTT, smoothed" },
    VitalInfo { name: "queue", unit: Unit::Requests, about: "requests that wait, by the RTTs" },
    VitalInfo {
        name: "throughput_correlation",
        unit: Unit::Ratio,
        about: "of requests in flight and throughput, from -1 to 1",
    },
    VitalInfo {
        name: "rtt_correlation",
        unit: Unit::Ratio,
        about: "of requests in flight and recent RTT, from -1 to 1",
    },
];

impl Law for Config {
    type Controller = Failsafe;
    const ABOUT: &'static str =
        "Vegas with correlations, capped by what is in flight (failsafe-go)";
    const VITALS: &'static [VitalInfo] = VITALS;

    fn build(&self, _: &Streams) -> Failsafe {
        let max = f64::from(self.max.max(1));
        let min = f64::from(self.min.max(1)).min(max);
        Failsafe {
            config: self.clone(),
            min,
            max,
            window: f64::from(self.initial).clamp(min, max),
            rtts: Quantiles::default(),
            least_rtt: Nanos::MAX,
            in_flight_max: 0,
            ends: Time::ZERO,
            percentiles: VecDeque::with_capacity(SMOOTHING + 1),
            recent: MovingAverage::new(SMOOTHING as u32, WARM_UP),
            baseline: MovingAverage::new(self.baseline_age, WARM_UP),
            throughputs: History::new(self.correlation_window),
            recents: History::new(self.correlation_window),
            queue: 0.0,
        }
    }

    fn ceiling(&self) -> Option<f64> {
        Some(self.max.max(1).into())
    }

    fn invalid(&self) -> Vec<Invalid> {
        let mut invalid = wrong_range(self.initial, self.min, self.max);
        let factor = self.max_limit_factor;
        for (field, is_wrong, message) in [
            ("max_limit_factor", !(factor.is_finite() && factor >= 1.0), "write 1 or more"),
            ("min_window", self.min_window == Nanos::ZERO, "a window takes time; write 1s or so"),
            ("min_window", self.min_window > self.max_window, "it is above max_window; swap them"),
            ("samples", self.samples == 0, "write 1 success or more"),
            ("baseline_age", self.baseline_age == 0, "write 1 window or more"),
            (
                "correlation_window",
                !(10..=1_000).contains(&self.correlation_window),
                "write 10 to 1000 windows",
            ),
        ] {
            invalid.extend(wrong(is_wrong, field, message));
        }
        invalid
    }
}

/// The running law.
#[derive(Debug)]
pub struct Failsafe {
    config: Config,
    min: f64,
    max: f64,
    window: f64,
    rtts: Quantiles,
    least_rtt: Nanos,
    in_flight_max: u32,
    ends: Time,
    percentiles: VecDeque<f64>,
    recent: MovingAverage,
    baseline: MovingAverage,
    throughputs: History,
    recents: History,
    queue: f64,
}

impl Failsafe {
    /// The median of the last percentiles, this one among them.
    fn median(&mut self, percentile_ns: f64) -> f64 {
        self.percentiles.push_back(percentile_ns);
        if self.percentiles.len() > SMOOTHING {
            self.percentiles.pop_front();
        }
        let mut sorted = [f64::INFINITY; SMOOTHING];
        let count = self.percentiles.len();
        sorted.iter_mut().zip(&self.percentiles).for_each(|(to, from)| *to = *from);
        sorted.sort_unstable_by(f64::total_cmp);
        sorted[(count - 1) / 2]
    }

    fn close(&mut self, now: Time, percentile: Nanos, is_full: bool) -> Decision {
        let median_ns = self.median(percentile.get() as f64);
        let recent_ns = self.recent.add(median_ns);
        let baseline_ns = self.baseline.add(recent_ns);
        self.queue = libm::ceil(self.window * (1.0 - baseline_ns / recent_ns));
        let in_flight = f64::from(self.in_flight_max);
        self.throughputs.add(in_flight, in_flight / recent_ns);
        self.recents.add(in_flight, recent_ns);
        let (step, reason) = self.judge(is_full);
        let decision = self.within_use(step * log10(self.window), reason, in_flight);
        self.open_next(now);
        decision
    }

    /// Down, up or neither, and why.
    fn judge(&self, is_full: bool) -> (f64, &'static str) {
        let unit = log10(self.window);
        let throughput = self.throughputs.correlation();
        let rtt = self.recents.correlation();
        let is_steady = self.throughputs.variation_of_second().is_some_and(|cv| cv < 0.2);
        if self.queue > 6.0 * unit {
            (-1.0, "queue")
        } else if is_full && throughput < 0.0 {
            (-1.0, "throughput")
        } else if is_full && throughput < 0.3 && rtt > 0.5 {
            (-1.0, "throughput_and_rtt")
        } else if is_full && is_steady && rtt > 0.5 {
            (-1.0, "steady_throughput")
        } else if self.queue < 3.0 * unit {
            (1.0, "short_queue")
        } else {
            (0.0, "hold")
        }
    }

    fn within_use(&mut self, change: f64, reason: &'static str, in_flight: f64) -> Decision {
        let old = self.window;
        let is_unused = old + change > in_flight * self.config.max_limit_factor;
        let (change, reason) = if is_unused { (-log10(old), "unused") } else { (change, reason) };
        self.window = (old + change).clamp(self.min, self.max);
        Decision::moved(old, self.window, reason)
    }

    fn open_next(&mut self, now: Time) {
        let length = self.least_rtt.plus(self.least_rtt);
        let length = length.max(self.config.min_window).min(self.config.max_window);
        self.ends = now.after(length);
        self.rtts.clear();
        (self.least_rtt, self.in_flight_max) = (Nanos::MAX, 0);
    }
}

impl Controller for Failsafe {
    fn window(&self) -> f64 {
        self.window
    }

    fn limit(&self) -> u64 {
        self.window as u64
    }

    fn on_sample(&mut self, now: Time, sample: &Sample) -> Decision {
        if sample.outcome != Outcome::Success || sample.rtt() == Nanos::ZERO {
            return Decision::Waiting;
        }
        self.rtts.record(sample.rtt());
        self.least_rtt = self.least_rtt.min(sample.rtt());
        self.in_flight_max = self.in_flight_max.max(sample.in_flight_at_start);
        let is_over = now >= self.ends && self.rtts.len() >= u64::from(self.config.samples);
        let percentile = is_over.then(|| self.rtts.get(self.config.percentile.get())).flatten();
        percentile.map_or(Decision::Waiting, |percentile| {
            let is_full = u64::from(sample.in_flight_at_end) >= self.limit();
            self.close(now, percentile, is_full)
        })
    }

    fn baseline_rtt(&self) -> Option<Nanos> {
        self.baseline.get().map(|ns| Nanos::new(ns as u64))
    }

    fn vitals(&self, vitals: &mut Vitals) {
        if let Some((baseline_ns, recent_ns)) = self.baseline.get().zip(self.recent.get()) {
            vitals.push("baseline_rtt", baseline_ns / 1e9);
            vitals.push("observed_rtt", recent_ns / 1e9);
            vitals.push("queue", self.queue);
            vitals.push("throughput_correlation", self.throughputs.correlation());
            vitals.push("rtt_correlation", self.recents.correlation());
        }
    }
}

#[cfg(test)]
mod tests;
