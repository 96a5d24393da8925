//! What was measured at a point.

use super::table::Outcomes;
use crate::experiment::plan::{Measured, Plan};
use crate::verdict::evaluate::{Evidence, Range, Scope, value};
use crate::watch::store::Store;
use serde::{Deserialize, Serialize};
use std::io;

/// A measure of one point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Number {
    /// Its name.
    pub name: String,
    /// What it came to, in base units; none if nothing was recorded that it could be taken from.
    pub value: Option<f64>,
    /// Whether it may be more: what it waits for did not happen within that time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub at_least: bool,
}

/// Every measure of a run of `plan`, in the order of the file.
pub(super) fn numbers(plan: &Plan, store: &Store) -> Vec<Number> {
    let evidence = Evidence::new(plan, store);
    plan.measures.iter().map(|measure| number(&evidence, measure)).collect()
}

fn number(evidence: &Evidence<'_>, measure: &Measured) -> Number {
    let scope = Scope { arm: measure.arm, phase: measure.phase };
    let range = value(evidence, scope, &measure.expression).ok();
    let known = range.filter(|Range { low, .. }| low.is_finite());
    let at_least = known.is_some_and(|range| range.value().is_none());
    Number { name: measure.name.clone(), value: known.map(|range| range.low), at_least }
}

/// What tells the measures of two files apart: a point's outcome depends on it.
pub(super) fn fingerprint(measures: &[Measured]) -> String {
    let of = |m: &Measured| format!("{}={}:{:?}:{:?}\n", m.name, m.expression, m.arm, m.phase);
    measures.iter().map(of).collect()
}

/// A row for each point and measure: `<axes>,seed,measure,value,at_least`.
///
/// # Errors
/// Never: it is written to memory.
pub(super) fn csv(outcomes: &Outcomes<'_>) -> io::Result<Vec<u8>> {
    let mut csv = csv::Writer::from_writer(Vec::new());
    csv.write_record(outcomes.grid.names().chain(["seed", "measure", "value", "at_least"]))?;
    for cell in &outcomes.cells {
        for (point, number) in
            cell.points.iter().flat_map(|point| point.measures.iter().map(move |n| (point, n)))
        {
            let value = number.value.map(|value| value.to_string()).unwrap_or_default();
            let (seed, at_least) = (point.seed.to_string(), number.at_least.to_string());
            let row = [&*seed, &*number.name, &*value, &*at_least];
            csv.write_record(cell.cell.labels().into_iter().chain(row))?;
        }
    }
    csv.into_inner().map_err(|error| error.into_error())
}
