//! How a series answers to a step or to a fault.

use super::line::{self, Piece, clip};
use super::{Evidence, FaultSpan, Observed, Scope};
use crate::verdict::grammar::Response;
use crate::watch::store::PhaseSpan;
use testbed_core::time::Time;

/// The last share of a span whose mean is the final level.
const FINAL_SHARE: f64 = 0.1;

/// Seconds from the beginning of `span` to the first piece that is as told.
pub(super) fn first(
    line: Option<Vec<Piece>>,
    span: &PhaseSpan,
    is: impl Fn(&Piece) -> bool,
) -> Observed {
    let Some(line) = line else { return Observed::Nothing };
    match line.iter().find(|piece| is(piece)) {
        Some(piece) => Observed::Value(piece.seen.since(span.begin).as_secs_f64()),
        None => Observed::NotWithin(span.end.since(span.begin).as_secs_f64()),
    }
}

/// Seconds from the beginning of `span` until no piece is any more as told.
fn last(line: &[Piece], span: &PhaseSpan, is: impl Fn(&Piece) -> bool) -> Observed {
    if line.last().is_none_or(&is) {
        return Observed::NotWithin(span.end.since(span.begin).as_secs_f64());
    }
    let end = line.iter().rev().find(|piece| is(piece)).map_or(span.begin, |piece| piece.end);
    Observed::Value(end.since(span.begin).as_secs_f64())
}

/// The mean over the last tenth of a line.
fn final_level(line: &[Piece]) -> Option<f64> {
    let (begin, end) = (line.first()?.begin, line.last()?.end);
    let tenth = end.since(begin).scaled(FINAL_SHARE);
    let begin = Time::from_nanos(end.as_nanos().saturating_sub(tenth.get()));
    let tail = clip(line, &PhaseSpan { begin, end });
    if tail.is_empty() { line.last().map(|piece| piece.value) } else { line::mean(&tail) }
}

/// Whether a piece lies further from `level` than `band`, a share of it.
fn outside(level: f64, band: f64) -> impl Fn(&Piece) -> bool {
    move |piece| (piece.value - level).abs() > band * level.abs()
}

pub(super) fn settling(line: Option<Vec<Piece>>, span: &PhaseSpan, band: f64) -> Observed {
    let Some(line) = line else { return Observed::Nothing };
    final_level(&line).map_or(Observed::Nothing, |level| last(&line, span, outside(level, band)))
}

/// `(peak - final) / (final - first)`. `None` if there was no step.
pub(super) fn overshoot(line: &[Piece]) -> Option<f64> {
    let (first, level) = (line.first()?.value, final_level(line)?);
    let values = line.iter().map(|piece| piece.value);
    let peak = if level > first { values.reduce(f64::max)? } else { values.reduce(f64::min)? };
    (level != first).then(|| (peak - level) / (level - first))
}

/// How long `series` of an arm takes to answer to a fault.
pub(super) fn to_fault(
    evidence: &Evidence<'_>,
    arm: usize,
    response: Response,
    series: &str,
    fault: &str,
    band: f64,
) -> Observed {
    let Some(fault) = evidence.faults.iter().find(|other| other.name == fault) else {
        return Observed::Nothing;
    };
    let whole = evidence.line(Scope { arm, phase: None }, series).unwrap_or_default();
    let before = PhaseSpan { begin: edge_before(evidence, arm, fault.begin), end: fault.begin };
    let Some(level) = line::mean(&clip(&whole, &before)) else {
        return Observed::Nothing;
    };
    let Some(span) = answer_span(evidence, arm, response, fault) else {
        return Observed::Nothing;
    };
    let answer = clip(&whole, &span);
    match response {
        Response::Reaction => first(Some(answer), &span, outside(level, band)),
        Response::Recovery => last(&answer, &span, outside(level, band)),
    }
}

/// Where an answer is looked for: while the fault is on, or from its end to the next fault. `None` if that
/// has not begun.
fn answer_span(
    evidence: &Evidence<'_>,
    arm: usize,
    response: Response,
    fault: &FaultSpan,
) -> Option<PhaseSpan> {
    let end = evidence.store.span(None)?.end;
    let (begin, end) = match response {
        Response::Reaction => (fault.begin, fault.end.min(end)),
        Response::Recovery => {
            let on = on_arm(evidence, arm).map(|fault| fault.begin);
            (fault.end, on.filter(|begin| *begin >= fault.end).min().unwrap_or(end).min(end))
        }
    };
    (begin < end).then_some(PhaseSpan { begin, end })
}

/// The latest beginning of a phase, or switch of a fault of this arm, before `at`.
fn edge_before(evidence: &Evidence<'_>, arm: usize, at: Time) -> Time {
    let phases = evidence.store.phases.iter().map(|phase| phase.begin);
    let faults = on_arm(evidence, arm).flat_map(|fault| [fault.begin, fault.end]);
    phases.chain(faults).filter(|edge| *edge < at).max().unwrap_or(Time::ZERO)
}

fn on_arm<'e>(evidence: &'e Evidence<'_>, arm: usize) -> impl Iterator<Item = &'e FaultSpan> {
    evidence.faults.iter().filter(move |fault| fault.arms.contains(&arm))
}
