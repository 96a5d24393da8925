//! `vegas`: the queue that the round trips tell of, kept between two bounds.
//!
//! Source: `VegasLimit` of Netflix's concurrency-limits (`limit/VegasLimit.java`, January 2026), after TCP
//! Vegas (Brakmo and Peterson, 1995); every row recorded from it without probes is reproduced
//! (`testbed/vectors/netflix_vegas_noprobe.csv`).
//!
//! ```text
//! log      = 1 below 100, 2 below 1000, ...: the digits of floor(window), less 1
//! probe:   base = rtt, the window as it is       after jitter * probe_multiplier * window samples,
//!                                                jitter from 0.5 to 1, drawn anew at each probe
//!                                                countdown: drawn   window as of that drawing
//! rtt < base:  base = rtt, the window as it is
//! queue    = ceil(window * (1 - base / rtt))
//! drop:    raw = window - log
//! in flight < window / 2: as it is                          in flight: as of the request's admission
//! queue <= log: raw = window + 6 log        queue < 3 log: raw = window + log
//! queue > 6 log: raw = window - log         else as it is
//! window   = (1 - smoothing) * window + smoothing * clamp(raw, 1, max)
//! ```
//!
//! Worked numbers: below 100 it wants 3 to 6 requests in the queue. After a permanent tripling of the
//! RTT the queue reads two thirds of the window, so without a probe it comes down to 8, where
//! `ceil(8 * 2 / 3) = 6` is no longer too much (at 9, rounding makes it 7).
//!
//! Known failures: the least RTT of all is the yardstick, so one lucky answer (issue 37 there) or a new
//! baseline keeps the window low until a probe; one taken in a queue keeps it high. A low window is
//! probed after fewer samples, but with slow answers that is long. With `countdown: drawn` (the source
//! before its fix 84) a window that has fallen is probed no sooner: drawn at 100, after 1500 to 3000 samples.

use super::{Controller, Decision, Invalid, Law, log10, wrong, wrong_range};
use crate::quantity::Coefficient;
use crate::request::Sample;
use crate::rng::{Rng, Streams};
use crate::time::{Nanos, Time};
use crate::vitals::{Unit, VitalInfo, Vitals};
use rand::RngExt as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Bounds of the queue, in units of the step: below the first the window grows, above the second it
/// shrinks.
const ALPHA: f64 = 3.0;
const BETA: f64 = 6.0;

/// Of which window a probe's countdown is a multiple.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Counted {
    /// That of now: it gets shorter when the window falls.
    Current,
    /// That at which it was drawn: at the last probe, or at the beginning (before the fix).
    Drawn,
}

/// Settings of `vegas`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The first window, within 1 to `max`.
    pub initial: u32,
    /// The ceiling.
    pub max: u32,
    /// Weight of the newest window against the one before, above 0.
    pub smoothing: Coefficient,
    /// Windows of samples until the base RTT is measured anew, 1 or more.
    pub probe_multiplier: u32,
    /// Which window those are multiples of.
    pub countdown: Counted,
}

impl Default for Config {
    fn default() -> Self {
        let smoothing = Coefficient::percent(100);
        let countdown = Counted::Current;
        Self { initial: 20, max: 1000, smoothing, probe_multiplier: 30, countdown }
    }
}

const VITALS: &[VitalInfo] = &[
    VitalInfo { name: "queue", unit: Unit::Requests, about: "requests that wait, by the RTTs" },
    VitalInfo { name: "baseline_rtt", unit: Unit::Seconds, about: "the least RTT since a probe" },
    VitalInfo { name: "observed_rtt", unit: Unit::Seconds, about: "the last RTT" },
    VitalInfo { name: "probes", unit: Unit::Count, about: "how often the least RTT was forgotten" },
];

impl Law for Config {
    type Controller = Vegas;
    const ABOUT: &'static str = "keeps 3 to 6 requests in the queue that RTTs tell of (Netflix)";
    const VITALS: &'static [VitalInfo] = VITALS;

    fn build(&self, streams: &Streams) -> Vegas {
        let mut rng = streams.stream("controller");
        let max = f64::from(self.max.max(1));
        let window = f64::from(self.initial).clamp(1.0, max);
        Vegas {
            max,
            smoothing: self.smoothing.get(),
            probe_multiplier: self.probe_multiplier.max(1).into(),
            jitter: jitter(&mut rng),
            rng,
            window,
            drawn_at: (self.countdown == Counted::Drawn).then_some(window),
            base: None,
            samples: 0,
            queue: None,
            observed: Nanos::ZERO,
            probes: 0,
        }
    }

    fn ceiling(&self) -> Option<f64> {
        Some(self.max.max(1).into())
    }

    fn invalid(&self) -> Vec<Invalid> {
        let mut invalid = wrong_range(self.initial, 1, self.max);
        let still = self.smoothing.get() == 0.0;
        invalid.extend(wrong(still, "smoothing", "at 0 the window never moves; write 1 or so"));
        let always = self.probe_multiplier == 0;
        invalid.extend(wrong(always, "probe_multiplier", "at 0 it does nothing else; write 30"));
        invalid
    }
}

