//! One number of an arm, A's against B's, over all pairs of runs.

use super::file::Judged;
use super::pairs::Pairs;
use super::side::Run;
use crate::headline::{self, Better};
use crate::seeds::Spread;
use crate::verdict::grammar::{Clause, Comparison, Limit, When, parse};
use serde::Serialize;
use testbed_core::vitals::Unit;

/// How B's number is beside A's.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// Better, by more than the tolerance.
    Better,
    /// Within the tolerance.
    Same,
    /// Another, by more than the tolerance, and neither is better by itself.
    Other,
    /// Worse, by more than the tolerance.
    Worse,
    /// The interval does not say on which side of the tolerance the difference lies.
    NotSeparated,
}

impl Standing {
    /// In words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Same => "same",
            Self::Other => "other",
            Self::Worse => "WORSE",
            Self::NotSeparated => "not separated",
        }
    }

    /// By how much B is worse, at least and at most, and by how much that may be.
    fn of(Interval { low, high }: Interval, allowed: f64, better: Better) -> Self {
        let beyond = low > allowed || high < -allowed;
        match better {
            _ if low >= -allowed && high <= allowed => Self::Same,
            Better::Neither if beyond => Self::Other,
            _ if low > allowed => Self::Worse,
            _ if high < -allowed => Self::Better,
            _ => Self::NotSeparated,
        }
    }
}

/// Where a mean lies with 95 % confidence, by Student's t.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// What both sides came to, in base units.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Numbers {
    /// How many pairs have a number on both sides.
    pub pairs: usize,
    /// The mean of A's.
    pub a: f64,
    /// The mean of B's.
    pub b: f64,
    /// The mean of B less A, pair by pair.
    pub difference: f64,
    /// Where the true mean of the differences lies; none with one pair.
    pub interval: Option<Interval>,
}

/// A number of an arm, compared.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Row {
    /// The arm.
    pub arm: String,
    /// The headline, or the id of the expectation.
    pub name: String,
    /// What it is taken from.
    pub measure: String,
    /// The unit; of an expectation, base units.
    #[serde(skip)]
    pub unit: Option<Unit>,
    /// Which way it is better.
    pub better: Better,
    /// What both came to; none if one of them never came to a number.
    pub numbers: Option<Numbers>,
    /// How B is beside A.
    pub standing: Standing,
    /// Of an expectation, the seeds with which A passed and B failed: those are worse, whatever the tolerance.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub newly_failed: Vec<u64>,
}

/// What is compared of one pair of runs.
struct Pair {
    a: f64,
    b: f64,
    /// By how much B is worse; for what is better neither way, B less A.
    loss: f64,
}

/// Every number of every arm that both have: headlines first.
pub(super) fn rows(pairs: &Pairs<'_>, tolerance: f64) -> Vec<Row> {
    let all: Vec<_> = pairs.usable().collect();
    let of_arm = |arm: &str| {
        let mut rows = headlines(&all, arm, tolerance);
        rows.extend(expectations(&all, arm, tolerance));
        rows
    };
    pairs.arms().into_iter().flat_map(of_arm).collect()
}

fn headlines(all: &[(&Run, &Run)], arm: &str, tolerance: f64) -> Vec<Row> {
    let value =
        |run: &Run, measure: &str| run.of_arm(arm).find(|number| number.measure == measure)?.value;
    let Some((first, _)) = all.first() else { return Vec::new() };
    let row = |number: &headline::Number| {
        let headline = headline::find(&number.measure)?;
        let pair = |(a, b): &(&Run, &Run)| {
            let (a, b) = (value(a, &number.measure)?, value(b, &number.measure)?);
            Some(Pair { a, b, loss: loss(headline.better, a, b) })
        };
        let pairs: Vec<_> = all.iter().filter_map(pair).collect();
        let row = Row::new([arm, headline.name, &number.measure], headline.better);
        let row = Row { unit: Some(headline.unit), ..row };
        (!pairs.is_empty()).then(|| row.with(&pairs, tolerance))
    };
    first.of_arm(arm).filter_map(row).collect()
}

