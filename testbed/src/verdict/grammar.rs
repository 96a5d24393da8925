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
//! mean(rpc.goodput) of double >= 1.5 * mean(rpc.goodput) of integer
//! eventually controller.window >= 9 for 10s and never admission.waiting > 100
//! ```
//!
//! A number may carry a unit: of time (`ns us ms s m h`), `%`, a rate (`/s`), of size (`B KiB MiB
//! GiB kB MB GB`) or of a byte rate (`MiB/s`). Values become base units as they are read: seconds,
//! shares of 1, events per second, bytes, bytes per second.

mod expression;
mod parse;
mod text;

pub use expression::{Expression, Number, Operand, Operator, Place, What, Written};
pub use parse::{column, condition, expression, parse};
pub use text::{Writing, in_unit};

use crate::watch::series::{Counted, PerRequest};
use testbed_core::time::Nanos;

/// The series that is held against an exact FIFO queue.
pub const WAIT: &str = PerRequest::TokenWait.info().name;
/// What the same asks wait in that queue.
pub const FIFO_WAIT: &str = PerRequest::FifoWait.info().name;
/// The series that can be asked by waiter.
const GRANTED: &str = Counted::Granted.info().name;

/// An expectation about what was recorded: true if every clause of one alternative is. Its `Display`
/// is the canonical sentence, which reads back as the same value.
#[derive(Clone, PartialEq, Debug)]
pub struct Sentence {
    /// What `or` joins, each what `and` joins; no list is empty.
    pub alternatives: Vec<Vec<Clause>>,
}

/// A statement that is true or false by itself.
#[derive(Clone, PartialEq, Debug)]
pub enum Clause {
    /// That a number lies where it should.
    Claim(Claim),
    /// When a comparison of series is true.
    Watch(Watch),
}

/// A number, and where it must lie.
#[derive(Clone, PartialEq, Debug)]
pub struct Claim {
    /// The number that is taken from what was recorded.
    pub left: Expression,
    /// Where that number must lie.
    pub limit: Limit,
}

/// Where a number must lie, before that is known in numbers.
#[derive(Clone, PartialEq, Debug)]
pub enum Limit {
    /// On one side of another number, or exactly on it.
    Compare(Comparison, Expression),
    /// No further from the centre than the tolerance.
    Within {
        /// The middle of the range.
        centre: Expression,
        /// Half the width of the range.
        tolerance: Expression,
    },
}

/// A statement about every instant of a span.
#[derive(Clone, PartialEq, Debug)]
pub struct Watch {
    /// At which instants the condition is to be true.
    pub when: When,
    /// What is compared at each instant.
    pub condition: Condition,
}

/// A comparison at an instant, and for how long it must be true to count.
#[derive(Clone, PartialEq, Debug)]
pub struct Condition {
    /// The left side; it may name series.
    pub left: Expression,
    /// How the left side compares to the right.
    pub comparison: Comparison,
    /// The right side; it may name series.
    pub right: Expression,
    /// How long it must be true without a break to count; one instant is enough if this is 0.
    pub lasting: Nanos,
}

/// At which instants of a span a condition is to be true.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum When {
    /// At all of them.
    Always,
    /// At none, or not for as long as told.
    Never,
    /// At one at least, or for as long as told.
    Eventually,
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
        /// The value.
        value: Number,
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
    /// Seconds from the beginning of the span until the series is near its final level for good.
    Settling {
        /// The series' dotted name.
        series: String,
        /// How far from that level is near, as a share of it; above 0.
        band: f64,
    },
    /// Seconds from an edge of a fault until the series answers to it.
    Response {
        /// Which edge, and what counts as an answer.
        response: Response,
        /// The series' dotted name.
        series: String,
        /// The name of the fault.
        fault: String,
        /// How far from the level before the fault is near, as a share of it; above 0.
        band: f64,
    },
    /// How far the series is from what it should be, as a share of that, on average over time.
    Error {
        /// The series' dotted name.
        series: String,
        /// The series that says what it should be.
        target: String,
    },
    /// Seconds from the beginning of the span until the series stays near another for as long as told.
    Convergence {
        /// The series' dotted name.
        series: String,
        /// The series that it is to come near.
        target: String,
        /// How far from that is near, as a share of it; above 0.
        band: f64,
        /// How long it must be near without a break; above 0.
        lasting: Nanos,
    },
    /// By how much a counter grew in those stretches of time in which another series is below a value.
    Increase {
        /// The counter's dotted name.
        series: String,
        /// The series that says when it counts.
        while_series: String,
        /// Below which value of that it counts.
        below: Number,
    },
}

