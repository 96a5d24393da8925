//! `windowed`: any law, told of the mean of a window of time instead of each request.
//!
//! Source: `WindowedLimit` of Netflix's concurrency-limits (`limit/WindowedLimit.java`, January 2026)
//! with its `AverageSampleWindow`; every row recorded from it around Gradient2 is reproduced
//! (`testbed/vectors/netflix_windowed_gradient2.csv`).
//!
//! ```text
//! an RTT below min_rtt is not looked at
//! a window ends with the first answer later than its end; the next is
//!     clamp(2 * least RTT of this one, min_window, max_window) long
//! fewer than `samples` answers: the window is dropped
//! else the law gets one sample: the mean RTT, the greatest in flight, and a drop if there was one
//! ```
//!
//! Worked numbers: 10 samples a second are the least that moves the law of an arm at the defaults.
//!
//! Known failures: at a low rate the law never moves; and one drop marks its whole window, so at one
//! failure in a hundred and 100 answers a window a law that hears of drops backs off in two windows of
//! three (`1 - 0.99^100 = 0.63`).

use super::{Controller, ControllerConfig, Decision, Invalid, Law, gradient2, wrong};
use crate::request::{Arrival, Outcome, Sample};
use crate::rng::Streams;
use crate::time::{Nanos, Time};
use crate::vitals::{Unit, VitalInfo, Vitals};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of `windowed`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The shortest window, above 0.
    pub min_window: Nanos,
    /// The longest window.
    pub max_window: Nanos,
    /// Answers that a window must have, 1 or more.
    pub samples: u32,
    /// Shorter round trips are ignored.
    pub min_rtt: Nanos,
    /// The law, any but `windowed`.
    pub law: Box<ControllerConfig>,
}

impl Default for Config {
    fn default() -> Self {
        let second = Nanos::from_secs(1);
        let law = Box::new(ControllerConfig::Gradient2(gradient2::Config::default()));
        let min_rtt = Nanos::from_micros(100);
        Self { min_window: second, max_window: second, samples: 10, min_rtt, law }
    }
}

const VITALS: &[VitalInfo] = &[
    VitalInfo { name: "windows", unit: Unit::Count, about: "windows that the law was told of" },
    VitalInfo { name: "windows_dropped", unit: Unit::Count, about: "windows with too few samples" },
];

impl Law for Config {
    type Controller = Windowed;
    const ABOUT: &'static str = "any law, told of the means of windows of time (Netflix)";
    const VITALS: &'static [VitalInfo] = VITALS;

    fn vitals(&self) -> Vec<VitalInfo> {
        [VITALS, &self.law.vitals()].concat()
    }

    fn build(&self, streams: &Streams) -> Windowed {
        Windowed {
            shortest: self.min_window,
            longest: self.max_window,
            samples: self.samples,
            min_rtt: self.min_rtt,
            law: self.law.build(streams),
            window: Window::default(),
            ends: Time::ZERO,
            windows: 0,
            dropped: 0,
        }
    }

    fn has_window(&self) -> bool {
        self.law.has_window()
    }

    fn ceiling(&self) -> Option<f64> {
        self.law.ceiling()
    }

    fn refuses_at_once(&self) -> bool {
        self.law.refuses_at_once()
    }

    fn invalid(&self) -> Vec<Invalid> {
        let within = |inner: Invalid| Invalid {
            field: "law",
            message: format!("{}: {}", inner.field, inner.message),
        };
        let mut invalid: Vec<_> = self.law.invalid().into_iter().map(within).collect();
        let (empty, nested) =
            (self.min_window == Nanos::ZERO, matches!(*self.law, ControllerConfig::Windowed(_)));
        invalid.extend(wrong(empty, "min_window", "a window takes time; write 1s or so"));
        let swapped = self.min_window > self.max_window;
        invalid.extend(wrong(swapped, "min_window", "it is above max_window; swap them"));
        invalid.extend(wrong(self.samples == 0, "samples", "write 1 answer or more"));
        invalid.extend(wrong(
            nested,
            "law",
            "windows of windows have no meaning; write another law",
        ));
        invalid
    }
}

