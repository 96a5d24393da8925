//! What a sweep came to, as a map, a table, CSV and JSON.

use super::cache::{Point, Row};
use super::points::{Cell, Grid};
use crate::experiment::predict::Formula;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io;

/// Rows of the table for people; sweep.csv has all.
const SHOWN: usize = 200;

/// The points of a sweep, cell by cell.
#[derive(Debug)]
pub(super) struct Outcomes<'g> {
    pub(super) grid: &'g Grid,
    pub(super) cells: Vec<CellOutcome<'g>>,
    /// The expectation that is predicted.
    predicted: Option<String>,
}

/// What one combination of values came to.
#[derive(Debug)]
pub(super) struct CellOutcome<'g> {
    pub(super) cell: Cell<'g>,
    /// One a seed.
    pub(super) points: Vec<Point>,
    /// Whether the predicted expectation is to hold here.
    pub(super) predicted: Option<bool>,
}

/// How often an expectation held, of how many times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Held {
    pub(super) times: usize,
    pub(super) of: usize,
}

impl<'g> Outcomes<'g> {
    /// `points` are all of the grid's, cell by cell and seed by seed; `predict` is the expectation
    /// that is predicted, and where.
    pub(super) fn new(
        grid: &'g Grid,
        points: Vec<Point>,
        predict: Option<(String, Formula)>,
    ) -> Self {
        let seeds = points.len() / grid.cells();
        let mut points = points.into_iter();
        let outcome = |index| {
            let cell = grid.cell(index);
            let predicted = predict.as_ref().map(|(_, formula)| cell.predicted(formula));
            CellOutcome { points: points.by_ref().take(seeds).collect(), predicted, cell }
        };
        let cells = (0..grid.cells()).map(outcome).collect();
        Self { grid, cells, predicted: predict.map(|(id, _)| id) }
    }

    /// The worst of all cells: `fail`, `inconclusive` or `pass`.
    pub(super) fn class(&self) -> &'static str {
        let is = |class: &str| self.cells.iter().any(|cell| cell.class(self.id()) == class);
        ["fail", "inconclusive"].into_iter().find(|class| is(class)).unwrap_or("pass")
    }

    /// The exit code that goes with it.
    pub(super) fn exit_code(&self) -> u8 {
        match self.class() {
            "fail" => 99,
            "inconclusive" => 4,
            _ => 0,
        }
    }

    /// Whether anything was measured.
    pub(super) fn measured(&self) -> bool {
        self.cells.iter().flat_map(|cell| &cell.points).any(|point| !point.measures.is_empty())
    }

    pub(super) fn id(&self) -> Option<&str> {
        self.predicted.as_deref()
    }

    /// For people: a map if something is predicted along two axes, else a table.
    pub(super) fn text(&self) -> String {
        let mut text = match (self.id(), self.grid.labels().len()) {
            (Some(id), 2) => self.map(id),
            _ => self.table(),
        };
        if let Some(id) = self.id() {
            let agree = self.cells.iter().filter(|cell| cell.agrees(id)).count();
            let _ = writeln!(text, "\n{agree} of {} points are as predicted", self.cells.len());
        }
        for cell in &self.cells {
            for breach in cell.points.iter().flat_map(|point| &point.breaches) {
                let _ = writeln!(text, "guard  {}  {breach}", self.place(cell));
            }
        }
        text
    }

    pub(super) fn place(&self, cell: &CellOutcome<'_>) -> String {
        let axes = self.grid.names().zip(cell.cell.labels());
        axes.map(|(name, label)| format!("{name}={label}")).collect::<Vec<_>>().join(" ")
    }

    /// The first axis downwards, the second across.
    fn map(&self, id: &str) -> String {
        let (names, labels): (Vec<_>, Vec<_>) = (self.grid.names().collect(), self.grid.labels());
        let width = labels[1].iter().map(|label| label.len()).max().unwrap_or(0) + 1;
        let margin =
            labels[0].iter().map(|label| label.len()).max().unwrap_or(0).max(names[0].len());
        let mut text =
            format!("`{id}` over {} (down) and {} (across)\n\n{:margin$} ", names[0], names[1], "");
        labels[1].iter().for_each(|label| text += &format!("{label:>width$}"));
        for (label, row) in labels[0].iter().zip(self.cells.chunks(labels[1].len())) {
            let _ = write!(text, "\n{label:>margin$} ");
            row.iter().for_each(|cell| text += &format!("{:>width$}", cell.symbol(id)));
        }
        text + "\n\n# it holds   . it does not   ~ it depends on the seed   ! not as predicted\n"
    }

    fn table(&self) -> String {
        let mut text = String::new();
        let rows = self.cells.iter().flat_map(|cell| cell.rows().map(move |row| (cell, row)));
        for (cell, (row, held)) in rows.clone().take(SHOWN) {
            let (id, arm, limit) = (&row.id, &row.arm, &row.limit);
            let _ = writeln!(
                text,
                "{}  {arm}  {id}: {} of {} hold, observed {}, expected {limit}",
                self.place(cell),
                held.times,
                held.of,
                cell.range(id, arm),
            );
        }
        let more = rows.count().saturating_sub(SHOWN);
        if more > 0 {
            let _ = writeln!(text, "... and {more} more in sweep.csv");
        }
        text
    }

    /// A row for each point, arm and expectation.
    ///
    /// # Errors
    /// Never: it is written to memory.
    pub(super) fn csv(&self) -> io::Result<Vec<u8>> {
        let mut csv = csv::Writer::from_writer(Vec::new());
        let fixed = ["seed", "arm", "expectation", "verdict", "observed", "limit", "predicted"];
        csv.write_record(self.grid.names().chain(fixed))?;
        for cell in &self.cells {
            for (point, row) in
                cell.points.iter().flat_map(|p| p.expectations.iter().map(move |r| (p, r)))
            {
                let predicted = cell.predicted.filter(|_| self.id() == Some(&row.id));
                let (seed, observed) =
                    (point.seed.to_string(), row.observed.map(|o| o.to_string()));
                let predicted = predicted.map(|holds| holds.to_string()).unwrap_or_default();
                let values = [
                    &seed,
                    &row.arm,
                    &row.id,
                    &row.verdict,
                    &observed.unwrap_or_default(),
                    &row.limit,
                    &predicted,
                ];
                csv.write_record(cell.cell.labels().into_iter().chain(values.map(String::as_str)))?;
            }
        }
        csv.into_inner().map_err(|error| error.into_error())
    }

    /// All of it: `[{axes, seed, verdict, expectations, breaches, predicted}]`.
    pub(super) fn json(&self) -> Value {
        let axes = |cell: &CellOutcome<'_>| -> Value {
            self.grid
                .names()
                .zip(cell.cell.labels())
                .map(|(n, l)| (n.to_owned(), json!(l)))
                .collect::<serde_json::Map<_, _>>()
                .into()
        };
        let of_cell = |cell: &CellOutcome<'g>| {
            let point = |point: &Point| {
                let mut value = json!(point);
                value["axes"] = axes(cell);
                value["predicted"] = json!(cell.predicted);
                value
            };
            cell.points.iter().map(point).collect::<Vec<_>>()
        };
        self.cells.iter().flat_map(of_cell).collect()
    }
}

