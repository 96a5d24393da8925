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
//! healthy_rtt:                     long is at most that
//! queue_when: within_tolerance     queue only where g is 1, else 0
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
//! `healthy_rtt` cures the first (as proposed for failsafe-go, 127). `queue_when: within_tolerance` (proposed
//! in 134) slows the second and does not end it, and at a held g below 1 it has no fixed point above `min`.

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

/// When an update adds the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QueueWhen {
    /// In each.
    Always,
    /// Where the RTT is within the tolerance, so that the gradient is 1.
    WithinTolerance,
}

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
    /// The most that the long average may be, above 0s: nothing longer is taken for healthy. Without
    /// it the average follows any RTT.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub healthy_rtt: Option<Nanos>,
    /// When an update adds the queue.
    pub queue_when: QueueWhen,
}

impl Default for Config {
    fn default() -> Self {
        let smoothing = Coefficient::percent(20);
        Self {
            initial: 20,
            min: 20,
            max: 200,
            smoothing,
            queue: 4,
            long_window: 600,
            tolerance: 1.5,
            healthy_rtt: None,
            queue_when: QueueWhen::Always,
        }
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
            healthy: self.healthy_rtt.map_or(f64::INFINITY, |rtt| rtt.get().max(1) as f64),
            queue_when: self.queue_when,
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
        let never = self.healthy_rtt == Some(Nanos::ZERO);
        invalid.extend(wrong(
            never,
            "healthy_rtt",
            "no RTT is 0s; write 1s or so, or leave it out",
        ));
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
    /// The most that the long average may be, in nanoseconds.
    healthy: f64,
    queue_when: QueueWhen,
    window: f64,
    long: MovingAverage,
    gradient: Option<f64>,
    observed: Nanos,
}

impl Gradient2 {
    /// Takes an RTT into the long average, and says what that was before it was brought down.
    fn lengthen(&mut self, rtt: f64) -> f64 {
        let long = self.long.add(rtt).min(self.healthy);
        self.long.cap(self.healthy);
        if long / rtt > 2.0 {
            self.long.scale(RECOVERY);
        }
        long
    }

    fn queue(&self, gradient: f64) -> f64 {
        let adds = self.queue_when == QueueWhen::Always || gradient >= 1.0;
        if adds { self.queue } else { 0.0 }
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
        let (old, raw) = (self.window, self.window * gradient + self.queue(gradient));
        let smoothed = old * (1.0 - self.smoothing) + raw * self.smoothing;
        self.window = smoothed.clamp(self.min, self.max);
        Decision::moved(old, self.window, "gradient")
    }

    fn baseline_rtt(&self) -> Option<Nanos> {
        self.long.get().map(|ns| Nanos::new(ns as u64))
    }

    fn tolerated_rtt(&self) -> Option<Nanos> {
        self.baseline_rtt().map(|long| long.scaled(self.tolerance))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Outcome;

    /// The windows of a law that is told of round trips of these many milliseconds, all in use.
    fn windows(config: Config, rtts_ms: impl IntoIterator<Item = u64>) -> Vec<f64> {
        let mut law = config.build(&Streams::new(1));
        let tell = |ms: u64| {
            let sample = Sample {
                start: Time::ZERO,
                sent: Time::ZERO,
                end: Time::from_nanos(ms * 1_000_000),
                in_flight_at_start: 1_000,
                in_flight_at_end: 1_000,
                limit_at_start: 1,
                outcome: Outcome::Success,
                bytes: 0,
            };
            let _ = law.on_sample(Time::ZERO, &sample);
            law.window()
        };
        rtts_ms.into_iter().map(tell).collect()
    }

    /// 300 round trips of 50 ms, and then 600 of 5 s, which is the client's timeout.
    fn every_call_times_out() -> impl Iterator<Item = u64> {
        std::iter::repeat_n(50, 300).chain(std::iter::repeat_n(5_000, 600))
    }

    #[test]
    fn a_timeout_is_forgiven_unless_it_is_beyond_what_is_healthy() {
        for (healthy_rtt, left) in [(None, 200.0), (Some(Nanos::from_secs(1)), 20.0)] {
            let config = Config { healthy_rtt, ..Config::default() };
            let windows = windows(config, every_call_times_out());
            assert_eq!(windows[299], 200.0, "at the ceiling before");
            assert_eq!(windows[899], left, "{healthy_rtt:?}");
        }
    }

    #[test]
    fn the_baseline_never_is_more_than_what_is_healthy() {
        let healthy = Nanos::from_millis(80);
        let mut law =
            Config { healthy_rtt: Some(healthy), ..Config::default() }.build(&Streams::new(1));
        for (rtt_ms, average_ms) in [(60, 60.0), (100, 80.0), (500, 80.0), (50, 80.0)] {
            law.lengthen(rtt_ms as f64 * 1e6);
            let baseline = law.baseline_rtt().unwrap().as_secs_f64() * 1e3;
            assert!((baseline - average_ms).abs() < 1e-3, "after {rtt_ms} ms: {baseline}");
        }
    }

    #[test]
    fn at_a_gradient_below_one_the_queue_is_what_holds_the_window_up() {
        // With a tolerance of 1 and an average that stands, 125 ms are a gradient of 0.8.
        let rtts = || std::iter::repeat_n(100, 10).chain(std::iter::repeat_n(125, 300));
        for (queue_when, left) in [(QueueWhen::Always, 20.0), (QueueWhen::WithinTolerance, 1.0)] {
            let config = Config {
                min: 1,
                tolerance: 1.0,
                long_window: 1_000_000_000,
                queue_when,
                ..Config::default()
            };
            let window = *windows(config, rtts()).last().unwrap();
            assert!((window - left).abs() < 0.01, "{queue_when:?}: {window}");
        }
    }
}
