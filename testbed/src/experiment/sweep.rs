//! What varies from run to run of a sweep, and what is predicted of each of its points.

mod measures;

pub use measures::{Direction, MeasureFile, ScorecardFile};

use super::plan::Plan;
use super::problem::{Problem, Report, did_you_mean};
use super::{Overrides, predict::Formula};
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Values that all axes of a sweep may have together.
const MAX_VALUES: usize = 1000;
/// Points that a sweep may have, seeds counted.
pub const MAX_POINTS: usize = 100_000;

/// What varies from run to run: `windtunnel sweep` runs each combination of values with each seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SweepFile {
    /// What varies, by name: letters, digits and underscores, the first a letter.
    pub axes: IndexMap<String, AxisFile>,
    /// How many seeds each combination is run with, from `run.seed` on.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 1000))]
    pub seeds: u32,
    /// What is measured at every point, by name.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub measures: IndexMap<String, MeasureFile>,
    /// A scorecard of what is measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scorecard: Option<ScorecardFile>,
    /// Where an expectation is predicted to hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predict: Option<PredictFile>,
}

/// One axis: exactly one of `values`, `named` and `sets`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AxisFile {
    /// The fields that take the value, written as for `--set`: `arms.integer.controller.velox.min`. `sets` has its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub paths: Vec<String>,
    /// The values, as the file would have them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<Value>,
    /// The values by name, for those that are long.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub named: IndexMap<String, Value>,
    /// Values by name that are several fields, each with a value of its own; a field that is not named stays.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub sets: IndexMap<String, IndexMap<String, Value>>,
}

/// A prediction: the expectation holds at those points, and only there, where the formula is true.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PredictFile {
    /// The expectation's `id`. It is judged by the prediction alone.
    pub expect: String,
    /// A comparison over the axes' names: `sqrt(w) < w * (1 - g) + 1`.
    pub when: String,
}

const fn one() -> u32 {
    1
}

/// One value of an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// As tables and files show it.
    pub label: String,
    /// The value itself; null where it is several.
    pub value: Value,
}

impl AxisFile {
    /// Its values, in the order of the file.
    pub fn choices(&self) -> Vec<Choice> {
        let plain = |value: &Value| Choice { label: label(value), value: value.clone() };
        let named =
            |(name, value): (&String, &Value)| Choice { label: name.clone(), value: value.clone() };
        let set = |name: &String| Choice { label: name.clone(), value: Value::Null };
        let plain = self.values.iter().map(plain);
        plain.chain(self.named.iter().map(named)).chain(self.sets.keys().map(set)).collect()
    }

    /// What puts `choice` where it belongs, as `--set` does.
    pub fn settings(&self, choice: &Choice) -> Vec<(String, String)> {
        // JSON is YAML.
        let setting = |path: &String, value: &Value| (path.clone(), value.to_string());
        match self.sets.get(&choice.label) {
            Some(set) => set.iter().map(|(path, value)| setting(path, value)).collect(),
            None => self.paths.iter().map(|path| setting(path, &choice.value)).collect(),
        }
    }
}