/// What a window has seen.
#[derive(Clone, Copy, Debug)]
struct Window {
    samples: u32,
    rtt_sum_ns: u128,
    rtt_min: Nanos,
    in_flight_max: u32,
    outcome: Outcome,
}

impl Default for Window {
    fn default() -> Self {
        let outcome = Outcome::Success;
        Self { samples: 0, rtt_sum_ns: 0, rtt_min: Nanos::MAX, in_flight_max: 0, outcome }
    }
}

impl Window {
    fn add(&mut self, sample: &Sample) {
        self.samples = self.samples.saturating_add(1);
        self.rtt_sum_ns += u128::from(sample.rtt().get());
        self.rtt_min = self.rtt_min.min(sample.rtt());
        self.in_flight_max = self.in_flight_max.max(sample.in_flight_at_start);
        // An overload is the plainer word, so it stands for a window that has timeouts as well.
        if self.outcome != Outcome::Overload && sample.outcome != Outcome::Success {
            self.outcome = sample.outcome;
        }
    }

    /// The window as one sample, in the place of its `last`.
    fn summary(&self, last: &Sample) -> Sample {
        let mean = (self.rtt_sum_ns / u128::from(self.samples.max(1))) as u64;
        let start = Time::from_nanos(last.end.as_nanos().saturating_sub(mean));
        Sample {
            start,
            sent: start,
            end: start.after(Nanos::new(mean)),
            in_flight_at_start: self.in_flight_max,
            in_flight_at_end: self.in_flight_max,
            outcome: self.outcome,
            ..*last
        }
    }
}

/// The running decorator.
#[derive(Debug)]
pub struct Windowed {
    shortest: Nanos,
    longest: Nanos,
    samples: u32,
    min_rtt: Nanos,
    law: Box<dyn Controller>,
    window: Window,
    ends: Time,
    windows: u64,
    dropped: u64,
}

impl Windowed {
    fn close(&mut self, now: Time, last: &Sample) -> Decision {
        let window = std::mem::take(&mut self.window);
        let length = window.rtt_min.plus(window.rtt_min).max(self.shortest).min(self.longest);
        self.ends = last.end.after(length);
        if window.samples < self.samples {
            self.dropped += 1;
            return Decision::Waiting;
        }
        self.windows += 1;
        self.law.on_sample(now, &window.summary(last))
    }
}

impl Controller for Windowed {
    fn window(&self) -> f64 {
        self.law.window()
    }

    fn limit(&self) -> u64 {
        self.law.limit()
    }

    fn accepts(&mut self, now: Time, arrival: &Arrival) -> bool {
        self.law.accepts(now, arrival)
    }

    fn releases(&mut self, now: Time, arrival: &Arrival) -> bool {
        self.law.releases(now, arrival)
    }

    fn on_sample(&mut self, now: Time, sample: &Sample) -> Decision {
        if sample.outcome.dropped().is_none() || sample.rtt() < self.min_rtt {
            return Decision::Waiting;
        }
        self.window.add(sample);
        if sample.end > self.ends { self.close(now, sample) } else { Decision::Waiting }
    }

    fn on_wake(&mut self, now: Time) -> Decision {
        self.law.on_wake(now)
    }

    fn next_wake(&self) -> Option<Time> {
        self.law.next_wake()
    }

    fn baseline_rtt(&self) -> Option<Nanos> {
        self.law.baseline_rtt()
    }

    fn tolerated_rtt(&self) -> Option<Nanos> {
        self.law.tolerated_rtt()
    }

    fn vitals(&self, vitals: &mut Vitals) {
        vitals.push("windows", self.windows as f64);
        vitals.push("windows_dropped", self.dropped as f64);
        self.law.vitals(vitals);
    }
}