fn loss(better: Better, a: f64, b: f64) -> f64 {
    if better == Better::More { a - b } else { b - a }
}

fn expectations(all: &[(&Run, &Run)], arm: &str, tolerance: f64) -> Vec<Row> {
    let Some((first, _)) = all.first() else { return Vec::new() };
    let of_arm = first.verdict.expectations.iter().filter(|judged| judged.arm == arm);
    of_arm.filter_map(|judged| expectation(all, judged, tolerance)).collect()
}

/// An expectation of an arm; nothing if it has neither numbers nor seeds that newly fail.
fn expectation(all: &[(&Run, &Run)], first: &Judged, tolerance: f64) -> Option<Row> {
    let Judged { arm, id, measure, .. } = first;
    let judged = |(a, b): &(&Run, &Run)| {
        let of = |run: &Run| run.verdict.expectation(arm, id).cloned();
        Some((a.manifest.seed, of(a)?, of(b)?))
    };
    let judged: Vec<_> = all.iter().filter_map(judged).collect();
    let better = better(first);
    let same_clause = judged.iter().filter(|(_, a, b)| [&a.measure, &b.measure] == [measure; 2]);
    let pairs: Vec<_> = same_clause.filter_map(|(_, a, b)| pair(a, b, better?)).collect();
    let newly = judged.iter().filter(|(_, a, b)| a.verdict == "pass" && b.verdict == "fail");
    let row = Row::new([arm, id, measure], better.unwrap_or(Better::Neither));
    let row = Row { newly_failed: newly.map(|(seed, ..)| *seed).collect(), ..row };
    (!pairs.is_empty() || !row.newly_failed.is_empty()).then(|| row.with(&pairs, tolerance))
}

/// What two runs came to; nothing if one of them came to no number.
fn pair(a: &Judged, b: &Judged, better: Better) -> Option<Pair> {
    let margin_lost = a.margin.zip(b.margin).map(|(a, b)| a - b);
    let (a, b) = (a.observed?, b.observed?);
    let loss = if better == Better::Nearer { margin_lost? } else { loss(better, a, b) };
    Some(Pair { a, b, loss })
}

/// Which way the number of an expectation is better, by the clause that it was taken from.
fn better(judged: &Judged) -> Option<Better> {
    let sentence = parse(&judged.that).ok()?;
    sentence.clauses().find_map(|clause| match clause {
        Clause::Claim(claim) if claim.left.to_string() == judged.measure => {
            Some(match &claim.limit {
                Limit::Compare(Comparison::Less | Comparison::LessOrEqual, _) => Better::Less,
                Limit::Compare(Comparison::Greater | Comparison::GreaterOrEqual, _) => Better::More,
                Limit::Compare(Comparison::Equal, _) | Limit::Within { .. } => Better::Nearer,
            })
        }
        // Its number is a length of time: how long it was not so, or how long it was.
        Clause::Watch(watch) if watch.condition.to_string() == judged.measure => {
            Some(if watch.when == When::Eventually { Better::More } else { Better::Less })
        }
        Clause::Claim(_) | Clause::Watch(_) => None,
    })
}

impl Row {
    /// A row of an arm, a name and a measure, with nothing in it.
    fn new([arm, name, measure]: [&str; 3], better: Better) -> Self {
        Self {
            arm: arm.to_owned(),
            name: name.to_owned(),
            measure: measure.to_owned(),
            unit: None,
            better,
            numbers: None,
            standing: Standing::NotSeparated,
            newly_failed: Vec::new(),
        }
    }

    /// The row with what these pairs come to.
    fn with(mut self, pairs: &[Pair], tolerance: f64) -> Self {
        if !pairs.is_empty() {
            let numbers = Numbers::of(pairs);
            let losses = interval(pairs.iter().map(|pair| pair.loss));
            let only = || Interval { low: pairs[0].loss, high: pairs[0].loss };
            let allowed = tolerance * numbers.a.abs();
            self.standing = Standing::of(losses.unwrap_or_else(only), allowed, self.better);
            self.numbers = Some(numbers);
        }
        if !self.newly_failed.is_empty() {
            self.standing = Standing::Worse;
        }
        self
    }
}

