//! Paces: the arrival processes of open load.
//!
//! To add one: write `load/pace/<name>.rs` with a `Config` that implements [`PaceKind`], and add
//! one line to the registry below.

use crate::control::Invalid;
use crate::request::Class;
use crate::rng::Rng;
use crate::time::{Nanos, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Debug;

/// A running arrival process.
pub trait Pace: Debug + Send {
    /// The next planned arrival, never before the one that it gave last.
    fn next(&mut self, rng: &mut Rng) -> Time;

    /// The class of the arrival that it gave last; drawn by weight, if it has no say in that.
    fn class(&self) -> Option<Class> {
        None
    }
}

/// The settings of an arrival process, and how to build it from them.
pub trait PaceKind {
    /// The running process.
    type Pace: Pace;
    /// One line for people who choose one.
    const ABOUT: &'static str;
    /// The process at its beginning.
    fn build(&self) -> Self::Pace;
    /// How many arrivals are expected before `until`.
    fn expected(&self, until: Time) -> f64;
    /// Settings that an experiment file should not contain.
    fn invalid(&self) -> Vec<Invalid> {
        Vec::new()
    }
}

/// The complaint about a length of time that may not be 0.
fn too_short(field: &'static str, length: Nanos) -> Vec<Invalid> {
    let message = "this takes time; write 10s or so".to_owned();
    if length == Nanos::ZERO { vec![Invalid { field, message }] } else { Vec::new() }
}

/// Makes the modules, the enum that experiment files hold, and the lists.
macro_rules! paces {
    ($($Name:ident => $module:ident,)+) => {
        $(pub mod $module;)+

        /// An arrival process and its settings: `{ poisson: { rate: 1000/s } }`.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum PaceConfig {
            $(#[doc = concat!("The process `", stringify!($module), "`.")] $Name($module::Config),)+
        }

        impl PaceConfig {
            /// Name and one line of every registered process.
            pub const LIST: &'static [(&'static str, &'static str)] =
                &[$((stringify!($module), <$module::Config as PaceKind>::ABOUT)),+];

            /// The process at its beginning.
            pub fn build(&self) -> Box<dyn Pace> {
                match self { $(Self::$Name(config) => Box::new(config.build()),)+ }
            }

            /// The name of the process.
            pub const fn name(&self) -> &'static str {
                match self { $(Self::$Name(_) => stringify!($module),)+ }
            }

            /// How many arrivals are expected before `until`.
            pub fn expected(&self, until: Time) -> f64 {
                match self { $(Self::$Name(config) => config.expected(until),)+ }
            }

            /// Settings that an experiment file should not contain.
            pub fn invalid(&self) -> Vec<Invalid> {
                match self { $(Self::$Name(config) => config.invalid(),)+ }
            }
        }
    };
}

paces! {
    Constant => constant,
    Poisson => poisson,
    Ramp => ramp,
    Step => step,
    Spike => spike,
    Sine => sine,
    Trace => trace,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quantity::Rate;
    use crate::rng::Streams;

    fn at(rate: &str) -> Rate {
        crate::quantity::parse_rate(rate).unwrap()
    }

    #[test]
    fn constant_arrivals_keep_their_schedule_without_drift() {
        let mut pace = PaceConfig::Constant(constant::Config { rate: at("3/s") }).build();
        let mut rng = Streams::new(1).stream("arrivals");
        let times: Vec<_> = (0..7).map(|_| pace.next(&mut rng).as_nanos()).collect();
        let third = 333_333_333;
        assert_eq!(times[..4], [0, third, 2 * third + 1, 1_000_000_000]);
        assert_eq!(times[6], 2_000_000_000);
    }

    #[test]
    fn a_trace_gives_each_arrival_once_and_then_none() {
        let arrivals: Vec<_> = [0, 5, 5, 9].map(Time::from_nanos).to_vec();
        let mut rows = crate::trace::Rows::default();
        rows.arrivals.clone_from(&arrivals);
        let file = "t.csv".to_owned();
        let (arm, sha256, rows) = (None, None, std::sync::Arc::new(rows));
        let config = trace::Config { file, arm, sha256, rows, classes: Vec::new() };
        let counts: Vec<_> = [0, 5, 6, 99].map(|ns| config.expected(Time::from_nanos(ns))).to_vec();
        assert_eq!(counts, [0.0, 1.0, 3.0, 4.0], "before each instant");
        let (mut pace, mut rng) = (config.build(), Streams::new(1).stream("arrivals"));
        let times: Vec<_> = (0..6).map(|_| pace.next(&mut rng)).collect();
        assert_eq!(times, [&arrivals[..], &[Time::NEVER; 2]].concat());
    }

    #[test]
    fn poisson_arrivals_have_the_rate_and_the_spread() {
        let mut pace = PaceConfig::Poisson(poisson::Config { rate: at("1000/s") }).build();
        let mut rng = Streams::new(1).stream("arrivals");
        let times: Vec<_> = (0..100_001).map(|_| pace.next(&mut rng).as_secs_f64()).collect();
        let gaps: Vec<_> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((mean * 1000.0 - 1.0).abs() < 0.02, "mean {mean}");
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.02, "exponential: deviation = mean");
    }
}
