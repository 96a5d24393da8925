//! A comparison as text and as Markdown.

use super::{Comparison, Numbers, Row, Standing};
use crate::columns::{aligned, cell, markdown as table};
use crate::digits::significant;
use crate::verdict::grammar::in_unit;
use testbed_core::vitals::Unit;

const HEAD: [&str; 8] = ["B is", "arm", "number", "better", "A", "B", "B - A", "95 % interval"];

pub(super) fn text(comparison: &Comparison) -> String {
    let [a, b] = comparison.sides.each_ref().map(|side| side.display());
    let mut out = format!("A  {a}\nB  {b}\n\n{}", aligned(&rows(comparison)));
    out.extend(newly_failed(comparison).chain(notes(comparison)).map(|line| line + "\n"));
    format!("{out}\n{}\n", last(comparison))
}

pub(super) fn markdown(comparison: &Comparison) -> String {
    let [a, b] = comparison.sides.each_ref().map(|side| cell(&side.display().to_string()));
    let mut out = format!("# {}\n\n- A: `{a}`\n- B: `{b}`\n", last(comparison));
    out.extend(
        newly_failed(comparison)
            .chain(notes(comparison))
            .map(|line| format!("- {}\n", cell(&line))),
    );
    format!("{out}\n{}", table(&rows(comparison)))
}

fn rows(comparison: &Comparison) -> Vec<Vec<String>> {
    let head = HEAD.map(str::to_owned).to_vec();
    std::iter::once(head).chain(comparison.rows.iter().map(row)).collect()
}

fn row(row: &Row) -> Vec<String> {
    let shown = |value: f64| shown(value, row.unit);
    let mut cells =
        [row.standing.name(), &row.arm, &row.name, row.better.name()].map(str::to_owned).to_vec();
    if let Some(Numbers { a, b, difference, interval, .. }) = row.numbers {
        cells.extend([shown(a), shown(b), shown(difference)]);
        let ends = interval.map(|ends| format!("{} to {}", shown(ends.low), shown(ends.high)));
        cells.push(ends.unwrap_or_else(|| "none".to_owned()));
    } else {
        cells.extend(vec!["none".to_owned(); HEAD.len() - cells.len()]);
    }
    cells
}

/// A value as people read it; without a unit, to four digits.
fn shown(value: f64, unit: Option<Unit>) -> String {
    let sign = if value < 0.0 { "-" } else { "" };
    match unit {
        Some(Unit::Ratio | Unit::Requests | Unit::Count) | None => significant(value, 4),
        Some(unit) => format!("{sign}{}", in_unit(value.abs(), unit)),
    }
}

fn newly_failed(comparison: &Comparison) -> impl Iterator<Item = String> {
    let failed = comparison.rows.iter().filter(|row| !row.newly_failed.is_empty());
    failed.map(|Row { arm, name, newly_failed, .. }| {
        format!("{name} of {arm} fails now with seeds {newly_failed:?}")
    })
}

fn notes(comparison: &Comparison) -> impl Iterator<Item = String> {
    comparison.notes.iter().map(|note| format!("note: {note}"))
}

fn last(comparison: &Comparison) -> String {
    let of = |standing| comparison.rows.iter().filter(|row| row.standing == standing).count();
    let standings = [
        (Standing::Worse, "worse"),
        (Standing::Better, "better"),
        (Standing::Same, "same"),
        (Standing::Other, "other"),
        (Standing::NotSeparated, "not separated"),
    ];
    let counted = standings.map(|(standing, word)| (of(standing), word)).into_iter();
    let counts: Vec<_> =
        counted.filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}")).collect();
    let counts =
        if counts.is_empty() { "nothing was compared".to_owned() } else { counts.join(", ") };
    let (conclusion, seeds) = (comparison.conclusion.name().to_uppercase(), comparison.seeds.len());
    let plural = if seeds == 1 { "" } else { "s" };
    let percent = significant(comparison.tolerance * 100.0, 4);
    format!("{conclusion}  {counts}  ({seeds} seed{plural}, tolerance {percent} %)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_a_sign_a_unit_and_four_digits() {
        for (value, unit, text) in [
            (-0.0143, Some(Unit::Seconds), "-14.3ms"),
            (-50.0, Some(Unit::PerSecond), "-50/s"),
            (123_456.0, None, "123456"),
            (-0.000_012_346, None, "-0.00001235"),
            (1200.0, Some(Unit::Count), "1200"),
            (0.25, Some(Unit::Ratio), "0.25"),
            (0.0, None, "0"),
        ] {
            assert_eq!(shown(value, unit), text);
        }
    }
}
