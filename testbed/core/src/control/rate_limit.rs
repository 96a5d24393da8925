//! `rate_limit`: any limiter before requests, at one byte each. No window.
//!
//! What a limiter grants by bytes it grants here by requests: a request costs 1 B, so `rate: 100B/s` is
//! a hundred a second and `capacity: 10B` a burst of ten. A request's class is its task.
//!
//! ```text
//! on_excess: refuse    an arrival goes on if the limiter grants it at once, else it is rejected
//! on_excess: wait      the request that is next asks, and holds all behind it until it is granted
//! ```
//!
//! Worked numbers: 300 a second into 100 a second. Refused, 200 a second are rejected and nobody waits.
//! Waiting, the n-th waits n / 150 s, until the queue of the admission (`max_waiting`) is full.
//!
//! It does not look at answers. Those who wait keep the order of the admission, and only the first of
//! them is known to the limiter; so a policy for who goes next has nothing to decide here, and `peek`
//! cannot starve anybody.

use super::{Controller, Decision, Invalid, Law, UNBOUNDED, wrong};
use crate::bucket::BucketConfig;
use crate::limit::leaky_bucket::Live;
use crate::limit::quantity::ByteRate;
use crate::limit::{Ask, LevelsConfig, Limiter, LimiterConfig, Policy, Waiter, fifo};
use crate::request::{Arrival, Sample};
use crate::rng::Streams;
use crate::time::Time;
use crate::vitals::Vitals;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a request costs, in bytes of its limiter.
const COST: u64 = 1;

/// What becomes of a request that is beyond the rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnExcess {
    /// It is rejected as it arrives.
    #[default]
    Refuse,
    /// It waits, and so do all behind it.
    Wait,
}

/// Settings of `rate_limit`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The limiter; a request costs 1 B of it.
    pub limiter: LimiterConfig,
    /// What becomes of a request that is beyond the rate.
    pub on_excess: OnExcess,
}

impl Default for Config {
    /// A hundred a second and as many in a burst.
    fn default() -> Self {
        let rate = ByteRate::per_second(100).expect("100 is above zero");
        let levels = LevelsConfig::global(BucketConfig::new(rate));
        let limiter = LimiterConfig::Fifo(fifo::Config::over(&levels));
        Self { limiter, on_excess: OnExcess::default() }
    }
}

impl Law for Config {
    type Controller = RateLimit;
    const ABOUT: &'static str = "any limiter before requests, at one byte each; no window";

    fn refuses_at_once(&self) -> bool {
        self.on_excess == OnExcess::Refuse
    }

    /// Chance comes from the stream `limiter`.
    fn build(&self, streams: &Streams) -> RateLimit {
        let (limiter, on_excess) = (self.limiter.build(streams), self.on_excess);
        RateLimit { limiter, on_excess, next: Next::HasNotAsked }
    }

    fn has_window(&self) -> bool {
        false
    }

    fn invalid(&self) -> Vec<Invalid> {
        let within = |inner: Invalid| Invalid {
            field: "limiter",
            message: format!("{}: {}", inner.field, inner.message),
        };
        let mut invalid: Vec<_> = self.limiter.invalid().into_iter().map(within).collect();
        let is_crate =
            matches!(&self.limiter, LimiterConfig::LeakyBucket(it) if it.live == Live::Crate);
        let cure = "the crate is before downloads only; write `live: law`";
        invalid.extend(wrong(is_crate, "limiter", cure));
        let waits = self.on_excess == OnExcess::Wait;
        let is_bounded =
            matches!(&self.limiter, LimiterConfig::Reservation(it) if it.at_most.is_some());
        let cure = "only the request that is next asks, so no bound on waits; leave out `at_most`";
        invalid.extend(wrong(waits && is_bounded, "limiter", cure));
        invalid
    }
}

/// How far the request that is next has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Next {
    HasNotAsked,
    Waits,
    /// Its token is taken, and it has not gone yet.
    IsGranted,
}

/// The running law.
#[derive(Debug)]
pub struct RateLimit {
    limiter: Box<dyn Limiter>,
    on_excess: OnExcess,
    next: Next,
}

impl RateLimit {
    /// Asks for the request that is next. One that the limiter turns away for good has no instant to
    /// wait for, so it goes.
    fn ask(&mut self, now: Time, arrival: &Arrival) -> Next {
        match self.limiter.ask(now, waiter(arrival), COST) {
            Ask::Granted | Ask::Refused => Next::IsGranted,
            Ask::Waiting { .. } => Next::Waits,
        }
    }
}

/// One at a time asks, so all have the same number.
fn waiter(arrival: &Arrival) -> Waiter {
    Waiter { task: u32::from(arrival.class.0), ..Waiter::default() }
}

impl Controller for RateLimit {
    fn window(&self) -> f64 {
        UNBOUNDED as f64
    }

    fn limit(&self) -> u64 {
        UNBOUNDED
    }

    fn accepts(&mut self, now: Time, arrival: &Arrival) -> bool {
        match self.on_excess {
            OnExcess::Refuse => self.limiter.try_ask(now, waiter(arrival), COST),
            OnExcess::Wait => true,
        }
    }

