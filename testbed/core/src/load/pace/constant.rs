//! `constant`: one arrival each 1/rate, the first at once.

use super::{Pace, PaceKind};
use crate::quantity::Rate;
use crate::rng::Rng;
use crate::time::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of `constant`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Arrivals a second.
    pub rate: Rate,
}

impl PaceKind for Config {
    type Pace = Constant;
    const ABOUT: &'static str = "evenly spaced arrivals";

    fn build(&self) -> Constant {
        Constant { gap_ns: 1e9 / self.rate.get(), arrivals: 0 }
    }

    fn expected(&self, until: Time) -> f64 {
        self.rate.get() * until.as_secs_f64()
    }
}

/// The running process.
#[derive(Debug)]
pub struct Constant {
    gap_ns: f64,
    arrivals: u64,
}

impl Pace for Constant {
    /// Computed from the count, so that rounding does not add up.
    fn next(&mut self, _: &mut Rng) -> Time {
        let planned = libm::round(self.arrivals as f64 * self.gap_ns) as u64;
        self.arrivals += 1;
        Time::from_nanos(planned)
    }
}
