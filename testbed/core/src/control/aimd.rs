//! `aimd`: one more for a success, a tenth less for a drop. Round-trip times do not matter, unless
//! they are beyond a timeout.
//!
//! Source: `AIMDLimit` of Netflix's concurrency-limits (`limit/AIMDLimit.java`, January 2026);
//! every row recorded from it is reproduced (`testbed/vectors/netflix_aimd_*.csv`).
//!
//! ```text
//! drop, or rtt > timeout:     window = floor(window * backoff)
//! success, 2 * in flight >= window:  window + 1        in flight: as of the request's admission
//! success, 2 * in flight < window, other failures:  as it is      clamped to [min, max]
//! at_max: halve                  then, if window >= max: floor(window / 2), before it is clamped
//! grow: unchanged                + 1 only if the window is the limit at the request's admission
//! ```
//!
//! Worked numbers: from 20 to 200 takes 180 successes, because each counts and not each round trip;
//! one drop takes 100 to 90. A drop is an overload or a timeout; other errors are ignored. With `at_max:
//! halve` (the source before its fix 174) it goes from 100 to 199 and back; with `grow: unchanged` (proposed
//! for Palantir's dialogue, issue 722) 20 answers at once take 20 to 21 and not to 31.
//!
//! Known failures: it knows no queue, so it fills the backend's before it hears of it; and a burst
//! of drops is a decrease each.

use super::{Controller, Decision, Invalid, Law};
use crate::quantity::Coefficient;
use crate::request::{Outcome, Sample};
use crate::rng::Streams;
use crate::time::{Nanos, Time};
use crate::vitals::{Unit, VitalInfo, Vitals};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What becomes of a window that has come to the ceiling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AtMax {
    /// It stays there.
    Stay,
    /// A success leaves half of it, though nothing is wrong (before the fix).
    Halve,
}

/// Which successes add a request to a window that is in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Grow {
    /// Each.
    Each,
    /// Those of requests that were admitted at the limit of now: one in each round trip.
    Unchanged,
}

/// Settings of `aimd`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The first window, within `min` to `max`.
    pub initial: u32,
    /// The floor, 1 or more.
    pub min: u32,
    /// The ceiling.
    pub max: u32,
    /// What a drop leaves of the window, below 1.
    pub backoff: Coefficient,
    /// A success that took longer counts as a drop.
    pub timeout: Nanos,
    /// What becomes of a window that has come to the ceiling.
    pub at_max: AtMax,
    /// Which successes make the window grow.
    pub grow: Grow,
}

impl Default for Config {
    fn default() -> Self {
        let backoff = Coefficient::percent(90);
        let timeout = Nanos::from_secs(5);
        let (at_max, grow) = (AtMax::Stay, Grow::Each);
        Self { initial: 20, min: 20, max: 200, backoff, timeout, at_max, grow }
    }
}

const VITALS: &[VitalInfo] = &[
    VitalInfo { name: "drops", unit: Unit::Count, about: "decreases since the run began" },
    VitalInfo { name: "observed_rtt", unit: Unit::Seconds, about: "the last round-trip time" },
];

impl Law for Config {
    type Controller = Aimd;
    const ABOUT: &'static str = "plus one for a success, less a tenth for a drop (Netflix)";
    const VITALS: &'static [VitalInfo] = VITALS;

    fn build(&self, _: &Streams) -> Aimd {
        let window = self.initial.clamp(self.min.max(1), self.max.max(1));
        Aimd { config: self.clone(), window, drops: 0, observed: Nanos::ZERO }
    }

    fn ceiling(&self) -> Option<f64> {
        Some(self.max.max(1).into())
    }

    fn invalid(&self) -> Vec<Invalid> {
        let mut invalid = super::wrong_range(self.initial, self.min, self.max);
        invalid.extend(super::wrong_backoff(self.backoff));
        invalid
    }
}

/// The running law.
#[derive(Debug)]
pub struct Aimd {
    config: Config,
    window: u32,
    drops: u64,
    observed: Nanos,
}

