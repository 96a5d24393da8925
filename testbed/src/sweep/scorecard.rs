//! The scorecard of a sweep: for each shape a table of laws and measures, ranked by one of them, and a table of all
//! shapes together.

mod rank;
mod show;
#[cfg(test)]
mod tests;

use super::table::Outcomes;
use crate::experiment::plan::{Measured, Plan};
use crate::experiment::sweep::ScorecardFile;
use crate::headline::Better;
use crate::seeds::Spread;
use rank::{Ranking, ranking};
use serde::Serialize;
use testbed_core::vitals::Unit;

pub(super) use show::{csv, text};

/// What the table of all shapes is called.
const ALL: &str = "all shapes";

/// A scorecard.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(super) struct Scorecard {
    measures: Vec<Column>,
    /// The place of the measure by which laws are ranked.
    rank_by: usize,
    /// By how much a law must be better to be ahead, as a share of the other's number.
    tolerance: f64,
    /// The seeds of the first half, and of the second.
    halves: [Vec<u64>; 2],
    /// Shape by shape, and at last all of them together.
    tables: Vec<Table>,
}

/// A measure, as all tables have it.
#[derive(Clone, PartialEq, Debug, Serialize)]
struct Column {
    name: String,
    of: String,
    /// The arm, where it is another than the first of the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    arm: Option<String>,
    #[serde(rename = "in", skip_serializing_if = "Option::is_none")]
    phase: Option<String>,
    better: Better,
    #[serde(serialize_with = "by_name")]
    unit: Unit,
}

fn by_name<S: serde::Serializer>(unit: &Unit, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(unit.name())
}

/// What all laws came to in one shape, the best first.
#[derive(Clone, PartialEq, Debug, Serialize)]
struct Table {
    shape: String,
    rows: Vec<Row>,
    /// Pairs of laws of which neither is ahead, as the whole orders them.
    not_separated: Vec<[String; 2]>,
    /// Those of them that the two halves of the seeds order differently.
    swapped: Vec<[String; 2]>,
}

/// What one law came to in one shape.
#[derive(Clone, PartialEq, Debug, Serialize)]
struct Row {
    law: String,
    /// One more than there are laws ahead of it; none if it has no number to be ranked by.
    rank: Option<usize>,
    /// Whether the law in the row above is ahead of it.
    apart: bool,
    /// A measure each.
    cells: Vec<Option<Cell>>,
}

/// A measure of a law over the seeds.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
struct Cell {
    mean: f64,
    /// Where the true mean lies with 95 % confidence, by Student's t; none with one seed.
    low: Option<f64>,
    high: Option<f64>,
    /// With how many seeds it has a number.
    seeds: usize,
    /// With how many of them it may be more.
    at_least: usize,
}

/// A number of one seed, and whether it may be more; none if there is none.
type Seed = Option<(f64, bool)>;

/// One law in one shape: measure by measure, what each seed came to.
type Numbers = Vec<Vec<Seed>>;

impl Scorecard {
    /// Of the sweep of `plan` over two axes, which passed its check.
    pub(super) fn new(file: &ScorecardFile, plan: &Plan, outcomes: &Outcomes<'_>) -> Self {
        let column = |measure: &Measured| Column {
            name: measure.name.clone(),
            of: measure.expression.to_string(),
            arm: (measure.arm > 0).then(|| plan.arms[measure.arm].name.clone()),
            phase: measure.phase.map(|phase| plan.phases[phase].name.clone()),
            better: measure.better,
            unit: measure.unit,
        };
        let columns: Vec<_> = plan.measures.iter().map(column).collect();
        let rank_by = columns.iter().position(|column| column.name == file.rank_by);
        let seeds: Vec<_> = outcomes.cells[0].points.iter().map(|point| point.seed).collect();
        let (first, second) = seeds.split_at(seeds.len() / 2);
        let mut card = Self {
            measures: columns,
            rank_by: rank_by.expect("the check has found it"),
            tolerance: file.tolerance.get(),
            halves: [first.to_vec(), second.to_vec()],
            tables: Vec::new(),
        };
        card.tables = card.all_tables(file, outcomes);
        card
    }

