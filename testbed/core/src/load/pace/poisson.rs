//! `poisson`: independent arrivals, exponential gaps; what many unrelated clients add up to.

use super::{Pace, PaceKind};
use crate::quantity::Rate;
use crate::rng::Rng;
use crate::time::{Nanos, Time};
use rand::RngExt as _;
use rand_distr::Exp1;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of `poisson`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Arrivals a second, on average.
    pub rate: Rate,
}

impl PaceKind for Config {
    type Pace = Poisson;
    const ABOUT: &'static str = "independent arrivals with exponential gaps";

    fn build(&self) -> Poisson {
        Poisson { mean_gap: Nanos::from_secs_f64(1.0 / self.rate.get()), at: Time::ZERO }
    }

    fn expected(&self, until: Time) -> f64 {
        self.rate.get() * until.as_secs_f64()
    }
}

/// The running process.
#[derive(Debug)]
pub struct Poisson {
    mean_gap: Nanos,
    at: Time,
}

impl Pace for Poisson {
    fn next(&mut self, rng: &mut Rng) -> Time {
        self.at = self.at.after(self.mean_gap.scaled(rng.sample(Exp1)));
        self.at
    }
}