impl CellOutcome<'_> {
    /// The expectations of the file, each with how often it held.
    pub(super) fn rows(&self) -> impl Iterator<Item = (&Row, Held)> + Clone {
        let first = self.points.first().map_or(&[][..], |point| &point.expectations);
        first
            .iter()
            .map(|row| (row, self.held(|other| (&other.id, &other.arm) == (&row.id, &row.arm))))
    }

    pub(super) fn held(&self, which: impl Fn(&Row) -> bool) -> Held {
        let rows =
            || self.points.iter().flat_map(|point| &point.expectations).filter(|row| which(row));
        Held { times: rows().filter(|row| row.verdict == "pass").count(), of: rows().count() }
    }

    pub(super) fn agrees(&self, id: &str) -> bool {
        let Held { times, of } = self.held(|row| row.id == id);
        self.predicted == Some(true) && times == of || self.predicted == Some(false) && times == 0
    }

    fn symbol(&self, id: &str) -> char {
        match self.held(|row| row.id == id) {
            _ if !self.agrees(id) => '!',
            Held { times: 0, .. } => '.',
            Held { times, of } if times == of => '#',
            Held { .. } => '~',
        }
    }

    /// The worst of what is not predicted, and of the prediction.
    fn class(&self, predicted: Option<&str>) -> &str {
        let disagrees = predicted.is_some_and(|id| !self.agrees(id));
        let rows = || self.points.iter().flat_map(|point| &point.expectations);
        let is =
            |class: &str| rows().any(|row| row.verdict == class && Some(&*row.id) != predicted);
        let nothing = |point: &Point| point.expectations.is_empty() && point.verdict != "pass";
        if self.points.iter().any(|point| !point.breaches.is_empty() || nothing(point)) {
            return "inconclusive";
        }
        if disagrees || is("fail") {
            return "fail";
        }
        if is("inconclusive") { "inconclusive" } else { "pass" }
    }

    /// The numbers that were observed, over the seeds.
    pub(super) fn range(&self, id: &str, arm: &str) -> String {
        let rows = self.points.iter().flat_map(|point| &point.expectations);
        let seen = || {
            rows.clone().filter(|row| row.id == id && row.arm == arm).filter_map(|row| row.observed)
        };
        let (least, most) = (seen().reduce(f64::min), seen().reduce(f64::max));
        match (least, most) {
            (Some(least), Some(most)) if least < most => format!("{least:.4} to {most:.4}"),
            (Some(least), _) => format!("{least:.4}"),
            _ => "nothing".to_owned(),
        }
    }
}