fn label(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Every mistake in the sweep of `plan`. `load` reads the file once more with other overrides.
pub(super) fn check(
    plan: &Plan,
    overrides: &Overrides,
    load: impl Fn(&Overrides) -> Result<Plan, Report>,
) -> Vec<Problem> {
    let Some(sweep) = &plan.resolved.sweep else { return Vec::new() };
    let mut problems = size(sweep);
    if !problems.is_empty() {
        return problems;
    }
    for (name, axis) in &sweep.axes {
        problems.extend(misnamed(name));
        problems.extend(one_kind(name, axis));
        let found = |(index, choice): (usize, &Choice)| {
            wrong(axis, choice, overrides, &load)
                .map(|problem| Problem { path: pointer(name, axis, index), ..problem })
        };
        problems.extend(axis.choices().iter().enumerate().filter_map(found));
    }
    problems.extend(measures::check(sweep));
    problems.extend(sweep.predict.as_ref().and_then(|predict| mispredicted(plan, sweep, predict)));
    problems
}

fn size(sweep: &SweepFile) -> Vec<Problem> {
    let counts = || sweep.axes.values().map(|axis| axis.choices().len());
    let points = counts().fold(sweep.seeds as usize, usize::saturating_mul);
    let too_many = |what: &str, count, limit| {
        Problem::at_key("/sweep", format!("the sweep has {count} {what}; {limit} are the limit"))
            .with_help("leave out some, or split it into several files")
    };
    if counts().sum::<usize>() > MAX_VALUES {
        return vec![too_many("values", counts().sum(), MAX_VALUES)];
    }
    if points > MAX_POINTS {
        return vec![too_many("points", points, MAX_POINTS)];
    }
    Vec::new()
}

fn misnamed(name: &str) -> Option<Problem> {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let fine = name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.chars().all(word);
    (!fine).then(|| {
        Problem::at_key(format!("/sweep/axes/{}", super::document::escape(name)), {
            format!("`{name}` is no name for an axis")
        })
        .with_help(
            "letters, digits and underscores, the first a letter: it is a variable of `predict`",
        )
    })
}

fn one_kind(name: &str, axis: &AxisFile) -> Option<Problem> {
    let empty = [axis.values.is_empty(), axis.named.is_empty(), axis.sets.is_empty()];
    let (message, help) = if empty.iter().filter(|empty| !**empty).count() != 1 {
        (
            "an axis has either `values` or `named` or `sets`",
            "`values: [2, 4, 8]`, or `named: { gentle: {...}, harsh: {...} }`",
        )
    } else if axis.sets.is_empty() == axis.paths.is_empty() {
        (
            "an axis has `paths`, unless it has `sets`",
            "`values` and `named` go to `paths`; `sets: { calm: { load.open.poisson.rate: 9/s } }` has its own",
        )
    } else {
        return None;
    };
    Some(Problem::at_key(format!("/sweep/axes/{name}"), message).with_help(help))
}

/// What is wrong with the file once this value is in it.
fn wrong(
    axis: &AxisFile,
    choice: &Choice,
    overrides: &Overrides,
    load: impl Fn(&Overrides) -> Result<Plan, Report>,
) -> Option<Problem> {
    let report = load(&overrides.with(axis.settings(choice))).err()?;
    report.first().cloned()
}

fn pointer(name: &str, axis: &AxisFile, index: usize) -> String {
    match axis.named.get_index(index) {
        Some((key, _)) => format!("/sweep/axes/{name}/named/{}", super::document::escape(key)),
        None if !axis.sets.is_empty() => {
            let key = axis.sets.keys().nth(index).map(String::as_str).unwrap_or_default();
            format!("/sweep/axes/{name}/sets/{}", super::document::escape(key))
        }
        None => format!("/sweep/axes/{name}/values/{index}"),
    }
}

fn mispredicted(plan: &Plan, sweep: &SweepFile, predict: &PredictFile) -> Option<Problem> {
    let ids = || plan.resolved.expect.iter().map(|expect| expect.id.as_str());
    if !ids().any(|id| id == predict.expect) {
        let hint = did_you_mean(&predict.expect, ids());
        let message = format!("there is no expectation `{}`{hint}", predict.expect);
        return Some(Problem::at_value("/sweep/predict/expect", message));
    }
    let formula = match Formula::parse(&predict.when) {
        Ok(formula) => formula,
        Err(message) => return Some(unformed(message)),
    };
    let mut unusable = formula.variables().iter().filter_map(|name| match sweep.axes.get(name) {
        None => Some(format!("there is no axis `{name}`{}", did_you_mean(name, names(sweep)))),
        Some(axis) if !axis.choices().iter().all(|choice| choice.value.is_number()) => {
            Some(format!("`{name}` has values that are no numbers"))
        }
        Some(_) => None,
    });
    unusable.next().map(unformed)
}

fn names(sweep: &SweepFile) -> impl Iterator<Item = &str> {
    sweep.axes.keys().map(String::as_str)
}

fn unformed(message: String) -> Problem {
    Problem::at_value("/sweep/predict/when", message)
        .with_help("a comparison over axes with plain numbers, such as `sqrt(w) < w * (1 - g) + 1`")
}
