//! `trace`: the arrivals of a recorded trace, each at its own instant, and none after the last.

use super::{Pace, PaceKind};
use crate::request::Class;
use crate::rng::Rng;
use crate::time::Time;

/// Settings of `trace`.
pub use crate::trace::Trace as Config;

impl PaceKind for Config {
    type Pace = Recorded;
    const ABOUT: &'static str = "arrivals that were recorded, from a CSV file";

    fn build(&self) -> Recorded {
        Recorded { trace: self.clone(), given: 0 }
    }

    fn expected(&self, until: Time) -> f64 {
        self.rows.arrivals.partition_point(|at| *at < until) as f64
    }
}

/// The running process.
#[derive(Debug)]
pub struct Recorded {
    trace: Config,
    /// Arrivals that it gave.
    given: usize,
}

impl Pace for Recorded {
    fn next(&mut self, _: &mut Rng) -> Time {
        let next = self.trace.rows.arrivals.get(self.given).copied();
        self.given += 1;
        next.unwrap_or(Time::NEVER)
    }

    fn class(&self) -> Option<Class> {
        self.trace.class(self.given.checked_sub(1)?)
    }
}
