//! `unlimited`: no window at all. What a backend does when nobody holds anything back.
//!
//! Together with `fixed` it is what every comparison needs. Known failure: all of them.

use super::{Controller, Decision, Law, UNBOUNDED};
use crate::request::Sample;
use crate::rng::Streams;
use crate::time::Time;
use crate::vitals::Vitals;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of `unlimited`: there are none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {}

impl Law for Config {
    type Controller = Unlimited;
    const ABOUT: &'static str = "no window: the other yardstick, where nothing is held back";

    fn build(&self, _: &Streams) -> Unlimited {
        Unlimited
    }

    fn has_window(&self) -> bool {
        false
    }
}

/// The running law.
#[derive(Debug)]
pub struct Unlimited;

impl Controller for Unlimited {
    fn window(&self) -> f64 {
        UNBOUNDED as f64
    }

    fn limit(&self) -> u64 {
        UNBOUNDED
    }

    fn on_sample(&mut self, _: Time, _: &Sample) -> Decision {
        Decision::Waiting
    }

    fn vitals(&self, _: &mut Vitals) {}
}
