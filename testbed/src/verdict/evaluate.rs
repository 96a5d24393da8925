//! Evaluating measures over what was recorded.

mod against;
mod expression;
mod fit;
mod line;
mod response;
mod waiters;
mod watch;

pub use expression::{Range, Unknown, value};
pub use fit::Fit;
pub use line::{Piece, clip};
pub(crate) use waiters::jain;
pub use watch::{Watched, watch};

use super::grammar::{Aggregate, FIFO_WAIT, Measure, WAIT};
use super::oracle::Oracle;
use crate::experiment::plan::Plan;
use crate::watch::series::PerRequest;
use crate::watch::store::{Distribution, Interval, PhaseSpan, Store};
use testbed_core::time::Time;

/// What was observed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Observed {
    /// A value, in base units.
    Value(f64),
    /// For a length of time: what it waits for did not happen within this many seconds.
    NotWithin(f64),
    /// A ratio to nothing: above every number.
    Infinite,
    /// Nothing was recorded that could answer the question.
    Nothing,
}

impl From<Option<f64>> for Observed {
    fn from(value: Option<f64>) -> Self {
        value.map_or(Self::Nothing, Self::Value)
    }
}

/// All that can be asked.
#[derive(Clone, Debug)]
pub struct Evidence<'a> {
    /// What was recorded.
    pub store: &'a Store,
    /// The names of the arms, in file order.
    pub arms: Vec<String>,
    /// The faults, in file order.
    pub faults: Vec<FaultSpan>,
    /// What is known of each backend beforehand.
    pub oracles: Vec<Oracle>,
}

/// When a fault was on, by plan.
#[derive(Clone, PartialEq, Debug)]
pub struct FaultSpan {
    /// Its name.
    pub name: String,
    /// When it was switched on.
    pub begin: Time,
    /// When it was switched off.
    pub end: Time,
    /// The arms that it acts on, by index.
    pub arms: Vec<usize>,
}

/// What a question is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Scope {
    /// The arm, by index.
    pub arm: usize,
    /// The phase; the whole run if none.
    pub phase: Option<usize>,
}

impl<'a> Evidence<'a> {
    /// What a run of `plan` recorded.
    pub fn new(plan: &Plan, store: &'a Store) -> Self {
        let faults = plan.faults.iter().map(|fault| FaultSpan {
            name: fault.name.clone(),
            begin: fault.begin,
            end: fault.end,
            arms: fault.arms.clone(),
        });
        let oracles = (0..plan.arms.len()).map(|arm| Oracle::new(plan, arm));
        let (faults, oracles) = (faults.collect(), oracles.collect());
        Self { store, arms: plan.arm_names(), faults, oracles }
    }

    /// `scope`, with the arm of this name in place of its own, if there is a name.
    pub fn scope(&self, scope: Scope, arm: Option<&String>) -> Scope {
        let named = arm.and_then(|name| self.arms.iter().position(|other| other == name));
        Scope { arm: named.unwrap_or(scope.arm), ..scope }
    }
}

/// Computes `measure` of one arm, within a phase or over the whole run.
pub fn evaluate(evidence: &Evidence<'_>, scope: Scope, measure: &Measure) -> Observed {
    let Some(span) = evidence.store.span(scope.phase) else {
        return Observed::Nothing;
    };
    let arm = &evidence.store.arms[scope.arm];
    let of = |aggregate, series| aggregated(evidence, scope, &span, aggregate, series);
    match measure {
        Measure::Aggregate { aggregate, series } => of(*aggregate, series).into(),
        Measure::TimeTo { series, comparison, value } => {
            let holds = |piece: &Piece| comparison.holds(piece.value, value.value);
            response::first(evidence.line(scope, series), &span, holds)
        }
        Measure::OverFifo(aggregate) => of(*aggregate, WAIT)
            .zip(of(*aggregate, FIFO_WAIT))
            .map_or(Observed::Nothing, |(wait, fifo)| ratio(wait, fifo)),
        Measure::Jain => jain(arm.waiters(scope.phase).iter().map(|waiter| waiter.granted)).into(),
        Measure::ZeroProgress { rounds } => {
            waiters::zero_progress(&arm.waiters(scope.phase), *rounds).into()
        }
        Measure::Settling { series, band } => {
            response::settling(evidence.line(scope, series), &span, *band)
        }
        Measure::Response { response, series, fault, band } => {
            response::to_fault(evidence, scope.arm, *response, series, fault, *band)
        }
        Measure::Error { series, target } => {
            against::error(&evidence.pairs(scope, [series, target])).into()
        }
        Measure::Convergence { series, target, band, lasting } => {
            against::convergence(&evidence.pairs(scope, [series, target]), &span, *band, *lasting)
        }
        Measure::Increase { series, while_series, below } => {
            let lines = [series, while_series].map(|series| evidence.line(scope, series));
            let [Some(counter), Some(other)] = lines else { return Observed::Nothing };
            against::increase(&counter, &other, below.value).into()
        }
    }
}

