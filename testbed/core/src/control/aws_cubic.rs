//! `aws_cubic`: a rate instead of a window, which a throttled answer cuts and success brings back along
//! a cubic curve. Requests take tokens, retries more of them.
//!
//! Source: the adaptive retry mode of the AWS SDKs (`client_rate_limiter.rs` of smithy-rs, August
//! 2026), after TCP CUBIC (Ha, Rhee and Xu, 2008).
//!
//! ```text
//! measured   = moving average, weight `smoothing`, of the answers in half seconds
//! overload:    last_max = min(measured, rate), just measured the first time;  next = beta * last_max
//! else:        K = cbrt(last_max * (1 - beta) / scale)
//!              next = scale * (t - K)^3 + last_max                      t: s since the last overload
//! rate       = max(0.5/s, min(next, 2 * measured));   capacity = max(1, rate)
//! a request takes 1 token and goes, or waits for it; a retry takes retry_cost
//! ```
//!
//! Before the first overload nothing is held back. The window is none; the rate is a vital.
//!
//! Worked numbers: it is back at the old rate after K: 0.9 s at 1 a second, 2.0 s at 10, 4.2 s at 100 and
//! 9.1 s at 1000.
//!
//! Known failures: a retry that costs more than the capacity never goes (smithy-rs issue 4749): at 0.5/s
//! the capacity is 1 and a retry costs 5. An idle client comes back slowly, for its rate is at most
//! twice what was measured. In the original those who wait compete again without an order, a herd;
//! here the queue of the admission keeps it. A retry after a timeout costs 10 there, and 5 here.

use super::{Controller, Decision, Invalid, Law, UNBOUNDED, wrong};
use crate::quantity::Coefficient;
use crate::request::{Arrival, Outcome, Sample};
use crate::rng::Streams;
use crate::time::{Nanos, Time};
use crate::vitals::{Unit, VitalInfo, Vitals};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Over how long answers are counted before they count as a rate.
const COUNTED: Nanos = Nanos::from_millis(500);
/// The least rate, per second.
const RATE_MIN: f64 = 0.5;
/// The least capacity, in tokens.
const CAPACITY_MIN: f64 = 1.0;
/// A token that lacks no more than this is there: what rounding to nanoseconds takes away.
const ROUNDING: f64 = 1e-6;

/// Settings of `aws_cubic`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// What an overload leaves of the rate, below 1.
    pub beta: Coefficient,
    /// How steep the curve is, above 0, in requests per second to the fourth.
    pub scale: f64,
    /// Weight of the newest half second in the measured rate, above 0.
    pub smoothing: Coefficient,
    /// Tokens that a retry takes, 1 or more; a first attempt takes 1.
    pub retry_cost: u32,
}

impl Default for Config {
    fn default() -> Self {
        let (beta, smoothing) = (Coefficient::percent(70), Coefficient::percent(80));
        Self { beta, scale: 0.4, smoothing, retry_cost: 5 }
    }
}

const VITALS: &[VitalInfo] = &[
    VitalInfo { name: "rate", unit: Unit::PerSecond, about: "tokens that come in" },
    VitalInfo { name: "measured_rate", unit: Unit::PerSecond, about: "answers, smoothed" },
    VitalInfo { name: "tokens", unit: Unit::Requests, about: "tokens that are there" },
];

impl Law for Config {
    type Controller = AwsCubic;
    const ABOUT: &'static str =
        "a rate that is cut by overloads and recovers by a cubic (AWS SDKs)";
    const VITALS: &'static [VitalInfo] = VITALS;

    fn build(&self, _: &Streams) -> AwsCubic {
        AwsCubic {
            beta: self.beta.get(),
            scale: if self.scale > 0.0 { self.scale } else { Self::default().scale },
            retry_cost: f64::from(self.retry_cost.max(1)),
            measured: Measured::new(self.smoothing.get()),
            throttled: None,
            due: None,
        }
    }

    fn has_window(&self) -> bool {
        false
    }