    fn releases(&mut self, now: Time, arrival: &Arrival) -> bool {
        if self.on_excess == OnExcess::Refuse {
            return true;
        }
        if self.next == Next::HasNotAsked {
            self.next = self.ask(now, arrival);
        }
        let goes = self.next == Next::IsGranted;
        if goes {
            self.next = Next::HasNotAsked;
        }
        goes
    }

    fn on_sample(&mut self, _: Time, _: &Sample) -> Decision {
        Decision::Waiting
    }

    fn on_wake(&mut self, now: Time) -> Decision {
        while self.limiter.on_wake(now).is_some() {
            self.next = Next::IsGranted;
        }
        Decision::Waiting
    }

    fn next_wake(&self) -> Option<Time> {
        self.limiter.next_wake()
    }

    fn vitals(&self, _: &mut Vitals) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limit::{leaky_bucket, reservation};
    use crate::time::Nanos;

    fn at_ms(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    /// 10 a second, a burst of 2.
    fn law(on_excess: OnExcess) -> RateLimit {
        let bucket = BucketConfig {
            capacity: Some(crate::limit::quantity::Bytes::new(2)),
            ..BucketConfig::new(ByteRate::per_second(10).unwrap())
        };
        let limiter = LimiterConfig::Fifo(fifo::Config::over(&LevelsConfig::global(bucket)));
        Config { limiter, on_excess }.build(&Streams::new(1))
    }

    #[test]
    fn beyond_the_burst_and_the_rate_it_refuses() {
        let mut law = law(OnExcess::Refuse);
        for (ms, accepted) in
            [(0, true), (0, true), (0, false), (99, false), (100, true), (150, false), (400, true)]
        {
            let arrival = Arrival::new(0, 0, at_ms(ms));
            assert_eq!(law.accepts(at_ms(ms), &arrival), accepted, "at {ms} ms");
            assert!(law.releases(at_ms(ms), &arrival), "who was accepted does not wait");
        }
    }

    #[test]
    fn or_holds_the_first_until_its_token_is_there() {
        let mut law = law(OnExcess::Wait);
        let arrival = Arrival::new(0, 0, Time::ZERO);
        assert!(law.accepts(Time::ZERO, &arrival));
        let released = [0, 0, 0, 50].map(|ms| law.releases(at_ms(ms), &arrival));
        assert_eq!(released, [true, true, false, false]);
        assert_eq!(law.next_wake(), Some(at_ms(100)), "asking twice takes one token");
        assert_eq!(law.on_wake(at_ms(100)), Decision::Waiting);
        assert_eq!([100, 100].map(|ms| law.releases(at_ms(ms), &arrival)), [true, false]);
        assert_eq!(law.next_wake(), Some(at_ms(200)));
    }

    #[test]
    fn a_bound_on_waits_is_refused_where_one_at_a_time_asks() {
        let levels = LevelsConfig::global(BucketConfig::new(ByteRate::per_second(10).unwrap()));
        let at_most = Some(Nanos::from_secs(60));
        let bounded = reservation::Config { at_most, ..reservation::Config::over(&levels) };
        let limiter = LimiterConfig::Reservation(bounded);
        for (on_excess, complaints) in [(OnExcess::Refuse, 0), (OnExcess::Wait, 1)] {
            let config = Config { limiter: limiter.clone(), on_excess };
            assert_eq!(config.invalid().len(), complaints, "{on_excess:?}");
        }
    }

    #[test]
    fn a_crate_is_before_downloads_only() {
        let levels = LevelsConfig::global(BucketConfig::new(ByteRate::per_second(10).unwrap()));
        for (live, complaints) in [(Live::Law, 0), (Live::Crate, 1)] {
            let limiter = leaky_bucket::Config { live, ..leaky_bucket::Config::over(&levels) };
            let limiter = LimiterConfig::LeakyBucket(limiter);
            let config = Config { limiter, ..Config::default() };
            assert_eq!(config.invalid().len(), complaints, "{live:?}");
        }
    }

    #[test]
    fn every_limiter_lets_its_rate_through_either_way() {
        let levels = LevelsConfig::global(BucketConfig::new(ByteRate::per_second(10).unwrap()));
        for limiter in LimiterConfig::all(&levels) {
            for on_excess in [OnExcess::Refuse, OnExcess::Wait] {
                let most = if limiter.name() == "none" { 1000 } else { 110 };
                let config = Config { limiter: limiter.clone(), on_excess };
                let went = went_in_ten_seconds(config.build(&Streams::new(1)));
                assert!((100..=most).contains(&went), "{} {on_excess:?}: {went}", limiter.name());
            }
        }
    }

    /// Of 1000, one each 10 ms.
    fn went_in_ten_seconds(mut law: RateLimit) -> usize {
        let (mut waiting, mut went) = (0, 0);
        for now in (0..1000).map(|step| at_ms(step * 10)) {
            if law.next_wake().is_some_and(|due| due <= now) {
                let _ = law.on_wake(now);
            }
            let arrival = Arrival::new(0, 0, now);
            waiting += usize::from(law.accepts(now, &arrival));
            while waiting > 0 && law.releases(now, &arrival) {
                (waiting, went) = (waiting - 1, went + 1);
            }
        }
        went
    }
}