/// `wait` over `fifo`, neither of them negative. Who waits in neither is as well off in both.
fn ratio(wait: f64, fifo: f64) -> Observed {
    if fifo > 0.0 {
        Observed::Value(wait / fifo)
    } else if wait > 0.0 {
        Observed::Infinite
    } else {
        Observed::Value(1.0)
    }
}

fn aggregated(
    evidence: &Evidence<'_>,
    scope: Scope,
    span: &PhaseSpan,
    aggregate: Aggregate,
    series: &str,
) -> Option<f64> {
    let arm = &evidence.store.arms[scope.arm];
    if let Some(per_request) = PerRequest::named(series) {
        let distribution = arm.distribution(per_request, scope.phase);
        return of_distribution(&distribution, span, aggregate);
    }
    let line = evidence.line(scope, series)?;
    if let Some(intervals) = arm.intervals.get(series) {
        return of_intervals(intervals.within(scope.phase), &line, aggregate);
    }
    match aggregate {
        // The value carried over is none of this span.
        Aggregate::Count => Some(arm.steps.get(series)?.within(scope.phase).1.len() as f64),
        _ => of_line(&line, aggregate),
    }
}

fn of_distribution(
    distribution: &Distribution,
    span: &PhaseSpan,
    aggregate: Aggregate,
) -> Option<f64> {
    let count = distribution.count() as f64;
    match aggregate {
        Aggregate::Mean => distribution.mean(),
        Aggregate::Max => distribution.max(),
        Aggregate::Min => distribution.min(),
        Aggregate::Last => distribution.last(),
        Aggregate::Percentile(percent) => distribution.percentile(percent),
        Aggregate::Stddev => distribution.stddev(),
        Aggregate::Count => Some(count),
        Aggregate::Sum => Some(distribution.sum()),
        Aggregate::Rate => {
            let seconds = span.end.since(span.begin).as_secs_f64();
            (seconds > 0.0).then(|| count / seconds)
        }
        Aggregate::Slope | Aggregate::Overshoot | Aggregate::Oscillation => None,
    }
}

fn of_intervals(intervals: &[Interval], line: &[Piece], aggregate: Aggregate) -> Option<f64> {
    match aggregate {
        Aggregate::Max => intervals.iter().map(|interval| interval.max).reduce(f64::max),
        Aggregate::Min => intervals.iter().map(|interval| interval.min).reduce(f64::min),
        Aggregate::Last => intervals.last().map(|interval| interval.last),
        Aggregate::Count => Some(intervals.len() as f64),
        _ => of_line(line, aggregate),
    }
}

fn of_line(line: &[Piece], aggregate: Aggregate) -> Option<f64> {
    let values = || line.iter().map(|piece| piece.value);
    match aggregate {
        Aggregate::Max => values().reduce(f64::max),
        Aggregate::Min => values().reduce(f64::min),
        Aggregate::Last => line.last().map(|piece| piece.value),
        Aggregate::Mean => line::mean(line),
        Aggregate::Percentile(percent) => percentile_over_time(line, percent),
        Aggregate::Count => None,
        Aggregate::Sum => (!line.is_empty()).then(|| line::area(line)),
        Aggregate::Stddev => Fit::new(line).map(|fit| fit.stddev),
        Aggregate::Rate => line::rate(line),
        Aggregate::Slope => Fit::new(line).map(|fit| fit.slope),
        Aggregate::Overshoot => response::overshoot(line),
        Aggregate::Oscillation => Fit::new(line)?.oscillation(),
    }
}

/// The least value that was not exceeded for `percent` of the time.
fn percentile_over_time(line: &[Piece], percent: f64) -> Option<f64> {
    let mut sorted = line.to_vec();
    sorted.sort_by(|a, b| a.value.total_cmp(&b.value));
    let wanted = sorted.iter().map(Piece::seconds).sum::<f64>() * percent / 100.0;
    let mut below = 0.0;
    for piece in &sorted {
        below += piece.seconds();
        if below >= wanted {
            return Some(piece.value);
        }
    }
    sorted.last().map(|piece| piece.value)
}

#[cfg(test)]
mod tests;
