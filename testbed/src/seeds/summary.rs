//! The verdict over all seeds, and how far apart arms are.

use crate::experiment::plan::{Expectation, Plan};
use crate::verdict::{Class, Judged, Verdict};
use serde::Serialize;
use statrs::distribution::{ContinuousCDF as _, StudentsT};
use std::fmt::Write as _;
use std::path::Path;

/// The share of intervals that hold the true mean.
const CONFIDENCE: f64 = 0.95;

/// What came of an experiment over several seeds.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// The worst of all expectations, over seeds. If a run was inconclusive as a whole, at least that.
    pub class: Class,
    /// The seeds.
    pub seeds: Vec<u64>,
    /// Every expectation of an arm.
    pub expectations: Vec<OverSeeds>,
    /// How far apart arms are.
    pub differences: Vec<Difference>,
}

/// One expectation of one arm, over all seeds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OverSeeds {
    /// The expectation's name.
    pub id: String,
    /// The arm.
    pub arm: String,
    /// How it came out.
    pub verdict: Class,
    /// The seeds with which it did not come true.
    pub failed: Vec<u64>,
    /// The seeds that cannot say.
    pub inconclusive: Vec<u64>,
    /// How many failures were allowed.
    pub allowed: usize,
    /// The observed values, in base units; none with fewer than two numbers.
    pub observed: Option<Spread>,
}

/// A measure of an arm less the same of the first arm, seed by seed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// The expectation whose measure it is.
    pub id: String,
    /// The arm.
    pub arm: String,
    /// The arm that it is less.
    pub less: String,
    /// The differences, in base units.
    pub spread: Spread,
}

/// The mean of some numbers, and where the true mean lies with 95 % confidence: `mean +- t s / sqrt(n)`, with the
/// sample standard deviation s, and Student's t for n - 1 degrees of freedom.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// The mean.
    pub mean: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Spread {
    /// Of these numbers; `None` if there are fewer than two.
    pub fn of(values: &[f64]) -> Option<Self> {
        if values.len() < 2 {
            return None;
        }
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let t = StudentsT::new(0.0, 1.0, n - 1.0).ok()?.inverse_cdf((1.0 + CONFIDENCE) / 2.0);
        let half = t * (squares / (n - 1.0) / n).sqrt();
        Some(Self { mean, low: mean - half, high: mean + half })
    }
}

impl Summary {
    /// The verdict over runs of `plan` with these seeds.
    pub fn new(plan: &Plan, verdicts: &[(u64, Verdict)]) -> Self {
        let first = verdicts.first().map_or(&[][..], |(_, verdict)| &verdict.expectations);
        let expectations: Vec<_> =
            first.iter().map(|judged| over(plan, judged, verdicts)).collect();
        let of_expectations = expectations.iter().map(|over| over.verdict);
        // A breach, a gate or an abort is about the run, whatever its expectations say; without any it says nothing.
        let of_runs = verdicts.iter().map(|(_, verdict)| match verdict.ended.as_ref() {
            Some(ended) => ended.verdict,
            None if !verdict.breaches.is_empty() || plan.judges_nothing() => Class::Inconclusive,
            None => Class::Pass,
        });
        let class = of_expectations.chain(of_runs).max().unwrap_or(Class::Pass);
        let seeds = verdicts.iter().map(|(seed, _)| *seed).collect();
        let differences =
            plan.expect.iter().flat_map(|expectation| apart(plan, expectation, verdicts));
        Self { class, seeds, differences: differences.collect(), expectations }
    }

    /// As text.
    pub fn text(&self, plan: &Plan, run_dir: &Path) -> String {
        let mut out = String::new();
        for over in &self.expectations {
            let passed = self.seeds.len() - over.failed.len() - over.inconclusive.len();
            let spread =
                over.observed.map_or(String::new(), |spread| format!(": {}", said(&spread)));
            let (verdict, id, arm) = (over.verdict.name(), &over.id, &over.arm);
            let _ = writeln!(
                out,
                "{verdict:12}  {id}  {arm}  {passed} of {} passed{spread}",
                self.seeds.len()
            );
            if !over.failed.is_empty() {
                let _ = writeln!(out, "{:12}  failed with seeds {:?}", "", over.failed);
            }
        }
        for Difference { id, arm, less, spread } in &self.differences {
            let _ = writeln!(out, "{:12}  {id}  {arm} - {less}: {}", "apart", said(spread));
        }
        let (class, name, seeds) = (self.class.name().to_uppercase(), &plan.name, self.seeds.len());
        let mode = plan.mode.name();
        let _ = writeln!(out, "\n{class}  {name} ({mode}, {seeds} seeds)  {}", run_dir.display());
        out
    }
}