/// How a series answers to a fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Response {
    /// It leaves the band around its level before the fault, counted from the fault's beginning.
    Reaction,
    /// It is back in that band for good, counted from the fault's end.
    Recovery,
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
    /// How many values there are.
    Count,
    /// All values added up, or the area below a series in time.
    Sum,
    /// The standard deviation, of all values and not of a sample.
    Stddev,
    /// Change a second of a counter, or values a second.
    Rate,
    /// The slope of the straight line that fits best (least squares), a second.
    Slope,
    /// How far the highest point lies beyond the final level, as a share of the step to it.
    Overshoot,
    /// The standard deviation around the straight line that fits best, as a share of the mean.
    Oscillation,
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

impl Bound {
    /// How far `value` is within the bound; below 0 beyond it.
    pub fn margin(&self, value: f64) -> f64 {
        match *self {
            Self::Compare(Comparison::Less | Comparison::LessOrEqual, limit) => limit - value,
            Self::Compare(Comparison::Greater | Comparison::GreaterOrEqual, limit) => value - limit,
            Self::Compare(Comparison::Equal, limit) => -(value - limit).abs(),
            Self::Within { centre, tolerance } => tolerance - (value - centre).abs(),
        }
    }
}

impl Sentence {
    /// A sentence of one clause.
    pub fn of(clause: Clause) -> Self {
        Self { alternatives: vec![vec![clause]] }
    }

    /// All clauses, in the order in which they stand.
    pub fn clauses(&self) -> impl Iterator<Item = &Clause> {
        self.alternatives.iter().flatten()
    }
}

impl Clause {
    /// The expressions in it, from left to right.
    pub fn expressions(&self) -> Vec<&Expression> {
        match self {
            Self::Claim(Claim { left, limit }) => [vec![left], limit.expressions()].concat(),
            Self::Watch(Watch { condition, .. }) => vec![&condition.left, &condition.right],
        }
    }
}

impl Claim {
    /// The measure, if there is nothing beside it but numbers: `max(controller.window) <= 2`.
    pub fn plain(&self) -> Option<&Measure> {
        let What::Measure(measure) = &self.left.operand()?.what else { return None };
        let numbers = self.limit.expressions().into_iter().all(|limit| limit.number().is_some());
        numbers.then_some(measure)
    }

    /// How it compares to its limit; `None` for one that is to be `within`.
    pub const fn comparison(&self) -> Option<Comparison> {
        match self.limit {
            Limit::Compare(comparison, _) => Some(comparison),
            Limit::Within { .. } => None,
        }
    }
}

impl Limit {
    /// The expressions in it, from left to right.
    pub fn expressions(&self) -> Vec<&Expression> {
        match self {
            Self::Compare(_, limit) => vec![limit],
            Self::Within { centre, tolerance } => vec![centre, tolerance],
        }
    }
}

impl Measure {
    /// The series it is taken from, by its dotted name.
    pub fn series(&self) -> &str {
        match self {
            Self::Aggregate { series, .. }
            | Self::TimeTo { series, .. }
            | Self::Settling { series, .. }
            | Self::Response { series, .. }
            | Self::Error { series, .. }
            | Self::Convergence { series, .. }
            | Self::Increase { series, .. } => series,
            Self::OverFifo(_) => WAIT,
            Self::Jain | Self::ZeroProgress { .. } => GRANTED,
        }
    }

    /// The series that it heeds beside that, if there is one.
    pub fn heeds(&self) -> Option<&str> {
        match self {
            Self::Error { target, .. } | Self::Convergence { target, .. } => Some(target),
            Self::Increase { while_series, .. } => Some(while_series),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