impl Aimd {
    fn moved(&mut self, to: u32, reason: &'static str) -> Decision {
        let old = f64::from(self.window);
        self.window = to.clamp(self.config.min.max(1), self.config.max.max(1));
        Decision::moved(old, f64::from(self.window), reason)
    }

    fn drop(&mut self, reason: &'static str) -> Decision {
        self.drops += 1;
        let left = f64::from(self.window) * self.config.backoff.get();
        self.moved(left as u32, reason)
    }

    fn success(&mut self, sample: &Sample) -> Decision {
        let is_used = u64::from(sample.in_flight_at_start) * 2 >= u64::from(self.window);
        let counts = self.config.grow == Grow::Each || sample.limit_at_start == self.limit();
        let grown = self.window.saturating_add(u32::from(is_used && counts));
        if self.config.at_max == AtMax::Halve && grown >= self.config.max {
            self.moved(grown / 2, "max")
        } else if is_used && counts {
            self.moved(grown, "success")
        } else {
            Decision::Waiting
        }
    }
}

impl Controller for Aimd {
    fn window(&self) -> f64 {
        f64::from(self.window)
    }

    fn limit(&self) -> u64 {
        u64::from(self.window)
    }

    fn on_sample(&mut self, _: Time, sample: &Sample) -> Decision {
        match sample.outcome {
            Outcome::Overload => return self.drop("overload"),
            Outcome::Timeout => return self.drop("timeout"),
            Outcome::Error | Outcome::Cancelled => return Decision::Waiting,
            Outcome::Success => {}
        }
        self.observed = sample.rtt();
        if sample.rtt() > self.config.timeout {
            return self.drop("slow");
        }
        self.success(sample)
    }

    fn vitals(&self, vitals: &mut Vitals) {
        vitals.push("drops", self.drops as f64);
        if self.observed > Nanos::ZERO {
            vitals.push("observed_rtt", self.observed.as_secs_f64());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn success(in_flight: u32, limit_at_start: u64) -> Sample {
        Sample {
            start: Time::ZERO,
            sent: Time::ZERO,
            end: Time::from_nanos(10_000_000),
            in_flight_at_start: in_flight,
            in_flight_at_end: in_flight,
            limit_at_start,
            outcome: Outcome::Success,
            bytes: 0,
        }
    }

    fn after(config: Config, samples: impl IntoIterator<Item = Sample>) -> Vec<u64> {
        let mut law = config.build(&Streams::new(1));
        let tell = |sample: Sample| {
            let _ = law.on_sample(Time::ZERO, &sample);
            law.limit()
        };
        samples.into_iter().map(tell).collect()
    }

    /// The test of the source's fix 174: 21 of at most 21, and a success of a request that was alone.
    #[test]
    fn a_window_at_its_ceiling_stays_or_is_halved() {
        for (at_max, left) in [(AtMax::Stay, 21), (AtMax::Halve, 10)] {
            let config = Config { initial: 21, min: 1, max: 21, at_max, ..Config::default() };
            assert_eq!(after(config, [success(1, 21)]), [left], "{at_max:?}");
        }
    }

    #[test]
    fn a_window_that_halves_at_its_ceiling_never_is_there() {
        let config = Config { initial: 20, at_max: AtMax::Halve, ..Config::default() };
        let limits = after(config, std::iter::repeat_n(success(400, 1), 1_000));
        let cycle: Vec<u64> = (101..200).chain([100]).collect();
        assert_eq!(limits[..179], *(21..200).collect::<Vec<u64>>());
        assert!(limits[180..].chunks_exact(100).all(|limits| limits == cycle));
    }

    #[test]
    fn of_twenty_answers_at_once_eleven_count_or_one() {
        for (grow, limit) in [(Grow::Each, 31), (Grow::Unchanged, 21)] {
            let config = Config { min: 1, grow, ..Config::default() };
            let limits = after(config, (1..=20).map(|in_flight| success(in_flight, 20)));
            assert_eq!(limits.last(), Some(&limit), "{grow:?}");
        }
    }
}
