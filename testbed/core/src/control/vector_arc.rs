//! `vector_arc`: one more while round trips are no longer than before, a tenth less when they are so by
//! more than their usual spread.
//!
//! Source: the adaptive request concurrency of Vector (`src/sinks/util/adaptive_concurrency`, August
//! 2026, and `rfcs/2020-04-06-1858`), written from its law.
//!
//! ```text
//! a window ends with the first answer later than its end; the next is as long as the past mean
//! current   = mean RTT of the successes in the window
//! threshold = rtt_deviation_scale * sqrt(past variance)
//! window < max, the limit was reached, no backpressure, current <= past mean:  window + 1
//! backpressure, or current >= past mean + threshold:  max(1, floor(window * decrease_ratio))
//! past mean, past variance <- moving averages of current, weight ewma_alpha     (Finch, 2009)
//! ```
//!
//! The first answer only sets the past. Backpressure is an overload, a timeout or an error.
//!
//! Worked numbers: 200 comes down to 1 in 34 decreases, and below 10 each takes exactly 1. One more for
//! each round trip: at 200 ms, 500 to 1000 takes 100 s.
//!
//! Known failures: slow to come back (issues 3255 and 7371 there); an error that has nothing to do with
//! load holds it down; and where every answer takes exactly the same time the threshold is the mean, so a
//! window that is not used shrinks.

use super::{Controller, Decision, Invalid, Law, wrong, wrong_backoff, wrong_range};
use crate::quantity::Coefficient;
use crate::request::{Outcome, Sample};
use crate::rng::Streams;
use crate::time::{Nanos, Time};
use crate::vitals::{Unit, VitalInfo, Vitals};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of `vector_arc`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The first window, within 1 to `max`.
    pub initial: u32,
    /// The ceiling.
    pub max: u32,
    /// What a decrease leaves of the window, below 1.
    pub decrease_ratio: Coefficient,
    /// Weight of the newest window in the past mean, above 0.
    pub ewma_alpha: Coefficient,
    /// Deviations by which a window must be slower than the past to be too slow, 0 or more.
    pub rtt_deviation_scale: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            initial: 1,
            max: 200,
            decrease_ratio: Coefficient::percent(90),
            ewma_alpha: Coefficient::percent(40),
            rtt_deviation_scale: 2.5,
        }
    }
}

const VITALS: &[VitalInfo] = &[
    VitalInfo { name: "baseline_rtt", unit: Unit::Seconds, about: "moving average of the means" },
    VitalInfo { name: "deviation", unit: Unit::Seconds, about: "how far the means are from it" },
    VitalInfo { name: "observed_rtt", unit: Unit::Seconds, about: "mean RTT of the last window" },
];

impl Law for Config {
    type Controller = VectorArc;
    const ABOUT: &'static str = "plus one unless slower, less a tenth if by a deviation (Vector)";
    const VITALS: &'static [VitalInfo] = VITALS;

    fn build(&self, _: &Streams) -> VectorArc {
        let max = f64::from(self.max.max(1));
        VectorArc {
            max,
            decrease_ratio: self.decrease_ratio.get(),
            alpha: self.ewma_alpha.get(),
            scale: self.rtt_deviation_scale.max(0.0),
            window: f64::from(self.initial).clamp(1.0, max),
            past: None,
            current: Current::default(),
            ends: Time::ZERO,
            observed: None,
        }
    }

    fn ceiling(&self) -> Option<f64> {
        Some(self.max.max(1).into())
    }

    fn invalid(&self) -> Vec<Invalid> {
        let mut invalid = wrong_range(self.initial, 1, self.max);
        let renamed = |invalid: Invalid| Invalid { field: "decrease_ratio", ..invalid };
        invalid.extend(wrong_backoff(self.decrease_ratio).map(renamed));
        let deaf = self.ewma_alpha.get() == 0.0;
        invalid.extend(wrong(deaf, "ewma_alpha", "at 0 it learns nothing; write 0.4 or so"));
        let scale = self.rtt_deviation_scale;
        let numeric = scale.is_finite() && scale >= 0.0;
        invalid.extend(wrong(!numeric, "rtt_deviation_scale", "write a number from 0 up"));
        invalid
    }
}

/// What the windows so far have taught.
#[derive(Clone, Copy, Debug)]
struct Past {
    mean_ns: f64,
    variance: f64,
}

/// The window that is open.
#[derive(Clone, Copy, Debug, Default)]
struct Current {
    successes: u32,
    rtt_sum_ns: f64,
    reached_limit: bool,
    backpressure: bool,
}

impl Current {
    fn mean_ns(&self) -> Option<f64> {
        (self.successes > 0).then(|| self.rtt_sum_ns / f64::from(self.successes))
    }
}

/// The running law.
#[derive(Debug)]
pub struct VectorArc {
    max: f64,
    decrease_ratio: f64,
    alpha: f64,
    scale: f64,
    window: f64,
    past: Option<Past>,
    current: Current,
    ends: Time,
    observed: Option<f64>,
}