impl Numbers {
    fn of(pairs: &[Pair]) -> Self {
        let mean = |of: fn(&Pair) -> f64| pairs.iter().map(of).sum::<f64>() / pairs.len() as f64;
        let differences = pairs.iter().map(|pair| pair.b - pair.a);
        Self {
            pairs: pairs.len(),
            a: mean(|pair| pair.a),
            b: mean(|pair| pair.b),
            difference: mean(|pair| pair.b - pair.a),
            interval: interval(differences),
        }
    }
}

fn interval(values: impl Iterator<Item = f64>) -> Option<Interval> {
    let spread = Spread::of(&values.collect::<Vec<_>>())?;
    Some(Interval { low: spread.low, high: spread.high })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_worse_only_if_all_of_its_interval_is_beyond_the_tolerance() {
        use Better::{Less, Neither};
        use Standing::{Better as IsBetter, NotSeparated, Other, Same, Worse};
        for (low, high, allowed, better, standing) in [
            (0.0, 0.0, 0.0, Less, Same),
            (0.1, 0.1, 0.0, Less, Worse),
            (-0.1, -0.1, 0.0, Less, IsBetter),
            (0.1, 0.1, 0.2, Less, Same),
            (-0.2, 0.2, 0.2, Less, Same),
            (0.1, 0.3, 0.2, Less, NotSeparated),
            (-0.3, 0.3, 0.2, Less, NotSeparated),
            (0.3, 0.4, 0.2, Less, Worse),
            (-0.4, -0.3, 0.2, Less, IsBetter),
            (0.3, 0.4, 0.2, Neither, Other),
            (-0.4, -0.3, 0.2, Neither, Other),
            (-0.4, 0.3, 0.2, Neither, NotSeparated),
        ] {
            let of = Standing::of(Interval { low, high }, allowed, better);
            assert_eq!(of, standing, "{low} to {high}, {allowed} allowed");
        }
    }

    #[test]
    fn the_sentence_says_which_way_its_number_is_better() {
        for (that, measure, expected) in [
            ("max(controller.window) <= 2", "max(controller.window)", Some(Better::Less)),
            ("mean(rpc.goodput) > 9/s", "mean(rpc.goodput)", Some(Better::More)),
            (
                "last(controller.window) within 11 +- 1",
                "last(controller.window)",
                Some(Better::Nearer),
            ),
            ("zero_progress(20 rounds) == 0", "zero_progress(20 rounds)", Some(Better::Nearer)),
            ("never admission.waiting > 100", "admission.waiting > 100", Some(Better::Less)),
            ("always admission.waiting > 100", "admission.waiting > 100", Some(Better::Less)),
            ("eventually admission.waiting > 100", "admission.waiting > 100", Some(Better::More)),
            ("max(controller.window) <= 2", "min(controller.window)", None),
        ] {
            let judged = Judged {
                id: "x".into(),
                arm: "a".into(),
                that: that.into(),
                measure: measure.into(),
                verdict: "pass".into(),
                observed: None,
                margin: None,
            };
            assert_eq!(better(&judged), expected, "{that}");
        }
    }

    #[test]
    fn pairs_are_told_apart_where_their_sides_are_not() {
        let pair = |a: f64, b: f64| Pair { a, b, loss: b - a };
        // Seeds differ by 100; each pair by 10 or 12. t = 4.302653 for two degrees of freedom, s = 1.154701.
        let numbers = Numbers::of(&[pair(100.0, 110.0), pair(200.0, 212.0), pair(300.0, 310.0)]);
        assert_eq!((numbers.a, numbers.pairs), (200.0, 3));
        let Interval { low, high } = numbers.interval.unwrap();
        let half = 4.302_653 * 1.154_701 / 3_f64.sqrt();
        assert!((numbers.difference - 32.0 / 3.0).abs() < 1e-9);
        assert!((high - low - 2.0 * half).abs() < 1e-4, "{low} to {high}");
        assert_eq!(Numbers::of(&[pair(1.0, 2.0)]).interval, None);
    }
}
