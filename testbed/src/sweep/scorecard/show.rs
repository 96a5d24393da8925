//! A scorecard as text and as CSV.

use super::{Cell, Column, Row, Scorecard, Table};
use crate::columns::aligned;
use crate::verdict::grammar::in_unit;
use std::io;
use testbed_core::vitals::Unit;

/// Pairs that are named in a line; scorecard.json has all.
const PAIRS_NAMED: usize = 12;

/// The tables, what is not separated in each, and what that means.
pub(in crate::sweep) fn text(card: &Scorecard) -> String {
    let tables: Vec<_> = card.tables.iter().map(|table| table_text(card, table)).collect();
    format!("{}\n{}\n{}", tables.join("\n"), legend(card), stability(card))
}

fn table_text(card: &Scorecard, table: &Table) -> String {
    let head = ["rank", ""].map(str::to_owned).into_iter();
    let head: Vec<_> = head.chain(card.measures.iter().map(|column| column.name.clone())).collect();
    let rows = table.rows.iter().map(|row| row_text(card, row));
    let rows: Vec<_> = std::iter::once(head).chain(rows).collect();
    let mut out = format!("{}\n\n{}", table.shape, aligned(&rows));
    if !table.not_separated.is_empty() {
        out += &format!("not separated: {}\n", named(&table.not_separated));
    }
    if !table.swapped.is_empty() {
        out += &format!("ordered differently by the halves: {}\n", named(&table.swapped));
    }
    out
}

fn row_text(card: &Scorecard, row: &Row) -> Vec<String> {
    let rank = row.rank.map_or_else(|| "-".to_owned(), |rank| rank.to_string());
    let mark = if row.apart { " " } else { "~" };
    let cell = |(place, column): (usize, &Column)| {
        row.cells[place]
            .map_or_else(|| "-".to_owned(), |cell| cell.text(column.unit, place == card.rank_by))
    };
    let cells = card.measures.iter().enumerate().map(cell);
    [format!("{rank:>3}{mark}"), row.law.clone()].into_iter().chain(cells).collect()
}

fn named(pairs: &[[String; 2]]) -> String {
    let named: Vec<_> = pairs.iter().take(PAIRS_NAMED).map(|pair| pair.join("/")).collect();
    let more = pairs.len().saturating_sub(PAIRS_NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", named.join(", "))
}

impl Cell {
    /// The mean, to three digits; half of the interval with it, if that is asked for.
    fn text(&self, unit: Unit, with_interval: bool) -> String {
        let beyond = if self.at_least > 0 { ">" } else { "" };
        let half = self.high.filter(|_| with_interval).map(|high| high - self.mean);
        let half = half.map_or(String::new(), |half| format!(" +- {}", short(half, unit, 2)));
        format!("{beyond}{}{half}", short(self.mean, unit, 3))
    }
}

/// A value to so many digits, as people read it.
fn short(value: f64, unit: Unit, digits: i32) -> String {
    if value == 0.0 {
        return in_unit(0.0, unit);
    }
    let factor = 10_f64.powi(digits - 1 - value.abs().log10().floor() as i32);
    let sign = if value < 0.0 { "-" } else { "" };
    format!("{sign}{}", in_unit((value.abs() * factor).round() / factor, unit))
}

fn legend(card: &Scorecard) -> String {
    let about = |column: &Column| {
        let said = |word, of: &Option<String>| {
            of.as_ref().map_or_else(String::new, |of| format!(" {word} {of}"))
        };
        let (arm, phase) = (said("of", &column.arm), said("in", &column.phase));
        let taken_from = format!("{}{arm}{phase}", column.of);
        vec![column.name.clone(), column.better.name().to_owned(), taken_from]
    };
    let head = ["measure", "better", "taken from"].map(str::to_owned).to_vec();
    let rows: Vec<_> = std::iter::once(head).chain(card.measures.iter().map(about)).collect();
    format!(
        "{}\nrank: one more than there are laws ahead by {}, by more than {} % with 95 % confidence, paired by seed, and by either\n\
         half of the seeds   ~ the law above is not ahead   > at least: with some seed it did not happen within that time\n\
         +- half of the 95 % interval over seeds (Student's t)\n",
        aligned(&rows),
        card.measures[card.rank_by].name,
        card.tolerance * 100.0,
    )
}

/// Whether the ranking is the same in both halves of the seeds, as far as laws are ranked apart.
fn stability(card: &Scorecard) -> String {
    let pairs = |of: fn(&Table) -> usize| card.tables.iter().map(of).sum::<usize>();
    let known = |table: &Table| table.rows.iter().filter(|row| row.rank.is_some()).count();
    let all: usize =
        card.tables.iter().map(|table| known(table) * known(table).saturating_sub(1) / 2).sum();
    let (open, swapped) =
        (pairs(|table| table.not_separated.len()), pairs(|table| table.swapped.len()));
    format!(
        "stable: {} of {all} pairs of laws are ranked apart, and seeds {} and {} order them alike; {swapped} of the other {open} they do not\n",
        all - open,
        span(&card.halves[0]),
        span(&card.halves[1]),
    )
}

fn span(seeds: &[u64]) -> String {
    match seeds {
        [first, .., last] => format!("{first} to {last}"),
        seeds => seeds.iter().map(u64::to_string).collect(),
    }
}

/// A row for each shape, law and measure.
///
/// # Errors
/// Never: it is written to memory.
pub(in crate::sweep) fn csv(card: &Scorecard) -> io::Result<Vec<u8>> {
    let mut csv = csv::Writer::from_writer(Vec::new());
    csv.write_record([
        "shape", "law", "rank", "measure", "unit", "mean", "low", "high", "seeds", "at_least",
    ])?;
    let optional = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
    for (table, row) in card.tables.iter().flat_map(|t| t.rows.iter().map(move |row| (t, row))) {
        for (column, cell) in card.measures.iter().zip(&row.cells) {
            let rank = row.rank.map(|rank| rank.to_string()).unwrap_or_default();
            let of = |of: fn(&Cell) -> Option<f64>| optional(cell.as_ref().and_then(of));
            let count = |of: fn(&Cell) -> usize| cell.as_ref().map_or(0, of).to_string();
            csv.write_record([
                &table.shape,
                &row.law,
                &rank,
                &column.name,
                column.unit.name(),
                &of(|cell| Some(cell.mean)),
                &of(|cell| cell.low),
                &of(|cell| cell.high),
                &count(|cell| cell.seeds),
                &count(|cell| cell.at_least),
            ])?;
        }
    }
    csv.into_inner().map_err(|error| error.into_error())
}