impl VectorArc {
    fn count(&mut self, sample: &Sample) {
        let in_flight = sample.in_flight_at_start.max(sample.in_flight_at_end);
        self.current.reached_limit |= u64::from(in_flight) >= self.limit();
        if sample.outcome == Outcome::Success {
            self.current.successes += 1;
            self.current.rtt_sum_ns += sample.rtt().get() as f64;
        } else {
            self.current.backpressure = true;
        }
    }

    /// What the window that ends says of the past.
    fn decide(&mut self, past: Past) -> Decision {
        let mean_ns = self.current.mean_ns();
        let threshold = past.mean_ns + self.scale * libm::sqrt(past.variance);
        let no_slower = mean_ns.is_some_and(|mean| mean <= past.mean_ns);
        let slower = mean_ns.is_some_and(|mean| mean >= threshold);
        let Current { reached_limit, backpressure, .. } = self.current;
        if self.window < self.max && reached_limit && !backpressure && no_slower {
            self.replace(self.window + 1.0, "no_slower")
        } else if self.window > 1.0 && (backpressure || slower) {
            let reason = if backpressure { "backpressure" } else { "slower" };
            self.replace(libm::floor(self.window * self.decrease_ratio), reason)
        } else {
            Decision::Waiting
        }
    }

    fn replace(&mut self, raw: f64, reason: &'static str) -> Decision {
        let old = self.window;
        self.window = raw.clamp(1.0, self.max);
        Decision::moved(old, self.window, reason)
    }

    fn learn(&mut self, mean_ns: f64) {
        self.observed = Some(mean_ns);
        self.past = Some(match self.past {
            None => Past { mean_ns, variance: 0.0 },
            Some(past) => {
                let (difference, alpha) = (mean_ns - past.mean_ns, self.alpha);
                let variance = (1.0 - alpha) * (past.variance + alpha * difference * difference);
                Past { mean_ns: past.mean_ns + alpha * difference, variance }
            }
        });
    }

    fn open_next(&mut self, now: Time) {
        self.current = Current::default();
        let length = self.past.map_or(Nanos::ZERO, |past| Nanos::new(past.mean_ns as u64));
        self.ends = now.after(length);
    }
}

impl Controller for VectorArc {
    fn window(&self) -> f64 {
        self.window
    }

    fn limit(&self) -> u64 {
        self.window as u64
    }

    fn on_sample(&mut self, now: Time, sample: &Sample) -> Decision {
        if sample.outcome == Outcome::Cancelled {
            return Decision::Waiting;
        }
        self.count(sample);
        if now < self.ends {
            return Decision::Waiting;
        }
        let decision = self.past.map_or(Decision::Waiting, |past| self.decide(past));
        if let Some(mean_ns) = self.current.mean_ns() {
            self.learn(mean_ns);
        }
        if self.past.is_some() {
            self.open_next(now);
        }
        decision
    }

    fn baseline_rtt(&self) -> Option<Nanos> {
        self.past.map(|past| Nanos::new(past.mean_ns as u64))
    }

    fn vitals(&self, vitals: &mut Vitals) {
        if let Some(past) = self.past {
            vitals.push("baseline_rtt", past.mean_ns / 1e9);
            vitals.push("deviation", libm::sqrt(past.variance) / 1e9);
        }
        if let Some(observed_ns) = self.observed {
            vitals.push("observed_rtt", observed_ns / 1e9);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An answer at `end` ms that took `rtt` ms, with all of the window in use.
    fn answer(law: &mut VectorArc, end: u64, rtt: u64, outcome: Outcome) -> Decision {
        let at = |ms| Time::from_nanos(ms * 1_000_000);
        let sample = Sample {
            start: at(end - rtt),
            sent: at(end - rtt),
            end: at(end),
            in_flight_at_start: 1,
            in_flight_at_end: law.limit() as u32,
            limit_at_start: law.limit(),
            outcome,
            bytes: 0,
        };
        law.on_sample(sample.end, &sample)
    }

    #[test]
    fn each_window_of_no_slower_answers_adds_one_and_each_backpressure_takes_a_tenth() {
        use Outcome::{Overload, Success};
        let mut law = Config::default().build(&Streams::new(1));
        for (end, rtt, outcome, limit) in [
            (10, 10, Success, 1), // sets the past: a window is 10 ms from here
            (15, 10, Success, 1), // within it
            (20, 10, Success, 2),
            (30, 10, Success, 3),
            (40, 9, Success, 4),
            (50, 20, Success, 3),  // beyond 9.6 ms and 2.5 deviations
            (66, 10, Overload, 2), // the past mean is 13.8 ms by now
        ] {
            let _ = answer(&mut law, end, rtt, outcome);
            assert_eq!(law.limit(), limit, "{outcome:?} at {end} ms");
        }
    }

    #[test]
    fn from_200_to_1_takes_34_decreases() {
        let mut law = Config { initial: 200, ..Config::default() }.build(&Streams::new(1));
        let _ = answer(&mut law, 10, 10, Outcome::Success);
        let mut decreases = 0;
        while law.limit() > 1 {
            decreases += 1;
            let _ = answer(&mut law, 10 + decreases * 10, 10, Outcome::Overload);
        }
        assert_eq!(decreases, 34);
    }
}
