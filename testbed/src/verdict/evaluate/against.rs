//! One series, held against another in time.

use super::line::Piece;
use super::{Evidence, Observed, Scope};
use crate::watch::store::PhaseSpan;
use testbed_core::time::{Nanos, Time};

/// A stretch of time in which each of two series had one value.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Pair {
    begin: Time,
    end: Time,
    /// Of the series, and of the one that it is held against.
    values: [f64; 2],
}

impl Evidence<'_> {
    /// Two series side by side, from the first instant at which both have a value; nothing if one has none.
    pub(super) fn pairs(&self, scope: Scope, series: [&str; 2]) -> Vec<Pair> {
        match series.map(|series| self.line(scope, series)) {
            [Some(left), Some(right)] => overlaid(&left, &right),
            _ => Vec::new(),
        }
    }
}

/// The stretches that two lines have in common.
fn overlaid(left: &[Piece], right: &[Piece]) -> Vec<Pair> {
    let (mut at, mut pairs) = ([0, 0], Vec::new());
    while let (Some(a), Some(b)) = (left.get(at[0]), right.get(at[1])) {
        let (begin, end) = (a.begin.max(b.begin), a.end.min(b.end));
        if begin < end {
            pairs.push(Pair { begin, end, values: [a.value, b.value] });
        }
        at[usize::from(b.end < a.end)] += 1;
    }
    pairs
}

/// `<|x - y| / y>` over the time in which y is above 0; `None` if there is no such time.
pub(super) fn error(pairs: &[Pair]) -> Option<f64> {
    let counts = |pair: &&Pair| pair.values[1] > 0.0;
    let seconds = |pair: &Pair| pair.end.since(pair.begin).as_secs_f64();
    let share = |Pair { values: [x, y], .. }: &Pair| (x - y).abs() / y;
    let pairs = || pairs.iter().filter(counts);
    let length: f64 = pairs().map(seconds).sum();
    (length > 0.0).then(|| pairs().map(|pair| share(pair) * seconds(pair)).sum::<f64>() / length)
}

/// Seconds from the beginning of `span` until x lies within `band` of y, a share of it, and does so for as long as told.
pub(super) fn convergence(pairs: &[Pair], span: &PhaseSpan, band: f64, lasting: Nanos) -> Observed {
    if pairs.is_empty() {
        return Observed::Nothing;
    }
    let mut since = None;
    for Pair { begin, end, values: [x, y] } in pairs {
        if (x - y).abs() > band * y.abs() {
            since = None;
            continue;
        }
        let begun = *since.get_or_insert(*begin);
        if end.since(begun) >= lasting {
            return Observed::Value(begun.since(span.begin).as_secs_f64());
        }
    }
    Observed::NotWithin(span.end.since(span.begin).as_secs_f64())
}

/// By how much a counter grew in the stretches in which `other` is below a value; it began at 0.
pub(super) fn increase(counter: &[Piece], other: &[Piece], below: f64) -> Option<f64> {
    let at = |now: Time| {
        let known = counter.partition_point(|piece| piece.begin <= now);
        known.checked_sub(1).map_or(0.0, |last| counter[last].value)
    };
    let grew = |piece: &Piece| at(piece.end) - at(piece.begin);
    (!other.is_empty()).then(|| other.iter().filter(|piece| piece.value < below).map(grew).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secs(s: u64) -> Time {
        Time::ZERO.after(Nanos::from_secs(s))
    }

    /// A line of pieces, each as long as told.
    fn line(pieces: &[(u64, f64)]) -> Vec<Piece> {
        let mut begin = secs(0);
        let mut piece = |&(length, value): &(u64, f64)| {
            let (from, end) = (begin, begin.after(Nanos::from_secs(length)));
            begin = end;
            Piece { begin: from, end, value, seen: from }
        };
        pieces.iter().map(&mut piece).collect()
    }

    #[test]
    fn errors_are_means_over_time() {
        let target = line(&[(4, 10.0), (6, 20.0)]);
        for (series, error) in [
            (line(&[(10, 10.0)]), Some((0.0 * 4.0 + 0.5 * 6.0) / 10.0)),
            (line(&[(2, 15.0), (8, 25.0)]), Some((0.5 * 2.0 + 1.5 * 2.0 + 0.25 * 6.0) / 10.0)),
            // What has no window has no error.
            (Vec::new(), None),
        ] {
            assert_eq!(super::error(&overlaid(&series, &target)), error, "{series:?}");
        }
        assert_eq!(error(&overlaid(&target, &line(&[(10, 0.0)]))), None);
    }

    #[test]
    fn convergence_counts_from_the_beginning_of_the_stretch_that_lasts() {
        let target = line(&[(5, 100.0), (10, 50.0)]);
        // Near from 1 to 2 s, far until the target falls at 5 s, near from 6 s on.
        let series = line(&[(1, 80.0), (1, 95.0), (4, 70.0), (9, 54.0)]);
        let span = PhaseSpan { begin: secs(0), end: secs(15) };
        let pairs = overlaid(&series, &target);
        for (band, lasting, observed) in [
            (0.1, 1, Observed::Value(1.0)),
            (0.1, 2, Observed::Value(6.0)),
            (0.1, 9, Observed::Value(6.0)),
            (0.1, 10, Observed::NotWithin(15.0)),
            (0.05, 1, Observed::Value(1.0)),
            (0.05, 2, Observed::NotWithin(15.0)),
            (0.5, 15, Observed::Value(0.0)),
        ] {
            let got = convergence(&pairs, &span, band, Nanos::from_secs(lasting));
            assert_eq!(got, observed, "{band} for {lasting} s");
        }
        assert_eq!(convergence(&[], &span, 0.1, Nanos::from_secs(1)), Observed::Nothing);
    }

    #[test]
    fn a_counter_counts_while_the_other_is_below() {
        // Sampled at the end of each second: 2 in the first, 3 in the second, 5 in the third.
        let counter = line(&[(0, 0.0), (1, 0.0), (1, 2.0), (1, 5.0), (0, 10.0)]);
        for (busy, below, grown) in [
            ([0.9, 0.9, 0.9], 0.8, 0.0),
            ([0.5, 0.9, 0.9], 0.8, 2.0),
            ([0.9, 0.8, 0.5], 0.8, 5.0),
            ([0.5, 0.5, 0.5], 0.8, 10.0),
        ] {
            let other = line(&busy.map(|busy| (1, busy)));
            assert_eq!(increase(&counter, &other, below), Some(grown), "{busy:?}");
        }
        assert_eq!(increase(&counter, &[], 0.8), None);
    }
}