/// A factor from 0.5 to 1, so that clients of one backend do not probe it together.
fn jitter(rng: &mut Rng) -> f64 {
    0.5 + rng.random::<f64>() / 2.0
}

/// The least whole number that is not below `queue`, which is 0 or more: `ceil` without a call.
fn whole_above(queue: f64) -> f64 {
    let whole = queue as u32;
    f64::from(if f64::from(whole) < queue { whole.saturating_add(1) } else { whole })
}

/// The running law.
#[derive(Debug)]
pub struct Vegas {
    max: f64,
    smoothing: f64,
    probe_multiplier: f64,
    rng: Rng,
    jitter: f64,
    window: f64,
    /// The window at which the countdown was drawn; `None` where that of now counts.
    drawn_at: Option<f64>,
    base: Option<Nanos>,
    /// Samples since the last probe.
    samples: u64,
    queue: Option<f64>,
    observed: Nanos,
    probes: u64,
}

impl Vegas {
    fn is_probe_due(&mut self) -> bool {
        self.samples += 1;
        let window = self.drawn_at.unwrap_or(self.window);
        self.jitter * self.probe_multiplier * window <= self.samples as f64
    }

    fn probe(&mut self, rtt: Nanos) -> Decision {
        (self.jitter, self.samples) = (jitter(&mut self.rng), 0);
        self.drawn_at = self.drawn_at.map(|_| self.window);
        (self.base, self.queue, self.probes) = (Some(rtt), None, self.probes + 1);
        Decision::moved(self.window, self.window, "probe")
    }

    fn replace(&mut self, raw: f64, reason: &'static str) -> Decision {
        let (old, raw) = (self.window, raw.clamp(1.0, self.max));
        self.window = (1.0 - self.smoothing) * old + self.smoothing * raw;
        Decision::moved(old, self.window, reason)
    }

    fn by_queue(&mut self, queue: f64) -> Decision {
        let (window, step) = (self.window, log10(self.window));
        if queue <= step {
            self.replace(window + BETA * step, "no_queue")
        } else if queue < ALPHA * step {
            self.replace(window + step, "short_queue")
        } else if queue > BETA * step {
            self.replace(window - step, "long_queue")
        } else {
            Decision::Waiting
        }
    }
}

impl Controller for Vegas {
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
        self.observed = rtt;
        if self.is_probe_due() {
            return self.probe(rtt);
        }
        let Some(base) = self.base.filter(|base| rtt >= *base) else {
            self.base = Some(rtt);
            return Decision::Waiting;
        };
        let queue = whole_above(self.window * (1.0 - base.get() as f64 / rtt.get() as f64));
        self.queue = Some(queue);
        if dropped {
            return self.replace(self.window - log10(self.window), "drop");
        }
        if f64::from(sample.in_flight_at_start) * 2.0 < self.window {
            return Decision::Waiting;
        }
        self.by_queue(queue)
    }

    fn baseline_rtt(&self) -> Option<Nanos> {
        self.base
    }

    fn vitals(&self, vitals: &mut Vitals) {
        if let Some(queue) = self.queue {
            vitals.push("queue", queue);
        }
        if let Some(base) = self.base {
            vitals.push("baseline_rtt", base.as_secs_f64());
            vitals.push("observed_rtt", self.observed.as_secs_f64());
        }
        vitals.push("probes", self.probes as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Outcome;

    /// Samples until the first probe: 100 at a window of 100, and then as many as it takes at 4 times the RTT,
    /// which bring it down by one each.
    fn samples_until_probe(seed: u64, countdown: Counted) -> u32 {
        let config = Config { initial: 100, max: 100, countdown, ..Config::default() };
        let mut law = config.build(&Streams::new(seed));
        let mut is_probed_after = |sample: &u32| {
            let sample = Sample {
                start: Time::ZERO,
                sent: Time::ZERO,
                end: Time::from_nanos(if *sample > 100 { 40_000_000 } else { 10_000_000 }),
                in_flight_at_start: 100,
                in_flight_at_end: 100,
                limit_at_start: 100,
                outcome: Outcome::Success,
                bytes: 0,
            };
            let _ = law.on_sample(Time::ZERO, &sample);
            law.probes > 0
        };
        (1..10_000).find(|sample| is_probed_after(sample)).unwrap()
    }

    #[test]
    fn a_countdown_gets_shorter_with_the_window_unless_it_was_drawn() {
        for seed in 0..20 {
            let drawn = samples_until_probe(seed, Counted::Drawn);
            assert!((1_500..=3_000).contains(&drawn), "seed {seed}: {drawn}");
            let current = samples_until_probe(seed, Counted::Current);
            assert!((100..=300).contains(&current), "seed {seed}: {current}");
        }
    }
}
