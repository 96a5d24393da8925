//! `sre_throttle`: turns requests away by chance, the more of them the fewer get through. No window.
//!
//! Source: client-side throttling in Google's *Site Reliability Engineering* (2016), chapter 21,
//! "Handling Overload"; the bound on the chance is that of failsafe-go's `AdaptiveThrottler`.
//!
//! ```text
//! over the last `span`, in tenths:   requests = arrivals, also those turned away;  accepts = successes
//! chance of being turned away = clamp((requests - multiplier * accepts) / (requests + 1), 0, at_most)
//! ```
//!
//! Worked numbers: with a multiplier of 2, nothing is turned away while half or more get through; at 1000
//! requests and 100 accepts the chance is `(1000 - 200) / 1001 = 0.80`. A backend that takes nothing is
//! still sent one in ten.
//!
//! Known failures: it knows no queue and no latency, and it hears of a failure a round trip late; until
//! then it lets everything through. After an outage it remembers for two minutes: with a multiplier
//! of 2 it offers twice what got through, and doubles from there.

use super::{Controller, Decision, Invalid, Law, UNBOUNDED, wrong};
use crate::quantity::Coefficient;
use crate::request::{Arrival, Outcome, Sample};
use crate::rng::{Rng, Streams};
use crate::time::{Nanos, Time};
use crate::vitals::{Unit, VitalInfo, Vitals};
use rand::RngExt as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parts of the span; the oldest is forgotten as a whole.
const PARTS: usize = 10;

/// Settings of `sre_throttle`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// How many requests for each that gets through are let through, 1 or more: K.
    pub multiplier: f64,
    /// How far it looks back, above 0.
    pub span: Nanos,
    /// The most that the chance can be, below 1.
    pub at_most: Coefficient,
}

impl Default for Config {
    fn default() -> Self {
        let at_most = Coefficient::percent(90);
        Self { multiplier: 2.0, span: Nanos::from_secs(120), at_most }
    }
}

const VITALS: &[VitalInfo] = &[
    VitalInfo { name: "rejection", unit: Unit::Ratio, about: "the chance of being turned away" },
    VitalInfo { name: "requests", unit: Unit::Requests, about: "arrivals of the last span" },
    VitalInfo { name: "accepts", unit: Unit::Requests, about: "successes of the last span" },
];

impl Law for Config {
    type Controller = SreThrottle;
    const ABOUT: &'static str = "turns away by chance what would not get through (Google SRE)";
    const VITALS: &'static [VitalInfo] = VITALS;

    fn build(&self, streams: &Streams) -> SreThrottle {
        SreThrottle {
            multiplier: self.multiplier.max(1.0),
            part: Nanos::new((self.span.get() / PARTS as u64).max(1)),
            at_most: self.at_most.get(),
            rng: streams.stream("controller"),
            parts: [Counts::default(); PARTS],
            newest: 0,
            sum: Counts::default(),
        }
    }

    fn has_window(&self) -> bool {
        false
    }

    fn invalid(&self) -> Vec<Invalid> {
        let multiplier = self.multiplier;
        let generous = multiplier.is_finite() && multiplier >= 1.0;
        let never = self.at_most.get() >= 1.0;
        let complaints = [
            wrong(!generous, "multiplier", "write a number from 1 up, such as 2"),
            wrong(self.span == Nanos::ZERO, "span", "this takes time; write 2m or so"),
            wrong(never, "at_most", "something must get through to be heard of; write 0.9 or so"),
        ];
        complaints.into_iter().flatten().collect()
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    requests: u64,
    accepts: u64,
}

/// The running law.
#[derive(Debug)]
pub struct SreThrottle {
    multiplier: f64,
    part: Nanos,
    at_most: f64,
    rng: Rng,
    /// A ring: the part of number n is at n modulo its length.
    parts: [Counts; PARTS],
    /// Number of the part that is open.
    newest: u64,
    /// All parts together.
    sum: Counts,
}

impl SreThrottle {
    /// The part that is open at `now`; what is older than the span is forgotten.
    fn open(&mut self, now: Time) -> &mut Counts {
        let number = now.as_nanos() / self.part.get();
        let passed = number.saturating_sub(self.newest).min(PARTS as u64);
        self.newest = self.newest.max(number);
        for past in 0..passed {
            let old =
                std::mem::take(&mut self.parts[((self.newest - past) % PARTS as u64) as usize]);
            self.sum.requests -= old.requests;
            self.sum.accepts -= old.accepts;
        }
        &mut self.parts[(self.newest % PARTS as u64) as usize]
    }

