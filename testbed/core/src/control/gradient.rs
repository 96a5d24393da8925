//! `gradient`: the least round trip over the newest one, and the root of the window on top.
//!
//! Source: `GradientLimit` of Netflix's concurrency-limits (`limit/GradientLimit.java`, January 2026);
//! every row recorded from it without probes is reproduced
//! (`testbed/vectors/netflix_gradient_noprobe.csv`).
//!
//! ```text
//! queue    = max(4, floor(sqrt(floor(window))))
//! probe:   window = max(min, queue), the least RTT is forgotten      after probe_interval samples and
//!                                                                    up to as many more, by chance
//! g        = clamp(tolerance * least rtt / rtt, 0.5, 1)
//! drop:    raw = window * backoff
//! in flight < window / 2: as it is                          in flight: as of the request's admission
//! else:    raw = window * g + queue
//! window   = raw if it grows, else max(min, (1 - smoothing) * window + smoothing * raw)
//!            clamped to [min, max], and never below queue
//! ```
//!
//! Worked numbers: at a held g the fixed point is `1 / (1 - g)^2` from 16 up: 25 at 0.8, 100 at 0.9.
//! Where the queue is its least, 4, it is `4 / (1 - g)`, 8 at 0.5.
//!
//! Known failures: one lucky round trip becomes the yardstick until the next probe (issue 37 there), and
//! each probe throws the window away.

use super::{Controller, Decision, Invalid, Law, wrong, wrong_backoff, wrong_range};
use crate::quantity::{Coefficient, Countdown};
use crate::request::Sample;
use crate::rng::{Rng, Streams};
use crate::time::{Nanos, Time};
use crate::vitals::{Unit, VitalInfo, Vitals};
use rand::RngExt as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The least queue that it allows itself, in requests.
const QUEUE_MIN: u64 = 4;

/// Settings of `gradient`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The first window, within `min` to `max`.
    pub initial: u32,
    /// The floor, 1 or more; the law itself does not go below 4.
    pub min: u32,
    /// The ceiling, 4 or more.
    pub max: u32,
    /// Weight of the newest window against the one before where it shrinks, above 0.
    pub smoothing: Coefficient,
    /// How many times the least RTT an RTT may be before the window shrinks, 1 or more.
    pub tolerance: f64,
    /// What a drop leaves of the window, below 1.
    pub backoff: Coefficient,
    /// Samples until the least RTT is measured anew, or `off`.
    pub probe_interval: Countdown,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            initial: 50,
            min: 1,
            max: 1000,
            smoothing: Coefficient::percent(20),
            tolerance: 2.0,
            backoff: Coefficient::percent(90),
            probe_interval: Countdown::After(1000),
        }
    }
}

const VITALS: &[VitalInfo] = &[
    VitalInfo {
        name: "gradient",
        unit: Unit::Ratio,
        about: "tolerance times the least RTT over the last, clamped to [0.5, 1]",
    },
    VitalInfo { name: "baseline_rtt", unit: Unit::Seconds, about: "the least RTT since a probe" },
    VitalInfo { name: "observed_rtt", unit: Unit::Seconds, about: "the last RTT" },
    VitalInfo { name: "queue", unit: Unit::Requests, about: "what it adds to the window" },
    VitalInfo { name: "probes", unit: Unit::Count, about: "how often it began anew" },
];

impl Law for Config {
    type Controller = Gradient;
    const ABOUT: &'static str = "the least RTT over the newest one, plus sqrt(window) (Netflix)";
    const VITALS: &'static [VitalInfo] = VITALS;

    fn build(&self, streams: &Streams) -> Gradient {
        let (mut rng, config) = (streams.stream("controller"), self.clone());
        let probe_in = config.probe_interval.get().map(|samples| countdown(samples, &mut rng));
        let window = f64::from(self.initial).clamp(1.0, f64::from(self.max.max(1)));
        Gradient { rng, probe_in, window, config, least: None, last: None, probes: 0 }
    }

    fn ceiling(&self) -> Option<f64> {
        Some(f64::from(self.max).max(QUEUE_MIN as f64))
    }