    fn invalid(&self) -> Vec<Invalid> {
        let steep = self.scale.is_finite() && self.scale > 0.0;
        let deaf = self.smoothing.get() == 0.0;
        let complaints = [
            wrong(self.beta.get() >= 1.0, "beta", "an overload must cut; write 0.7 or so"),
            wrong(!steep, "scale", "write a number above 0, such as 0.4"),
            wrong(deaf, "smoothing", "at 0 it measures nothing; write 0.8 or so"),
            wrong(self.retry_cost == 0, "retry_cost", "write 1 token or more"),
        ];
        complaints.into_iter().flatten().collect()
    }
}

/// The rate of answers.
#[derive(Clone, Copy, Debug)]
struct Measured {
    weight: f64,
    rate: f64,
    since: Time,
    answers: u32,
}

impl Measured {
    const fn new(weight: f64) -> Self {
        Self { weight, rate: 0.0, since: Time::ZERO, answers: 0 }
    }

    fn count(&mut self, now: Time) {
        self.answers = self.answers.saturating_add(1);
        let passed = now.since(self.since);
        if passed >= COUNTED {
            let newest = f64::from(self.answers) / passed.as_secs_f64();
            self.rate = newest * self.weight + self.rate * (1.0 - self.weight);
            (self.since, self.answers) = (now, 0);
        }
    }
}

/// The bucket, and the curve that its rate follows since the last overload.
#[derive(Clone, Copy, Debug)]
struct Throttled {
    at: Time,
    last_max: f64,
    rate: f64,
    tokens: f64,
    filled: Time,
}

impl Throttled {
    fn capacity(&self) -> f64 {
        self.rate.max(CAPACITY_MIN)
    }

    fn fill(&mut self, now: Time) {
        let came = self.rate * now.since(self.filled).as_secs_f64();
        self.tokens = (self.tokens + came).min(self.capacity());
        self.filled = self.filled.max(now);
    }

    fn set_rate(&mut self, next: f64, measured: f64) {
        self.rate = next.min(2.0 * measured).max(RATE_MIN);
        self.tokens = self.tokens.min(self.capacity());
    }

    /// When `cost` tokens are there; `None` if they never are.
    fn due(&self, cost: f64) -> Option<Time> {
        let lacking = Nanos::from_secs_f64((cost - self.tokens) / self.rate);
        (cost <= self.capacity()).then(|| self.filled.after(lacking))
    }
}

/// The running law.
#[derive(Debug)]
pub struct AwsCubic {
    beta: f64,
    scale: f64,
    retry_cost: f64,
    measured: Measured,
    /// `None` until the first overload: then nothing is held back.
    throttled: Option<Throttled>,
    /// What the request that is next costs, and when its tokens are there.
    due: Option<(f64, Option<Time>)>,
}

impl AwsCubic {
    fn cut(&mut self, now: Time) {
        let measured = self.measured.rate;
        let fresh = Throttled { at: now, last_max: 0.0, rate: f64::MAX, tokens: 0.0, filled: now };
        let mut throttled = self.throttled.unwrap_or(fresh);
        if self.throttled.is_some() {
            throttled.fill(now);
        }
        throttled.last_max = measured.min(throttled.rate);
        throttled.at = now;
        throttled.set_rate(self.beta * throttled.last_max, measured);
        self.throttled = Some(throttled);
    }

    fn recover(&mut self, now: Time) {
        let Some(throttled) = &mut self.throttled else { return };
        throttled.fill(now);
        let k = libm::cbrt(throttled.last_max * (1.0 - self.beta) / self.scale);
        let after_k = now.since(throttled.at).as_secs_f64() - k;
        let next = self.scale * after_k * after_k * after_k + throttled.last_max;
        throttled.set_rate(next, self.measured.rate);
    }
}

impl Controller for AwsCubic {
    fn window(&self) -> f64 {
        UNBOUNDED as f64
    }

    fn limit(&self) -> u64 {
        UNBOUNDED
    }

    fn releases(&mut self, now: Time, arrival: &Arrival) -> bool {
        let Some(throttled) = &mut self.throttled else { return true };
        throttled.fill(now);
        let cost = if arrival.attempt > 0 { self.retry_cost } else { 1.0 };
        if throttled.tokens + ROUNDING < cost {
            self.due = Some((cost, throttled.due(cost)));
            return false;
        }
        throttled.tokens -= cost;
        self.due = None;
        true
    }