    fn rejection(&self) -> f64 {
        let (requests, accepts) = (self.sum.requests as f64, self.sum.accepts as f64);
        let hopeless = requests - self.multiplier * accepts;
        (hopeless / (requests + 1.0)).clamp(0.0, self.at_most)
    }
}

impl Controller for SreThrottle {
    fn window(&self) -> f64 {
        UNBOUNDED as f64
    }

    fn limit(&self) -> u64 {
        UNBOUNDED
    }

    fn accepts(&mut self, now: Time, _: &Arrival) -> bool {
        self.open(now);
        let accepted = self.rng.random::<f64>() >= self.rejection();
        self.open(now).requests += 1;
        self.sum.requests += 1;
        accepted
    }

    /// The window never moves; an update shows by how much the chance did.
    fn on_sample(&mut self, now: Time, sample: &Sample) -> Decision {
        let accepted = u64::from(sample.outcome == Outcome::Success);
        self.open(now).accepts += accepted;
        self.sum.accepts += accepted;
        if self.rejection() == 0.0 {
            return Decision::Waiting;
        }
        Decision::moved(self.window(), self.window(), sample.outcome.name())
    }

    fn vitals(&self, vitals: &mut Vitals) {
        vitals.push("rejection", self.rejection());
        vitals.push("requests", self.sum.requests as f64);
        vitals.push("accepts", self.sum.accepts as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(seconds: u64) -> Time {
        Time::from_nanos(seconds * 1_000_000_000)
    }

    fn answer(law: &mut SreThrottle, now: Time, outcome: Outcome) {
        let sample = Sample {
            start: now,
            sent: now,
            end: now,
            in_flight_at_start: 1,
            in_flight_at_end: 1,
            limit_at_start: 1,
            outcome,
            bytes: 0,
        };
        let _ = law.on_sample(now, &sample);
    }

    fn arrivals(law: &mut SreThrottle, now: Time, count: u64) -> u64 {
        (0..count).map(|id| u64::from(law.accepts(now, &Arrival::new(id, 0, now)))).sum()
    }

    #[test]
    fn nothing_is_turned_away_while_half_get_through() {
        let mut law = Config::default().build(&Streams::new(1));
        for _ in 0..500 {
            answer(&mut law, second(1), Outcome::Success);
        }
        assert_eq!(arrivals(&mut law, second(1), 1_000), 1_000);
        assert_eq!(law.rejection(), 0.0);
    }

    #[test]
    fn the_chance_is_the_formula_s_and_is_kept_to() {
        let mut law = Config::default().build(&Streams::new(1));
        law.open(second(1)).requests = 1_000_000;
        law.open(second(1)).accepts = 100_000;
        law.sum = Counts { requests: 1_000_000, accepts: 100_000 };
        assert!((law.rejection() - 0.8).abs() < 1e-5);
        let accepted = arrivals(&mut law, second(1), 10_000);
        // 10,000 draws at 0.2 have a deviation of 40.
        assert!((1_800..2_200).contains(&accepted), "{accepted}");
    }

    #[test]
    fn one_in_ten_gets_through_of_what_has_no_chance_and_two_minutes_later_all() {
        let mut law = Config::default().build(&Streams::new(1));
        let accepted = arrivals(&mut law, second(1), 20_000);
        assert_eq!(law.rejection(), 0.9);
        assert!((1_800..2_300).contains(&accepted), "{accepted}");
        assert_eq!(arrivals(&mut law, second(122), 1), 1, "forgotten");
        assert_eq!(law.sum.requests, 1);
    }
}
