//! What is measured at every point of a sweep, and the scorecard that is made of it.

use super::SweepFile;
use crate::experiment::problem::{Problem, did_you_mean};
use crate::headline::Better;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use testbed_core::quantity::Share;

/// Measures that a sweep may have.
const MAX_MEASURES: usize = 32;
/// Seeds that a scorecard needs at least: two in each half.
const MIN_SEEDS: u32 = 4;
/// By how much a law must be better to be ahead, where nothing is said.
const TOLERANCE: f64 = 0.01;

/// A number that is taken at every point.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MeasureFile {
    /// What is taken: an expression, as in expectations, without what it is compared with.
    pub of: String,
    /// The arm that it is taken from; the first of the file, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arm: Option<String>,
    /// The phase over which it is taken; the whole run, if left out.
    #[serde(rename = "in", default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// Which way it is better.
    pub better: Direction,
}

/// Which way a number is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// The more, the better.
    More,
    /// The less, the better.
    Less,
    /// No value is better by itself.
    Neither,
}

impl From<Direction> for Better {
    fn from(direction: Direction) -> Self {
        match direction {
            Direction::More => Self::More,
            Direction::Less => Self::Less,
            Direction::Neither => Self::Neither,
        }
    }
}

/// The scorecard of a sweep: for each shape a table of laws and measures, with a ranking.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScorecardFile {
    /// The axis with what is compared: the rows of each table.
    pub laws: String,
    /// The axis with what they go through: a table for each value, and one for all of them.
    pub shapes: String,
    /// The measure by which they are ranked; it is better one way.
    pub rank_by: String,
    /// By how much a law must be better to be ahead of another, as a share of the other's number.
    #[serde(default = "tolerance")]
    pub tolerance: Share,
}

fn tolerance() -> Share {
    Share::new(TOLERANCE).unwrap_or(Share::NONE)
}

/// Every mistake in the measures and the scorecard of a sweep, beside those in the expressions.
pub(super) fn check(sweep: &SweepFile) -> Vec<Problem> {
    let mut problems = Vec::new();
    if sweep.measures.len() > MAX_MEASURES {
        let message = format!("there are more than {MAX_MEASURES} measures");
        problems.push(Problem::at_key("/sweep/measures", message).with_help("leave out some"));
    }
    if let Some(scorecard) = &sweep.scorecard {
        problems.extend(axes(sweep, scorecard));
        problems.extend(ranked(sweep, scorecard));
        problems.extend(too_few_seeds(sweep));
    }
    problems
}

fn axes(sweep: &SweepFile, scorecard: &ScorecardFile) -> Option<Problem> {
    let fields = [("laws", &scorecard.laws), ("shapes", &scorecard.shapes)];
    let names = || sweep.axes.keys().map(String::as_str);
    let mut unknown = fields.into_iter().filter(|(_, name)| !sweep.axes.contains_key(*name));
    if let Some((field, name)) = unknown.next() {
        let message = format!("there is no axis `{name}`{}", did_you_mean(name, names()));
        let help = format!("axes here: {}", names().collect::<Vec<_>>().join(", "));
        let at = format!("/sweep/scorecard/{field}");
        return Some(Problem::at_value(at, message).with_help(help));
    }
    (sweep.axes.len() != 2 || scorecard.laws == scorecard.shapes).then(|| {
        let message = "a scorecard has two axes, one for the laws and one for the shapes";
        let help = "leave out the other axes, or put their values into the shapes";
        Problem::at_key("/sweep/scorecard", message).with_help(help)
    })
}

fn ranked(sweep: &SweepFile, scorecard: &ScorecardFile) -> Option<Problem> {
    let name = &scorecard.rank_by;
    let problem = |message| Problem::at_value("/sweep/scorecard/rank_by", message);
    match sweep.measures.get(name) {
        None => {
            let hint = did_you_mean(name, sweep.measures.keys().map(String::as_str));
            let message = format!("there is no measure `{name}`{hint}");
            Some(problem(message).with_help("write it under `sweep.measures`"))
        }
        Some(measure) if measure.better == Direction::Neither => {
            let message = format!("`{name}` is better neither way, so nothing is ranked by it");
            Some(problem(message).with_help("take one with `better: more` or `better: less`"))
        }
        Some(_) => None,
    }
}

fn too_few_seeds(sweep: &SweepFile) -> Option<Problem> {
    (sweep.seeds < MIN_SEEDS).then(|| {
        let message = format!(
            "a scorecard holds one half of its seeds against the other, so it has {MIN_SEEDS} or more"
        );
        Problem::at_key("/sweep/scorecard", message).with_help("write `seeds: 20`")
    })
}