    /// The window never moves; an update shows what became of the rate.
    fn on_sample(&mut self, now: Time, sample: &Sample) -> Decision {
        if sample.outcome == Outcome::Cancelled {
            return Decision::Waiting;
        }
        self.measured.count(now);
        let is_overload = sample.outcome == Outcome::Overload;
        if is_overload {
            self.cut(now)
        } else {
            self.recover(now)
        }
        let Some(throttled) = self.throttled else { return Decision::Waiting };
        self.due = self.due.map(|(cost, _)| (cost, throttled.due(cost)));
        Decision::moved(
            self.window(),
            self.window(),
            if is_overload { "overload" } else { "cubic" },
        )
    }

    /// The tokens are there: who waits asks for them now.
    fn on_wake(&mut self, now: Time) -> Decision {
        self.due = self.due.filter(|(_, at)| at.is_none_or(|at| at > now));
        Decision::Waiting
    }

    fn next_wake(&self) -> Option<Time> {
        self.due.and_then(|(_, at)| at)
    }

    fn vitals(&self, vitals: &mut Vitals) {
        if let Some(throttled) = self.throttled {
            vitals.push("rate", throttled.rate);
            vitals.push("tokens", throttled.tokens);
        }
        vitals.push("measured_rate", self.measured.rate);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    fn answer(law: &mut AwsCubic, ms: u64, outcome: Outcome) {
        let sample = Sample {
            start: at(ms),
            sent: at(ms),
            end: at(ms),
            in_flight_at_start: 1,
            in_flight_at_end: 1,
            limit_at_start: 1,
            outcome,
            bytes: 0,
        };
        let _ = law.on_sample(at(ms), &sample);
    }

    /// A law that has measured `per_second` for 20 s and is throttled then.
    fn throttled(per_second: u64) -> AwsCubic {
        let mut law = Config::default().build(&Streams::new(1));
        for n in 1..=20 * per_second {
            answer(&mut law, n * 1_000 / per_second, Outcome::Success);
        }
        assert!((law.measured.rate / per_second as f64 - 1.0).abs() < 0.01);
        answer(&mut law, 20_000, Outcome::Overload);
        law
    }

    #[test]
    fn an_overload_cuts_to_seven_tenths_and_after_k_the_rate_is_back() {
        let mut law = throttled(100);
        let rate = |law: &AwsCubic| law.throttled.unwrap().rate;
        let (cut, max) = (rate(&law), law.throttled.unwrap().last_max);
        assert!((cut / max - 0.7).abs() < 1e-9);
        // K = cbrt(100 * 0.3 / 0.4) = 4.2 s.
        for n in 1..=422 {
            answer(&mut law, 20_000 + n * 10, Outcome::Success);
        }
        assert!((rate(&law) / max - 1.0).abs() < 0.01, "{} of {max}", rate(&law));
    }

    #[test]
    fn who_lacks_a_token_is_told_when_it_is_there() {
        let mut law = throttled(100);
        let arrival = Arrival::new(0, 0, at(20_000));
        assert!(!law.releases(at(20_000), &arrival), "the bucket begins empty");
        let due = law.next_wake().unwrap();
        let rate = law.throttled.unwrap().rate;
        assert!((due.since(at(20_000)).as_secs_f64() * rate - 1.0).abs() < 1e-6);
        assert!(law.releases(due, &arrival));
        assert_eq!(law.next_wake(), None);
    }

    #[test]
    fn a_retry_costs_five_and_where_the_capacity_is_less_it_never_goes() {
        let mut law = throttled(100);
        let retry = Arrival::new(0, 0, at(20_000)).again(at(20_000));
        assert!(!law.releases(at(20_000), &retry));
        let lacking = law.next_wake().unwrap().since(at(20_000)).as_secs_f64();
        assert!((lacking * law.throttled.unwrap().rate - 5.0).abs() < 1e-6);
        for ms in 20_001..20_050 {
            answer(&mut law, ms, Outcome::Overload);
        }
        assert_eq!(law.throttled.unwrap().rate, RATE_MIN);
        assert!(!law.releases(at(90_000), &retry));
        assert_eq!(law.next_wake(), None, "no time would do");
        assert!(law.releases(at(90_000), &Arrival::new(1, 0, at(90_000))), "a first attempt would");
    }
}
