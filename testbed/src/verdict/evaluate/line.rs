//! A series in time, as pieces of one value each.

use super::{Evidence, Scope};
use crate::watch::store::{Interval, PhaseSpan};
use testbed_core::time::Time;

/// A span of time in which a series had one value; for sampled series, their mean.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Piece {
    /// When it began.
    pub begin: Time,
    /// When it ended; not before it began.
    pub end: Time,
    /// The value.
    pub value: f64,
    /// When the value was known: at the beginning of a step, at the end of a sampling interval.
    pub seen: Time,
}

impl Piece {
    /// How long it was, in seconds.
    pub fn seconds(&self) -> f64 {
        self.end.since(self.begin).as_secs_f64()
    }
}

impl From<&Interval> for Piece {
    fn from(interval: &Interval) -> Self {
        let Interval { end, length, mean, .. } = *interval;
        let begin = Time::from_nanos(end.as_nanos().saturating_sub(length.get()));
        Self { begin, end, value: mean, seen: end }
    }
}

impl Evidence<'_> {
    /// A series in time, without a gap from its first value on. `None` if nothing of it was recorded, or
    /// if it has one value a request.
    pub fn line(&self, scope: Scope, series: &str) -> Option<Vec<Piece>> {
        let span = self.store.span(scope.phase)?;
        let arm = &self.store.arms[scope.arm];
        if let Some(intervals) = arm.intervals.get(series) {
            return Some(intervals.within(scope.phase).iter().map(Piece::from).collect());
        }
        if let Some(steps) = arm.steps.get(series) {
            let (before, points) = steps.within(scope.phase);
            let carried = before.map(|value| (span.begin, value));
            return Some(pieces(carried.into_iter().chain(points.iter().copied()), span.end));
        }
        let points = self.oracles.get(scope.arm)?.points(series)?;
        Some(clip(&pieces(points, span.end), &span))
    }
}

/// Values that hold until the next, the last of them until `end`.
fn pieces(points: impl IntoIterator<Item = (Time, f64)>, end: Time) -> Vec<Piece> {
    let points: Vec<_> = points.into_iter().collect();
    let ends = points.iter().skip(1).map(|(at, _)| *at).chain([end]);
    let piece = |(&(begin, value), end): (&(Time, f64), Time)| Piece {
        begin,
        end: end.max(begin),
        value,
        seen: begin,
    };
    points.iter().zip(ends).map(piece).collect()
}

/// The part of a line that lies within `span`.
pub fn clip(line: &[Piece], span: &PhaseSpan) -> Vec<Piece> {
    let within = |piece: &Piece| Piece {
        begin: piece.begin.max(span.begin),
        end: piece.end.min(span.end),
        seen: piece.seen.max(span.begin),
        value: piece.value,
    };
    // What ends as the span begins is no part of it, nor is what begins as it ends.
    let touches = |piece: &&Piece| piece.end > span.begin && piece.begin < span.end;
    line.iter().filter(touches).map(within).collect()
}

/// The mean over time. A line without length has its last value.
pub(super) fn mean(line: &[Piece]) -> Option<f64> {
    let seconds: f64 = line.iter().map(Piece::seconds).sum();
    if seconds > 0.0 { Some(area(line) / seconds) } else { line.last().map(|piece| piece.value) }
}

/// The sum of value times seconds.
pub(super) fn area(line: &[Piece]) -> f64 {
    line.iter().map(|piece| piece.value * piece.seconds()).sum()
}

/// From the first value to the last, a second.
pub(super) fn rate(line: &[Piece]) -> Option<f64> {
    let (first, last) = (line.first()?, line.last()?);
    let seconds = last.end.since(first.begin).as_secs_f64();
    (seconds > 0.0).then(|| (last.value - first.value) / seconds)
}
