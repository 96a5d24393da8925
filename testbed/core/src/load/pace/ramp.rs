//! `ramp`: the rate goes linearly from one value to another, and stays there.

use super::{PaceKind, too_short};
use crate::control::Invalid;
use crate::load::varying::{Pieces, RateOverTime as _, Spread, Varying};
use crate::quantity::Rate;
use crate::time::{Nanos, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of `ramp`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Arrivals a second at the beginning.
    pub from: Rate,
    /// Arrivals a second at the end of the ramp, and from then on.
    pub to: Rate,
    /// How long it takes, above 0s.
    pub over: Nanos,
    /// How arrivals are spread.
    #[serde(default)]
    pub arrivals: Spread,
}

impl Config {
    fn rate(&self) -> Pieces {
        Pieces::new([(self.from, self.to, self.over)], self.to)
    }
}

impl PaceKind for Config {
    type Pace = Varying<Pieces>;
    const ABOUT: &'static str = "a rate that grows or falls linearly, and then stays";

    fn build(&self) -> Varying<Pieces> {
        Varying::new(self.rate(), self.arrivals)
    }

    fn expected(&self, until: Time) -> f64 {
        self.rate().expected(until.as_secs_f64())
    }

    fn invalid(&self) -> Vec<Invalid> {
        too_short("over", self.over)
    }
}
