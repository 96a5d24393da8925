//! `none`: no limit. The yardstick for every policy, and the template for a new one.

use super::{
    Ask, Counters, Grant, Guarantees, Level, Levels, LevelsConfig, Limiter, Policy, Waiter,
};
use crate::limit::quantity::ByteRate;
use crate::rng::Streams;
use crate::time::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of `none`: there are none.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {}

impl Policy for Config {
    type Limiter = Unlimited;
    const ABOUT: &'static str = "no limit: everything is granted at once";

    fn over(_: &LevelsConfig) -> Self {
        Self {}
    }

    fn levels(&self) -> Option<&LevelsConfig> {
        None
    }

    fn build(&self, _: &Streams) -> Unlimited {
        Unlimited::default()
    }

    fn guarantees(&self) -> Guarantees {
        Guarantees { quotes: true, order: true, rate: false }
    }
}

/// The running policy.
#[derive(Debug, Default)]
pub struct Unlimited {
    levels: Levels,
    asks: u64,
}

impl Limiter for Unlimited {
    fn ask(&mut self, _: Time, _: Waiter, _: u64) -> Ask {
        self.asks += 1;
        Ask::Granted
    }

    fn next_wake(&self) -> Option<Time> {
        None
    }

    fn on_wake(&mut self, _: Time) -> Option<Grant> {
        None
    }

    fn cancel(&mut self, _: Time, _: u32) -> bool {
        false
    }

    fn set_rate(&mut self, _: Time, _: Level, _: ByteRate) {}

    fn waiting(&self) -> usize {
        0
    }

    fn counters(&self) -> Counters {
        Counters { asks: self.asks, grants: self.asks, ..Counters::default() }
    }

    fn levels(&self) -> &Levels {
        &self.levels
    }
}