fn said(Spread { mean, low, high }: &Spread) -> String {
    format!("mean {mean:.6} ({low:.6} to {high:.6})")
}

/// What each seed came to for one expectation of one arm.
fn each<'v>(verdicts: &'v [(u64, Verdict)], id: &str, arm: &str) -> Vec<(u64, &'v Judged)> {
    let of = |(seed, verdict): &'v (u64, Verdict)| {
        let judged =
            verdict.expectations.iter().find(|other| other.id == id && other.arm == arm)?;
        Some((*seed, judged))
    };
    verdicts.iter().filter_map(of).collect()
}

fn over(plan: &Plan, judged: &Judged, verdicts: &[(u64, Verdict)]) -> OverSeeds {
    let each = each(verdicts, &judged.id, &judged.arm);
    let with = |classes: &[Class]| {
        let of = each.iter().filter(|(_, judged)| classes.contains(&judged.verdict));
        of.map(|(seed, _)| *seed).collect::<Vec<_>>()
    };
    let failed = with(&[Class::Fail, Class::Warn]);
    let inconclusive = with(&[Class::Inconclusive]);
    let expectation = plan.expect.iter().find(|expectation| expectation.id == judged.id);
    let quantile = expectation.map_or(0.0, |expectation| expectation.over_seeds.quantile.get());
    let allowed = (quantile * verdicts.len() as f64) as usize;
    let worst = each.iter().map(|(_, judged)| judged.verdict).max().unwrap_or(Class::Inconclusive);
    let verdict = match (failed.len() > allowed, inconclusive.is_empty()) {
        (true, _) => worst,
        (false, true) => Class::Pass,
        (false, false) => Class::Inconclusive,
    };
    let observed: Vec<_> = each.iter().filter_map(|(_, judged)| judged.observed).collect();
    let (id, arm, observed) = (judged.id.clone(), judged.arm.clone(), Spread::of(&observed));
    OverSeeds { id, arm, verdict, failed, inconclusive, allowed, observed }
}

/// How far the arms of an expectation are from the first of them. Only seeds with a number for both count.
fn apart(plan: &Plan, expectation: &Expectation, verdicts: &[(u64, Verdict)]) -> Vec<Difference> {
    let id = expectation.id.as_str();
    let names: Vec<_> = expectation.arms.iter().map(|arm| plan.arms[*arm].name.clone()).collect();
    let Some((less, others)) = names.split_first() else { return Vec::new() };
    let base = each(verdicts, id, less);
    let difference = |arm: &String| {
        let other = each(verdicts, id, arm);
        let pairs = base.iter().filter_map(|(seed, base)| {
            let (_, other) = other.iter().find(|(other, _)| other == seed)?;
            Some(other.observed? - base.observed?)
        });
        let spread = Spread::of(&pairs.collect::<Vec<_>>())?;
        Some(Difference { id: id.to_owned(), arm: arm.clone(), less: less.clone(), spread })
    };
    others.iter().filter_map(difference).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand, with t from a table of Student's distribution.
    #[test]
    fn intervals_are_students() {
        for (values, mean, half) in [
            // s = 1 and t = 4.302653 for two degrees of freedom: 4.302653 / sqrt(3).
            (&[1.0, 2.0, 3.0][..], 2.0, 2.484_138),
            // s = sqrt(2) and t = 12.706205 for one.
            (&[0.0, 2.0], 1.0, 12.706_205),
            (&[5.0; 10], 5.0, 0.0),
        ] {
            let spread = Spread::of(values).unwrap();
            assert!((spread.mean - mean).abs() < 1e-12, "{values:?}: {spread:?}");
            assert!((spread.high - spread.mean - half).abs() < 1e-6, "{values:?}: {spread:?}");
            assert!((spread.mean - spread.low - half).abs() < 1e-6, "{values:?}: {spread:?}");
        }
        assert_eq!(Spread::of(&[1.0]), None);
    }
}
