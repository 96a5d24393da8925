//! `spike`: a rate that is another for a while.

use super::{PaceKind, too_short};
use crate::control::Invalid;
use crate::load::varying::{Pieces, RateOverTime as _, Spread, Varying};
use crate::quantity::Rate;
use crate::time::{Nanos, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of `spike`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Arrivals a second before and after.
    pub base: Rate,
    /// Arrivals a second meanwhile; it may be less than before.
    pub peak: Rate,
    /// When it begins.
    pub at: Nanos,
    /// How long it lasts, above 0s.
    #[serde(rename = "for")]
    pub length: Nanos,
    /// How arrivals are spread.
    #[serde(default)]
    pub arrivals: Spread,
}

impl Config {
    fn rate(&self) -> Pieces {
        let before = (self.base, self.base, self.at);
        Pieces::new([before, (self.peak, self.peak, self.length)], self.base)
    }
}

impl PaceKind for Config {
    type Pace = Varying<Pieces>;
    const ABOUT: &'static str = "a rate that is another for a while";

    fn build(&self) -> Varying<Pieces> {
        Varying::new(self.rate(), self.arrivals)
    }

    fn expected(&self, until: Time) -> f64 {
        self.rate().expected(until.as_secs_f64())
    }

    fn invalid(&self) -> Vec<Invalid> {
        too_short("for", self.length)
    }
}
