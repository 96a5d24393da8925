//! The runs of both sides by pairs: of each seed one of A and one of B, which draw the same numbers.

use super::CompareError;
use super::file::Flat;
use super::side::{Run, Side};
use crate::program::hash_of;
use std::collections::BTreeSet;

/// More fields that differ are counted, not named.
const FIELDS_NAMED: usize = 8;

/// Two sides, pair by pair.
#[derive(Debug)]
pub(super) struct Pairs<'s> {
    sides: [&'s Side; 2],
    /// Seeds that both have.
    common: Vec<u64>,
}

impl<'s> Pairs<'s> {
    pub(super) fn new(a: &'s Side, b: &'s Side) -> Result<Self, CompareError> {
        one_mode(a, b)?;
        let common: Vec<_> = a.seeds().filter(|seed| b.runs.contains_key(seed)).collect();
        if common.is_empty() {
            let [a, b] = [a, b].map(|side| numbers(side.seeds()));
            return Err(CompareError::NoSeed { a, b });
        }
        let pairs = Self { sides: [a, b], common };
        if let (Some((a, b)), true) = (pairs.usable().next(), pairs.arms().is_empty()) {
            let [a, b] = [a, b].map(|run| run.arms().join(", "));
            return Err(CompareError::NoArm { a, b });
        }
        Ok(pairs)
    }

    fn all(&self) -> impl Iterator<Item = (u64, &'s Run, &'s Run)> {
        let [a, b] = self.sides;
        self.common.iter().map(move |seed| (*seed, &a.runs[seed], &b.runs[seed]))
    }

    /// The pairs whose numbers can be held against each other.
    pub(super) fn usable(&self) -> impl Iterator<Item = (&'s Run, &'s Run)> {
        let can_say = |run: &Run| run.verdict.unusable().is_none();
        self.all().filter(move |(_, a, b)| can_say(a) && can_say(b)).map(|(_, a, b)| (a, b))
    }

    /// Whether there is a pair that is not usable.
    pub(super) fn unusable(&self) -> bool {
        self.usable().count() < self.common.len()
    }

    /// Whether a run of B failed early with a seed with which that of A did not.
    pub(super) fn ended_worse(&self) -> bool {
        self.all().any(|(_, a, b)| b.verdict.failed_early() && !a.verdict.failed_early())
    }

    /// The seeds of usable pairs.
    pub(super) fn seeds(&self) -> Vec<u64> {
        self.usable().map(|(a, _)| a.manifest.seed).collect()
    }

    /// The arms that both sides have, in the order of A.
    pub(super) fn arms(&self) -> Vec<&'s str> {
        let Some((a, b)) = self.usable().next() else { return Vec::new() };
        let others = b.arms();
        a.arms().into_iter().filter(|arm| others.contains(arm)).collect()
    }

    /// What there is to know of both sides besides their numbers.
    pub(super) fn notes(&self) -> Vec<String> {
        let [a, b] = self.sides.map(Side::any);
        let mut notes = fields(&a.experiment, &b.experiment);
        notes.extend(programs(a, b));
        for (side, other) in [("A", 0), ("B", 1)] {
            let [this, that] = [self.sides[other], self.sides[1 - other]];
            let alone: Vec<_> = this.seeds().filter(|seed| !that.runs.contains_key(seed)).collect();
            if !alone.is_empty() {
                notes.push(format!("seeds of {side} alone are left out: {}", numbers(alone)));
            }
        }
        notes.extend(self.left_out());
        if self.common.len() == 1 {
            notes.push(one_pair(&a.manifest.mode).to_owned());
        }
        notes
    }

    /// Arms and pairs that are not compared.
    fn left_out(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let arms = self.arms();
        for (side, run) in self.usable().take(1).flat_map(|(a, b)| [("A", a), ("B", b)]) {
            let alone: Vec<_> = run.arms().into_iter().filter(|arm| !arms.contains(arm)).collect();
            if !alone.is_empty() {
                notes.push(format!("arms of {side} alone are left out: {}", alone.join(", ")));
            }
        }
        for (seed, a, b) in self.all() {
            for (side, run) in [("A", a), ("B", b)] {
                if let Some(why) = run.verdict.unusable() {
                    notes.push(format!("seed {seed} is left out; in {side}, {why}"));
                }
            }
        }
        notes
    }
}

const fn one_pair(mode: &str) -> &str {
    match mode.as_bytes() {
        b"virtual" => {
            "one seed: there is no interval. The differences are exact, and another seed may say otherwise: --seeds 10"
        }
        _ => {
            "one run each: there is no interval, and what the machine did is part of each difference"
        }
    }
}

fn one_mode(a: &Side, b: &Side) -> Result<(), CompareError> {
    let first = a.any();
    let mut all = a.runs.values().chain(b.runs.values());
    all.find(|run| run.manifest.mode != first.manifest.mode).map_or(Ok(()), |other| {
        Err(CompareError::Modes {
            a: first.path.clone(),
            a_mode: first.manifest.mode.clone(),
            b: other.path.clone(),
            b_mode: other.manifest.mode.clone(),
        })
    })
}

/// How the experiments differ, field by field; nothing if they are the same.
fn fields(a: &Flat, b: &Flat) -> Vec<String> {
    let paths: BTreeSet<_> = a.keys().chain(b.keys()).collect();
    let differ: Vec<_> = paths.into_iter().filter(|path| a.get(*path) != b.get(*path)).collect();
    if differ.is_empty() {
        return Vec::new();
    }
    let [of_a, of_b] = [a, b].map(|fields| short(&hash_of(format!("{fields:?}").as_bytes())));
    let mut notes = vec![format!("the experiments differ: A is {of_a}, B is {of_b}")];
    let value = |fields: &Flat, path: &str| {
        fields.get(path).map_or_else(|| "nothing".to_owned(), Clone::clone)
    };
    let named = differ.iter().take(FIELDS_NAMED);
    notes.extend(named.map(|path| format!("  {path}: {} -> {}", value(a, path), value(b, path))));
    let more = differ.len().saturating_sub(FIELDS_NAMED);
    if more > 0 {
        notes.push(format!("  and {more} fields more"));
    }
    notes
}

/// How the programs differ; nothing if they are the same.
fn programs(a: &Run, b: &Run) -> Option<String> {
    let name = |run: &Run| {
        let hash =
            run.manifest.program_sha256.as_deref().map_or_else(|| "unknown".to_owned(), short);
        format!("{} ({hash})", run.manifest.version)
    };
    let [of_a, of_b] = [a, b].map(name);
    (of_a != of_b).then(|| format!("the programs differ: A is of {of_a}, B of {of_b}"))
}

/// As much of a hash as tells two apart.
fn short(hash: &str) -> String {
    hash.chars().take(12).collect()
}

fn numbers(seeds: impl IntoIterator<Item = u64>) -> String {
    seeds.into_iter().map(|seed| seed.to_string()).collect::<Vec<_>>().join(", ")
}
