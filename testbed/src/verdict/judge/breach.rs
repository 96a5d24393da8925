//! When a limit was first broken.

use super::Judge;
use super::claim::Against;
use crate::verdict::evaluate::{Piece, Scope};
use crate::verdict::grammar::{Aggregate, Bound, Claim, Comparison, Measure, Response, What};
use testbed_core::time::{Nanos, Time};

impl Judge<'_> {
    /// The instant at which what is claimed could no longer come true. None where there is no such instant: a
    /// mean or a percentile is broken by many.
    pub(super) fn breach(&self, scope: Scope, claim: &Claim, against: &Against) -> Option<Time> {
        let operand = claim.left.operand()?;
        let What::Measure(measure) = &operand.what else { return None };
        let scope = self.evidence.scope(scope, operand.arm.as_ref());
        let Bound::Compare(comparison, limit) = *against.bound()? else { return None };
        match measure {
            Measure::Aggregate { aggregate: Aggregate::Last, .. } => {
                self.evidence.store.span(scope.phase).map(|span| span.end)
            }
            Measure::Aggregate { aggregate, series } => {
                let broken = |value: f64| !comparison.holds(value, limit);
                self.first_beyond(scope, series, one_sided(*aggregate, comparison)?, broken)
            }
            Measure::TimeTo { .. } | Measure::Settling { .. } | Measure::Convergence { .. } => {
                let begin = self.evidence.store.span(scope.phase)?.begin;
                deadline(begin, comparison, limit)
            }
            Measure::Response { response, fault, .. } => {
                let fault = self.evidence.faults.iter().find(|other| other.name == *fault)?;
                let begin = match response {
                    Response::Reaction => fault.begin,
                    Response::Recovery => fault.end,
                };
                deadline(begin, comparison, limit)
            }
            Measure::OverFifo(_)
            | Measure::Jain
            | Measure::ZeroProgress { .. }
            | Measure::Error { .. }
            | Measure::Increase { .. } => None,
        }
    }

    /// When a value of the series was first beyond the limit.
    fn first_beyond(
        &self,
        scope: Scope,
        series: &str,
        extreme: Aggregate,
        broken: impl Fn(f64) -> bool,
    ) -> Option<Time> {
        let arm = &self.evidence.store.arms[scope.arm];
        if let Some(intervals) = arm.intervals.get(series) {
            let intervals = intervals.within(scope.phase).iter();
            let of = |min, max| if extreme == Aggregate::Max { max } else { min };
            return intervals
                .filter(|interval| broken(of(interval.min, interval.max)))
                .map(|interval| interval.end)
                .next();
        }
        let beyond = |piece: &&Piece| broken(piece.value);
        self.evidence.line(scope, series)?.iter().find(beyond).map(|piece| piece.seen)
    }
}

/// The aggregate itself, if one value beyond the limit breaks it.
fn one_sided(aggregate: Aggregate, comparison: Comparison) -> Option<Aggregate> {
    let upper = matches!(comparison, Comparison::Less | Comparison::LessOrEqual);
    let lower = matches!(comparison, Comparison::Greater | Comparison::GreaterOrEqual);
    let breaks = match aggregate {
        Aggregate::Max => upper,
        Aggregate::Min => lower,
        _ => false,
    };
    breaks.then_some(aggregate)
}

/// When what was to happen within `limit` seconds had not.
fn deadline(begin: Time, comparison: Comparison, limit: f64) -> Option<Time> {
    let upper = matches!(comparison, Comparison::Less | Comparison::LessOrEqual);
    upper.then(|| begin.after(Nanos::from_secs_f64(limit)))
}
