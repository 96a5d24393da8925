//! What a sweep came to, as the data of its report.

use super::scorecard::Scorecard;
use super::table::{CellOutcome, Outcomes};
use serde::Serialize;

/// Cells of a map that is drawn; sweep.txt has a larger one.
const CELLS_MAX: usize = 10_000;
/// Rows of the table; sweep.csv has all.
const ROWS_MAX: usize = 2_000;
/// Breaches that are told.
const BREACHES_MAX: usize = 100;

/// All that the report of a sweep shows. `testbed/web/sweep.js` draws it.
#[derive(Debug, Serialize)]
pub(super) struct SweepPage<'o> {
    pub(super) experiment: &'o str,
    pub(super) about: &'o str,
    /// The file as it was given.
    pub(super) text: &'o str,
    /// The formula of the prediction.
    pub(super) when: Option<&'o str>,
    /// The scorecard, if the file asks for one.
    pub(super) scorecard: Option<&'o Scorecard>,
    #[serde(flatten)]
    pub(super) outcomes: Shown<'o>,
}

/// What is shown of the outcomes.
#[derive(Debug, Serialize)]
pub(super) struct Shown<'o> {
    verdict: &'static str,
    axes: Vec<Axis<'o>>,
    /// The expectation that is predicted.
    expect: Option<&'o str>,
    /// The map, the last axis varying fastest; empty if nothing is predicted along two axes.
    cells: Vec<MapCell<'o>>,
    /// Combinations that are as predicted, of how many.
    agree: usize,
    points: usize,
    seeds: usize,
    rows: Vec<TableRow<'o>>,
    rows_left_out: usize,
    breaches: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Axis<'o> {
    name: &'o str,
    labels: Vec<&'o str>,
}

/// One combination of values, with what was predicted of it and with how many seeds it held.
#[derive(Debug, Serialize)]
struct MapCell<'o> {
    labels: Vec<&'o str>,
    predicted: bool,
    held: usize,
    of: usize,
    agrees: bool,
}

/// One expectation of one arm at one combination of values.
#[derive(Debug, Serialize)]
struct TableRow<'o> {
    labels: Vec<&'o str>,
    arm: &'o str,
    id: &'o str,
    held: usize,
    of: usize,
    observed: String,
    limit: &'o str,
}

impl<'o> Shown<'o> {
    pub(super) fn new(outcomes: &'o Outcomes<'_>) -> Self {
        let (names, labels) = (outcomes.grid.names(), outcomes.grid.labels());
        let axes: Vec<_> = names.zip(labels).map(|(name, labels)| Axis { name, labels }).collect();
        let (cells, expect) = (&outcomes.cells, outcomes.id());
        let map = expect.filter(|_| axes.len() == 2 && cells.len() <= CELLS_MAX);
        let rows = || cells.iter().flat_map(table_rows);
        let breach = |cell: &'o CellOutcome<'_>| {
            let all = cell.points.iter().flat_map(|point| &point.breaches);
            all.map(|breach| format!("{}: {breach}", outcomes.place(cell)))
        };
        Self {
            verdict: outcomes.class(),
            cells: map.map_or_else(Vec::new, |id| cells.iter().map(|c| map_cell(c, id)).collect()),
            agree: expect.map_or(0, |id| cells.iter().filter(|cell| cell.agrees(id)).count()),
            points: cells.len(),
            seeds: cells.first().map_or(0, |cell| cell.points.len()),
            rows: rows().take(ROWS_MAX).collect(),
            rows_left_out: rows().count().saturating_sub(ROWS_MAX),
            breaches: cells.iter().flat_map(breach).take(BREACHES_MAX).collect(),
            axes,
            expect,
        }
    }
}

fn map_cell<'o>(cell: &'o CellOutcome<'_>, id: &str) -> MapCell<'o> {
    let held = cell.held(|row| row.id == id);
    let (labels, predicted) = (cell.cell.labels(), cell.predicted == Some(true));
    MapCell { labels, predicted, held: held.times, of: held.of, agrees: cell.agrees(id) }
}

fn table_rows<'o>(cell: &'o CellOutcome<'_>) -> impl Iterator<Item = TableRow<'o>> {
    cell.rows().map(|(row, held)| TableRow {
        labels: cell.cell.labels(),
        arm: &row.arm,
        id: &row.id,
        held: held.times,
        of: held.of,
        observed: cell.range(&row.id, &row.arm),
        limit: &row.limit,
    })
}
