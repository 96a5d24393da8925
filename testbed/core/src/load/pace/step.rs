//! `step`: one rate after the other.

use super::PaceKind;
use crate::control::Invalid;
use crate::load::varying::{Pieces, RateOverTime as _, Spread, Varying};
use crate::quantity::Rate;
use crate::time::{Nanos, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The most steps.
const MAX_STEPS: usize = 1000;

/// Settings of `step`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The rates, one after the other, 1 to 1000. The last one stays.
    pub steps: Vec<Step>,
    /// How arrivals are spread.
    #[serde(default)]
    pub arrivals: Spread,
}

/// A rate and how long it lasts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Arrivals a second.
    pub rate: Rate,
    /// How long, above 0s. The last step may leave it out, and lasts for ever in any case.
    #[serde(default, rename = "for", skip_serializing_if = "Option::is_none")]
    pub length: Option<Nanos>,
}

impl Config {
    /// A file without steps is refused; what is built all the same is one arrival a second.
    fn rate(&self) -> Pieces {
        let spans = self.steps.iter().map(|step| {
            let length = step.length.unwrap_or(Nanos::ZERO);
            (step.rate, step.rate, length)
        });
        let last = self.steps.last().map_or(Rate::ONE, |step| step.rate);
        Pieces::new(spans, last)
    }
}

impl PaceKind for Config {
    type Pace = Varying<Pieces>;
    const ABOUT: &'static str = "one rate after the other; the last stays";

    fn build(&self) -> Varying<Pieces> {
        Varying::new(self.rate(), self.arrivals)
    }

    fn expected(&self, until: Time) -> f64 {
        self.rate().expected(until.as_secs_f64())
    }

    fn invalid(&self) -> Vec<Invalid> {
        let count = self.steps.len();
        let message = match count {
            1..=MAX_STEPS => {
                let endless = |step: &&Step| step.length.is_none_or(|length| length == Nanos::ZERO);
                let before_last = &self.steps[..count - 1];
                let Some(step) = before_last.iter().find(endless) else { return Vec::new() };
                let rate = step.rate;
                format!("the step to {rate} says not how long it lasts; write `for: 10s` or so")
            }
            _ => format!("there are {count} steps; write 1 to {MAX_STEPS}"),
        };
        vec![Invalid { field: "steps", message }]
    }
}
