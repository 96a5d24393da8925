//! The sentences in which an experiment says what it expects.
//!
//! ```text
//! max(controller.window) <= 2
//! last(controller.window) within 11 +- 1.5
//! p99.9(rpc.latency) < 150ms
//! time_to(controller.window >= 9) <= 15s
//! max(limiter.wait) / fifo <= 3
//! jain(download.granted by waiter) >= 0.9
//! zero_progress(20 rounds) == 0
//! ```
//!
//! A number may carry a unit: of time (`ns us ms s m h`), `%`, a rate (`/s`), of size (`B KiB MiB
//! GiB kB MB GB`) or of a byte rate (`MiB/s`). Values become base units as they are read: seconds,
//! shares of 1, events per second, bytes, bytes per second.

mod parse;
mod text;

pub use parse::{Written, WrittenUnit, parse, written};
pub use text::in_unit;

use crate::watch::series::{Counted, PerRequest};

/// The series that is held against an exact FIFO queue.
pub const WAIT: &str = PerRequest::TokenWait.info().name;
/// What the same asks wait in that queue.
pub const FIFO_WAIT: &str = PerRequest::FifoWait.info().name;
/// The series that can be asked by waiter.
const GRANTED: &str = Counted::Granted.info().name;

/// An expectation about what was recorded. Its `Display` is the canonical sentence, which reads
/// back as the same value.
#[derive(Clone, PartialEq, Debug)]
pub struct Sentence {
    /// The number that is taken from what was recorded.
    pub measure: Measure,
    /// Where that number must lie.
    pub bound: Bound,
}

/// A number taken from what was recorded.
#[derive(Clone, PartialEq, Debug)]
pub enum Measure {
    /// All values of the series in one, in its unit.
    Aggregate {
        /// How the values become one.
        aggregate: Aggregate,
        /// The series' dotted name.
        series: String,
    },
    /// Seconds until the series first compares as told.
    TimeTo {
        /// The series' dotted name.
        series: String,
        /// How the series, on the left, compares to the value.
        comparison: Comparison,
        /// The value, in the series' base unit.
        value: f64,
    },
    /// All values of [`WAIT`] in one, over those of [`FIFO_WAIT`] in one: a ratio.
    OverFifo(Aggregate),
    /// How evenly waiters were granted bytes, by Jain's index: 1 if each got the same, 1/n if one
    /// of n got everything.
    Jain,
    /// How many waiters went without a grant for so long.
    ZeroProgress {
        /// Above 0. A round is as many grants to others as there are transfers.
        rounds: f64,
    },
}

/// How the values of a series become one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Aggregate {
    /// The largest.
    Max,
    /// The smallest.
    Min,
    /// The arithmetic mean.
    Mean,
    /// The latest.
    Last,
    /// The value below which this many percent lie; above 0 and below 100.
    Percentile(f64),
}

/// Where a number must lie. In base units: seconds, shares of 1, bytes, events or bytes per second.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Bound {
    /// On one side of a limit, or exactly on it.
    Compare(Comparison, f64),
    /// No further from the centre than the tolerance.
    Within {
        /// The middle of the range.
        centre: f64,
        /// Half the width of the range; not negative.
        tolerance: f64,
    },
}

/// A comparison of two numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Comparison {
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `==`
    Equal,
}

/// Why a text is not a sentence.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{message}")]
pub struct GrammarError {
    /// Where in the sentence, in characters from 1.
    pub column: usize,
    /// What is wrong there.
    pub message: String,
    /// What to write instead.
    pub help: String,
}

impl Comparison {
    /// Whether the comparison is true, exactly and without rounding. Nothing compares to NaN.
    pub fn holds(self, left: f64, right: f64) -> bool {
        match self {
            Self::Less => left < right,
            Self::LessOrEqual => left <= right,
            Self::Greater => left > right,
            Self::GreaterOrEqual => left >= right,
            Self::Equal => left == right,
        }
    }
}

impl Bound {
    /// Whether `value` lies within the bound. The edges of `within` belong to it, and so does what
    /// misses them by no more than rounding: a share of 1e-12 of the centre or tolerance.
    pub fn holds(&self, value: f64) -> bool {
        match *self {
            Self::Compare(comparison, limit) => comparison.holds(value, limit),
            Self::Within { centre, tolerance } => {
                let slack = 1e-12 * centre.abs().max(tolerance);
                (value - centre).abs() <= tolerance + slack
            }
        }
    }
}

#[cfg(test)]
mod tests;