    fn invalid(&self) -> Vec<Invalid> {
        let mut invalid = wrong_range(self.initial, self.min, self.max);
        let tolerant = self.tolerance.is_finite() && self.tolerance >= 1.0;
        let still = self.smoothing.get() == 0.0;
        invalid.extend(wrong_backoff(self.backoff));
        invalid.extend(wrong(
            u64::from(self.max) < QUEUE_MIN,
            "max",
            "the law itself does not go below 4; write 4 or more",
        ));
        invalid.extend(wrong(still, "smoothing", "at 0 it never shrinks; write 0.2 or so"));
        invalid.extend(wrong(!tolerant, "tolerance", "write a number from 1 up, such as 2"));
        invalid
    }
}

/// Samples until the next probe.
fn countdown(samples: u32, rng: &mut Rng) -> u64 {
    u64::from(samples) + rng.random_range(0..u64::from(samples.max(1)))
}

/// The running law.
#[derive(Debug)]
pub struct Gradient {
    config: Config,
    rng: Rng,
    probe_in: Option<u64>,
    window: f64,
    least: Option<Nanos>,
    /// The last RTT, and the gradient that it gave if it moved the window by it.
    last: Option<(Nanos, Option<f64>)>,
    probes: u64,
}

impl Gradient {
    fn queue(&self) -> f64 {
        (self.window as u64).isqrt().max(QUEUE_MIN) as f64
    }

    /// Counts the samples until a probe, and says whether it is due.
    fn is_probe_due(&mut self) -> bool {
        let Some(left) = &mut self.probe_in else { return false };
        *left = left.saturating_sub(1);
        *left == 0
    }

    fn probe(&mut self) -> Decision {
        let next = |samples| countdown(samples, &mut self.rng);
        self.probe_in = self.config.probe_interval.get().map(next);
        (self.least, self.last, self.probes) = (None, None, self.probes + 1);
        self.replace(f64::from(self.config.min.max(1)).max(self.queue()), "probe")
    }

    fn shrink_smoothly(&self, raw: f64) -> f64 {
        let smoothing = self.config.smoothing.get();
        let smoothed = self.window * (1.0 - smoothing) + smoothing * raw;
        if raw < self.window { smoothed.max(self.config.min.into()) } else { raw }
    }

    fn replace(&mut self, window: f64, reason: &'static str) -> Decision {
        let old = self.window;
        self.window = window.min(f64::from(self.config.max)).max(self.queue());
        Decision::moved(old, self.window, reason)
    }
}

impl Controller for Gradient {
    fn window(&self) -> f64 {
        self.window
    }

    fn limit(&self) -> u64 {
        self.window as u64
    }

    fn on_sample(&mut self, _: Time, sample: &Sample) -> Decision {
        let rtt = sample.rtt();
        let Some(dropped) = sample.outcome.dropped().filter(|_| rtt > Nanos::ZERO) else {
            return Decision::Waiting;
        };
        if self.is_probe_due() {
            return self.probe();
        }
        let least = self.least.map_or(rtt, |least| least.min(rtt));
        (self.least, self.last) = (Some(least), Some((rtt, None)));
        if dropped {
            let raw = self.window * self.config.backoff.get();
            return self.replace(self.shrink_smoothly(raw), "drop");
        }
        if f64::from(sample.in_flight_at_start) < self.window / 2.0 {
            return Decision::Waiting;
        }
        let ratio = least.get() as f64 / rtt.get() as f64;
        let gradient = (self.config.tolerance * ratio).clamp(0.5, 1.0);
        self.last = Some((rtt, Some(gradient)));
        let raw = self.window * gradient + self.queue();
        self.replace(self.shrink_smoothly(raw), "gradient")
    }

    fn baseline_rtt(&self) -> Option<Nanos> {
        self.least
    }

    fn tolerated_rtt(&self) -> Option<Nanos> {
        self.least.map(|least| least.scaled(self.config.tolerance))
    }

    fn vitals(&self, vitals: &mut Vitals) {
        if let Some((rtt, gradient)) = self.last {
            vitals.push("observed_rtt", rtt.as_secs_f64());
            if let Some(gradient) = gradient {
                vitals.push("gradient", gradient);
            }
        }
        if let Some(least) = self.least {
            vitals.push("baseline_rtt", least.as_secs_f64());
        }
        vitals.push("queue", self.queue());
        vitals.push("probes", self.probes as f64);
    }
}
