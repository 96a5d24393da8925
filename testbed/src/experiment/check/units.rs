//! Whether a number in a sentence is of the unit of the series that it is compared with.

use crate::experiment::problem::Problem;
use crate::verdict::grammar::{Measure, Sentence, Written, WrittenUnit, written};
use testbed_core::vitals::Unit;

/// The problem with the first number of the sentence `text` that has another unit than the `series`
/// that the sentence speaks of.
pub(super) fn check(
    text: &str,
    sentence: &Sentence,
    series: (&str, Unit),
    at: &str,
) -> Option<Problem> {
    // What else a sentence can be compared with, its grammar knows.
    let inside = match sentence.measure {
        Measure::Aggregate { .. } => false,
        Measure::TimeTo { .. } => true,
        _ => return None,
    };
    let numbers = written(text).into_iter().filter(|number| number.inside == inside);
    numbers.into_iter().find_map(|number| wrong(&number, series, at))
}

fn wrong(number: &Written, (name, unit): (&str, Unit), at: &str) -> Option<Problem> {
    if fits(number.unit, unit) {
        return None;
    }
    let Written { text, column, .. } = number;
    let (counts, cure) = in_words(unit);
    let message = format!(
        "`{name}` is {counts}, and `{text}` is {} (column {column} of the sentence)",
        number.unit.in_words()
    );
    Some(Problem::at_value(at, message).with_help(cure))
}

/// A number without a unit is in base units, so it fits everywhere.
const fn fits(written: WrittenUnit, unit: Unit) -> bool {
    match written {
        WrittenUnit::None => true,
        WrittenUnit::Seconds => matches!(unit, Unit::Seconds),
        WrittenUnit::Share => matches!(unit, Unit::Ratio),
        WrittenUnit::PerSecond => matches!(unit, Unit::PerSecond),
        WrittenUnit::Bytes => matches!(unit, Unit::Bytes),
        WrittenUnit::BytesPerSecond => matches!(unit, Unit::BytesPerSecond),
    }
}

/// What a series of this unit is, and how a number for it is written.
const fn in_words(unit: Unit) -> (&'static str, &'static str) {
    match unit {
        Unit::Seconds => ("a time", "write a time, such as 150ms"),
        Unit::Ratio => ("a ratio", "write a number or a share, such as 0.7 or 70%"),
        Unit::Requests => ("a number of requests", "write a number without a unit, such as 9"),
        Unit::PerSecond => ("a rate", "write a rate, such as 600/s"),
        Unit::Bytes => ("a size", "write a size, such as 16KiB"),
        Unit::BytesPerSecond => ("a byte rate", "write a byte rate, such as 4MiB/s"),
        Unit::Count => ("a count", "write a number without a unit, such as 9"),
    }
}

impl WrittenUnit {
    const fn in_words(self) -> &'static str {
        match self {
            Self::None => "a plain number",
            Self::Seconds => "a time",
            Self::Share => "a share",
            Self::PerSecond => "a rate",
            Self::Bytes => "a size",
            Self::BytesPerSecond => "a byte rate",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::grammar;

    #[test]
    fn a_number_is_of_the_unit_of_its_series() {
        for (sentence, unit, message) in [
            (
                "max(x) <= 9ms",
                Unit::Requests,
                Some("`x` is a number of requests, and `9ms` is a time (column 11"),
            ),
            ("max(x) <= 9", Unit::Requests, None),
            ("max(x) <= 9", Unit::Seconds, None),
            ("max(x) <= 9ms", Unit::Seconds, None),
            ("max(x) <= 90%", Unit::Ratio, None),
            ("max(x) <= 90%", Unit::Count, Some("`x` is a count, and `90%` is a share")),
            (
                "max(x) <= 9/s",
                Unit::BytesPerSecond,
                Some("`x` is a byte rate, and `9/s` is a rate"),
            ),
            ("max(x) <= 9B", Unit::PerSecond, Some("`x` is a rate, and `9B` is a size")),
            (
                "last(x) within 1s +- 1ms",
                Unit::Bytes,
                Some("`x` is a size, and `1s` is a time (column 16"),
            ),
            (
                "time_to(x >= 9KiB) <= 1s",
                Unit::Seconds,
                Some("`x` is a time, and `9KiB` is a size (column 14"),
            ),
            ("time_to(x >= 9) <= 1s", Unit::Requests, None),
        ] {
            let parsed = grammar::parse(sentence).unwrap();
            let problem = check(sentence, &parsed, ("x", unit), "/expect/0/that");
            match (&problem, message) {
                (None, None) => {}
                (Some(problem), Some(message)) => {
                    assert!(problem.message.starts_with(message), "{sentence}: {problem:?}");
                }
                _ => panic!("{sentence} of {unit:?}: {problem:?}"),
            }
        }
    }

    #[test]
    fn the_cure_fits() {
        for unit in [
            Unit::Seconds,
            Unit::Ratio,
            Unit::Requests,
            Unit::PerSecond,
            Unit::Bytes,
            Unit::BytesPerSecond,
            Unit::Count,
        ] {
            let (_, example) = in_words(unit).1.rsplit_once(' ').unwrap();
            let sentence = format!("max(x) <= {example}");
            let parsed = grammar::parse(&sentence).unwrap();
            assert_eq!(check(&sentence, &parsed, ("x", unit), ""), None, "{sentence}");
        }
    }
}