    fn all_tables(&self, file: &ScorecardFile, outcomes: &Outcomes<'_>) -> Vec<Table> {
        let labels = outcomes.grid.labels();
        let axis = |name: &str| outcomes.grid.names().position(|axis| axis == name);
        let [laws, shapes] =
            [&file.laws, &file.shapes].map(|name| axis(name).expect("the check has found it"));
        let across = labels[1].len();
        let cell = |law: usize, shape: usize| {
            let [down, right] = if laws == 0 { [law, shape] } else { [shape, law] };
            numbers(&outcomes.cells[down * across + right].points, self.measures.len())
        };
        let by_law = |shape| (0..labels[laws].len()).map(move |law| cell(law, shape));
        let by_shape: Vec<Vec<Numbers>> =
            (0..labels[shapes].len()).map(|shape| by_law(shape).collect()).collect();
        let mut tables: Vec<_> = by_shape
            .iter()
            .zip(&labels[shapes])
            .map(|(numbers, shape)| self.table(shape, &labels[laws], numbers))
            .collect();
        tables.push(self.table(ALL, &labels[laws], &together(&by_shape)));
        tables
    }

    fn table(&self, shape: &str, laws: &[&str], numbers: &[Numbers]) -> Table {
        let ranked = |law: &Numbers| {
            law[self.rank_by].iter().map(|seed| seed.map(|(value, _)| value)).collect()
        };
        let ranked: Vec<Vec<_>> = numbers.iter().map(ranked).collect();
        let better = self.measures[self.rank_by].better;
        let Ranking { order, ranks, ahead, swapped } = ranking(&ranked, better, self.tolerance);
        let named = |pairs: Vec<[usize; 2]>| {
            pairs.into_iter().map(|pair| pair.map(|law| laws[law].to_owned())).collect()
        };
        let row = |(place, &law): (usize, &usize)| Row {
            law: laws[law].to_owned(),
            rank: ranks[law],
            apart: place == 0 || ahead[order[place - 1]][law],
            cells: numbers[law].iter().map(|seeds| Cell::of(seeds)).collect(),
        };
        Table {
            shape: shape.to_owned(),
            rows: order.iter().enumerate().map(row).collect(),
            not_separated: named(rank::not_separated(&order, &ranks, &ahead)),
            swapped: named(swapped),
        }
    }
}

impl Cell {
    fn of(seeds: &[Seed]) -> Option<Self> {
        let known: Vec<_> = seeds.iter().flatten().collect();
        let values: Vec<_> = known.iter().map(|(value, _)| *value).collect();
        let spread = Spread::of(&values);
        (!known.is_empty()).then(|| Self {
            mean: values.iter().sum::<f64>() / values.len() as f64,
            low: spread.map(|spread| spread.low),
            high: spread.map(|spread| spread.high),
            seeds: known.len(),
            at_least: known.iter().filter(|(_, at_least)| *at_least).count(),
        })
    }
}

fn numbers(points: &[super::cache::Point], measures: usize) -> Numbers {
    let seed = |point: &super::cache::Point, measure: usize| {
        let number = point.measures.get(measure)?;
        Some((number.value?, number.at_least))
    };
    (0..measures).map(|measure| points.iter().map(|p| seed(p, measure)).collect()).collect()
}

/// All shapes together: of each law, measure and seed the mean over the shapes, if each has a number.
fn together(by_shape: &[Vec<Numbers>]) -> Vec<Numbers> {
    let mean = |law: usize, measure: usize, seed: usize| -> Seed {
        let shapes: Option<Vec<_>> = by_shape.iter().map(|laws| laws[law][measure][seed]).collect();
        let shapes = shapes?;
        let sum: f64 = shapes.iter().map(|(value, _)| value).sum();
        Some((sum / shapes.len() as f64, shapes.iter().any(|(_, at_least)| *at_least)))
    };
    let of_law = |(law, numbers): (usize, &Numbers)| {
        let of_measure = |(measure, seeds): (usize, &Vec<Seed>)| {
            (0..seeds.len()).map(|seed| mean(law, measure, seed)).collect()
        };
        numbers.iter().enumerate().map(of_measure).collect()
    };
    by_shape.first().map_or(Vec::new(), |laws| laws.iter().enumerate().map(of_law).collect())
}
