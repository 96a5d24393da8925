//! `fixed`: no adaptation. The yardstick for every law, and the template for a new one.

use super::{Controller, Decision, Invalid, Law};
use crate::request::Sample;
use crate::rng::Streams;
use crate::time::Time;
use crate::vitals::Vitals;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of `fixed`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Requests that may be in flight, 1 or more.
    pub limit: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self { limit: 1000 }
    }
}

impl Law for Config {
    type Controller = Fixed;
    const ABOUT: &'static str =
        "a constant window: no adaptation, the yardstick for every other law";

    fn build(&self, _: &Streams) -> Fixed {
        Fixed { limit: self.limit.max(1) }
    }

    fn ceiling(&self) -> Option<f64> {
        Some(self.limit.max(1) as f64)
    }

    fn invalid(&self) -> Vec<Invalid> {
        let message = "a limit of 0 admits nothing; write 1 or more".to_owned();
        if self.limit == 0 { vec![Invalid { field: "limit", message }] } else { Vec::new() }
    }
}

/// The running law.
#[derive(Debug)]
pub struct Fixed {
    limit: u64,
}

impl Controller for Fixed {
    fn window(&self) -> f64 {
        self.limit as f64
    }

    fn limit(&self) -> u64 {
        self.limit
    }

    fn on_sample(&mut self, _: Time, _: &Sample) -> Decision {
        Decision::Waiting
    }

    fn vitals(&self, _: &mut Vitals) {}
}
