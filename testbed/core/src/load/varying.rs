//! Open load whose rate changes with time, by a time change.
//!
//! Arrivals at a rate of one come at the counts 0, 1, 2 and so on (even), or at the sums of exponential
//! gaps (Poisson). Each is planned at the instant by which the integral of the rate has come to its
//! count. That is exact, without steps and without thinning (Cinlar, Introduction to Stochastic
//! Processes, 1975, chapter 4): the k-th draw is the k-th arrival, whatever the rate.

mod pieces;

pub use pieces::Pieces;

use super::pace::Pace;
use crate::rng::Rng;
use crate::time::{Nanos, Time};
use rand::RngExt as _;
use rand_distr::Exp1;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Debug;

/// How arrivals are spread within what is expected of their rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Spread {
    /// Evenly: each time one more is expected, one comes; the first at once.
    Even,
    /// Independently of one another, as those of many unrelated clients.
    #[default]
    Poisson,
}

/// A rate as a function of time, by its integral. Both functions never decrease, and each is the
/// inverse of the other.
pub trait RateOverTime: Debug + Send {
    /// Arrivals expected in the first `at_s` seconds.
    fn expected(&self, at_s: f64) -> f64;
    /// After how many seconds so many `arrivals` are expected.
    fn when_s(&self, arrivals: f64) -> f64;
}

/// The running process of any such rate.
#[derive(Debug)]
pub struct Varying<R> {
    rate: R,
    spread: Spread,
    /// The count of the next arrival, if they are even, else that of the last.
    count: f64,
    /// The arrival that was given last: rounding must not make one earlier.
    last: Time,
}

impl<R: RateOverTime> Varying<R> {
    /// The process at its beginning.
    pub const fn new(rate: R, spread: Spread) -> Self {
        Self { rate, spread, count: 0.0, last: Time::ZERO }
    }

    fn next_count(&mut self, rng: &mut Rng) -> f64 {
        match self.spread {
            Spread::Even => {
                let count = self.count;
                self.count += 1.0;
                count
            }
            Spread::Poisson => {
                let gap: f64 = rng.sample(Exp1);
                self.count += gap;
                self.count
            }
        }
    }
}

impl<R: RateOverTime> Pace for Varying<R> {
    fn next(&mut self, rng: &mut Rng) -> Time {
        let count = self.next_count(rng);
        let planned = Time::ZERO.after(Nanos::from_secs_f64(self.rate.when_s(count)));
        self.last = self.last.max(planned);
        self.last
    }
}

#[cfg(test)]
mod tests;
