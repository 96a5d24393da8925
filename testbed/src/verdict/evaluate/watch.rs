//! When a comparison of series is true.

use super::expression::{Unknown, value};
use super::line::Piece;
use super::{Evidence, Scope};
use crate::verdict::grammar::{Condition, Expression, Operand, What};
use std::collections::BTreeSet;
use testbed_core::time::{Nanos, Time};

/// When a condition was true within a span. Instants at which one of its series had no value yet do not count.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Watched {
    /// The longest that it was true without a break; `None` if it never was.
    pub longest: Option<Nanos>,
    /// When it had first been true for as long as told.
    pub lasted: Option<Time>,
    /// When it was first false.
    pub broken: Option<Time>,
    /// How long it was false in all.
    pub without: Nanos,
}

/// An operand over a span.
enum Track {
    Constant(f64),
    Line(Vec<Piece>),
}

/// Follows a condition through the span of `scope`.
///
/// # Errors
/// If something in it has no value at any instant.
pub fn watch(
    evidence: &Evidence<'_>,
    scope: Scope,
    condition: &Condition,
) -> Result<Watched, Unknown> {
    let operands = [condition.left.operands(), condition.right.operands()].concat();
    let tracks = operands.iter().map(|operand| track(evidence, scope, operand));
    let tracks = tracks.collect::<Result<Vec<_>, _>>()?;
    let end = evidence.store.span(scope.phase).map_or(Time::ZERO, |span| span.end);
    let instants: Vec<Time> = begins(&tracks).into_iter().collect();
    let mut follower = Follower { lasting: condition.lasting, ..Follower::default() };
    let mut at_track = vec![0; tracks.len()];
    for (&begin, end) in instants.iter().zip(instants.iter().skip(1).copied().chain([end])) {
        let values = tracks.iter().zip(&mut at_track).map(|(track, at)| track.at(begin, at));
        if let Some(values) = values.collect::<Option<Vec<_>>>() {
            follower.go_on(begin, end, condition.holds(&mut values.into_iter()));
        }
    }
    let nothing = || Unknown(format!("nothing was recorded for `{condition}`"));
    follower.anything.then_some(follower.watched).ok_or_else(nothing)
}

fn track(evidence: &Evidence<'_>, scope: Scope, operand: &Operand) -> Result<Track, Unknown> {
    let What::Series(series) = &operand.what else {
        let range = value(evidence, scope, &Expression::Operand(operand.clone()))?;
        let unknown = || Unknown(format!("{operand} has no one value"));
        return range.value().map(Track::Constant).ok_or_else(unknown);
    };
    let line = evidence.line(evidence.scope(scope, operand.arm.as_ref()), series);
    let nothing = || Unknown(format!("nothing was recorded for {operand}"));
    line.map(Track::Line).ok_or_else(nothing)
}

fn begins(tracks: &[Track]) -> BTreeSet<Time> {
    let lines = tracks.iter().filter_map(|track| match track {
        Track::Constant(_) => None,
        Track::Line(line) => Some(line),
    });
    lines.flatten().map(|piece| piece.begin).collect()
}

impl Track {
    /// The value in force at `now`, of the pieces from the place `at` on, which moves along.
    fn at(&self, now: Time, at: &mut usize) -> Option<f64> {
        match self {
            Self::Constant(value) => Some(*value),
            Self::Line(line) => {
                while line.get(*at + 1).is_some_and(|next| next.begin <= now) {
                    *at += 1;
                }
                line.get(*at).filter(|piece| piece.begin <= now).map(|piece| piece.value)
            }
        }
    }
}

impl Condition {
    /// Whether it is true if its operands, from left to right, have these values.
    pub fn holds(&self, values: &mut impl Iterator<Item = f64>) -> bool {
        let left = at_values(&self.left, values);
        self.comparison.holds(left, at_values(&self.right, values))
    }
}

fn at_values(expression: &Expression, values: &mut impl Iterator<Item = f64>) -> f64 {
    match expression {
        Expression::Operand(_) => values.next().unwrap_or(f64::NAN),
        Expression::Of { left, operator, right } => {
            let left = at_values(left, values);
            operator.apply(left, at_values(right, values))
        }
    }
}

/// What is known on the way through a span.
#[derive(Default)]
struct Follower {
    lasting: Nanos,
    /// Since when it has been true.
    since: Option<Time>,
    anything: bool,
    watched: Watched,
}

impl Follower {
    /// From `begin` to `end` it is true or not.
    fn go_on(&mut self, begin: Time, end: Time, holds: bool) {
        self.anything = true;
        let watched = &mut self.watched;
        if !holds {
            self.since = None;
            watched.broken = watched.broken.or(Some(begin));
            watched.without = watched.without.plus(end.since(begin));
            return;
        }
        let since = *self.since.get_or_insert(begin);
        let length = end.since(since);
        watched.longest = watched.longest.max(Some(length));
        if length >= self.lasting {
            watched.lasted = watched.lasted.or_else(|| Some(since.after(self.lasting)));
        }
    }
}
