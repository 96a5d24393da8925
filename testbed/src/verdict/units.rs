//! The algebra of units: what an expression measures, and whether two of them go together.

use super::grammar::{
    Aggregate, Clause, Expression, Measure, Number, Operand, Operator, Sentence, What,
};
use crate::watch::series::PerRequest;
use std::fmt;
use testbed_core::vitals::Unit;

/// What a number measures: powers of seconds and of bytes. Requests, counts, shares and ratios are plain
/// numbers: there is nothing that one of them could be mistaken for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Dimension {
    /// The power of seconds: 1 for a time, -1 for a rate.
    pub seconds: i8,
    /// The power of bytes.
    pub bytes: i8,
}

/// A number without any unit.
pub const PLAIN: Dimension = Dimension { seconds: 0, bytes: 0 };
/// A time.
pub const SECONDS: Dimension = Dimension { seconds: 1, bytes: 0 };

/// Two parts of a sentence whose units do not go together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mismatch {
    /// Where the second of the two begins, in bytes from the beginning of the sentence.
    pub offset: usize,
    /// What does not go together.
    pub message: String,
}

impl From<Unit> for Dimension {
    fn from(unit: Unit) -> Self {
        match unit {
            Unit::Seconds => SECONDS,
            Unit::PerSecond => PLAIN.over(SECONDS),
            Unit::Bytes => Self { seconds: 0, bytes: 1 },
            Unit::BytesPerSecond => Self { seconds: -1, bytes: 1 },
            Unit::Ratio | Unit::Requests | Unit::Count => PLAIN,
        }
    }
}

impl Dimension {
    /// That of a product.
    #[must_use]
    pub const fn times(self, other: Self) -> Self {
        Self {
            seconds: self.seconds.saturating_add(other.seconds),
            bytes: self.bytes.saturating_add(other.bytes),
        }
    }

    /// That of a quotient.
    #[must_use]
    pub const fn over(self, other: Self) -> Self {
        Self {
            seconds: self.seconds.saturating_sub(other.seconds),
            bytes: self.bytes.saturating_sub(other.bytes),
        }
    }

    /// The unit to show its values in.
    pub const fn unit(self) -> Unit {
        match (self.seconds, self.bytes) {
            (1, 0) => Unit::Seconds,
            (-1, 0) => Unit::PerSecond,
            (0, 1) => Unit::Bytes,
            (-1, 1) => Unit::BytesPerSecond,
            _ => Unit::Ratio,
        }
    }
}

impl fmt::Display for Dimension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.seconds, self.bytes) {
            (0, 0) => f.write_str("a plain number"),
            (1, 0) => f.write_str("a time"),
            (-1, 0) => f.write_str("a rate (/s)"),
            (0, 1) => f.write_str("a size"),
            (-1, 1) => f.write_str("a byte rate (B/s)"),
            (seconds, bytes) => write!(f, "in s^{seconds} B^{bytes}"),
        }
    }
}

/// The unit of a series, by the arm that an operand names and the series' dotted name; none if there is no such.
pub type UnitOf<'a> = &'a dyn Fn(Option<&str>, &str) -> Option<Unit>;

/// Whether the units within each clause of a sentence go together. A number without a unit takes that of what it
/// is compared with or added to.
///
/// # Errors
/// The first two parts that do not.
pub fn check(sentence: &Sentence, unit_of: UnitOf<'_>) -> Result<(), Mismatch> {
    sentence.clauses().try_for_each(|clause| check_clause(clause, unit_of))
}

/// What an expression measures, once it is clear that all in it goes together.
///
/// # Errors
/// The first two parts that do not.
pub fn check_expression(
    expression: &Expression,
    unit_of: UnitOf<'_>,
) -> Result<Dimension, Mismatch> {
    expression.operands().iter().try_for_each(|operand| within(operand, unit_of))?;
    Ok(dimension(expression, unit_of)?.unwrap_or(PLAIN))
}

/// Whether the units within a clause go together.
///
/// # Errors
/// The first two parts that do not.
pub fn check_clause(clause: &Clause, unit_of: UnitOf<'_>) -> Result<(), Mismatch> {
    let sides = clause.expressions();
    let mut operands = sides.iter().flat_map(|side| side.operands());
    operands.try_for_each(|operand| within(operand, unit_of))?;
    let Some((left, others)) = sides.split_first() else { return Ok(()) };
    let mut common = dimension(left, unit_of)?;
    for other in others {
        common = alike((left, common), (other, dimension(other, unit_of)?), "compared")?;
    }
    Ok(())
}

/// Whether a series and what a measure compares it with go together: the value that it is to reach or to be below, or
/// the series that it is to come near.
fn within(operand: &Operand, unit_of: UnitOf<'_>) -> Result<(), Mismatch> {
    let What::Measure(measure) = &operand.what else { return Ok(()) };
    let of_series = |series: &str| unit_of(operand.arm.as_deref(), series).map(Dimension::from);
    let of_value = |value: &Number| value.written.0.map(Dimension::from);
    let (series, other, what) = match measure {
        Measure::TimeTo { series, value, .. } => (series, of_value(value), "reach"),
        Measure::Increase { while_series, below, .. } => {
            (while_series, of_value(below), "be below")
        }
        Measure::Error { series, target } | Measure::Convergence { series, target, .. } => {
            (series, of_series(target), "come near")
        }
        _ => return Ok(()),
    };
    match (of_series(series), other) {
        (Some(of_series), Some(other)) if of_series != other => {
            let message = format!(
                "`{series}` is {of_series}, and what it is to {what} {other}; they cannot be compared"
            );
            Err(Mismatch { offset: operand.place.0, message })
        }
        _ => Ok(()),
    }
}

/// What an expression measures; none if it is of numbers without units only.
///
/// # Errors
/// If things are added that do not go together.
pub fn dimension(
    expression: &Expression,
    unit_of: UnitOf<'_>,
) -> Result<Option<Dimension>, Mismatch> {
    let (left, operator, right) = match expression {
        Expression::Operand(operand) => return Ok(of_operand(operand, unit_of)),
        Expression::Of { left, operator, right } => (left, operator, right),
    };
    let [of_left, of_right] = [dimension(left, unit_of)?, dimension(right, unit_of)?];
    let both = || Some((of_left.unwrap_or(PLAIN), of_right.unwrap_or(PLAIN)));
    let both = both().filter(|_| of_left.is_some() || of_right.is_some());
    match operator {
        Operator::Plus => alike((left, of_left), (right, of_right), "added"),
        Operator::Minus => alike((left, of_left), (right, of_right), "subtracted"),
        Operator::Times => Ok(both.map(|(left, right)| left.times(right))),
        Operator::Over => Ok(both.map(|(left, right)| left.over(right))),
    }
}

type Side<'e> = (&'e Expression, Option<Dimension>);

/// What two sides measure, if it is the same.
fn alike(left: Side<'_>, right: Side<'_>, what: &str) -> Result<Option<Dimension>, Mismatch> {
    let (Some(of_left), Some(of_right)) = (left.1, right.1) else {
        return Ok(left.1.or(right.1));
    };
    if of_left == of_right {
        return Ok(Some(of_left));
    }
    let (left, right) = (left.0, right.0);
    let message = format!("`{left}` is {of_left}, `{right}` {of_right}; they cannot be {what}");
    Err(Mismatch { offset: right.place().0, message })
}

fn of_operand(operand: &Operand, unit_of: UnitOf<'_>) -> Option<Dimension> {
    let of_series = |series: &str| unit_of(operand.arm.as_deref(), series).map(Dimension::from);
    match &operand.what {
        What::Number(number) => number.written.0.map(Dimension::from),
        What::Series(series) => of_series(series),
        What::Measure(measure) => of_measure(measure, of_series(measure.series())),
    }
}

/// What a measure of a series of this dimension measures.
fn of_measure(measure: &Measure, series: Option<Dimension>) -> Option<Dimension> {
    match measure {
        Measure::Aggregate { aggregate, series: name } => {
            let by_request = PerRequest::named(name).is_some();
            of_aggregate(*aggregate, by_request, series?)
        }
        Measure::TimeTo { .. }
        | Measure::Settling { .. }
        | Measure::Response { .. }
        | Measure::Convergence { .. } => Some(SECONDS),
        Measure::Increase { .. } => series,
        Measure::OverFifo(_)
        | Measure::Jain
        | Measure::ZeroProgress { .. }
        | Measure::Error { .. } => Some(PLAIN),
    }
}

fn of_aggregate(aggregate: Aggregate, by_request: bool, series: Dimension) -> Option<Dimension> {
    Some(match aggregate {
        Aggregate::Max
        | Aggregate::Min
        | Aggregate::Mean
        | Aggregate::Last
        | Aggregate::Percentile(_)
        | Aggregate::Stddev => series,
        Aggregate::Sum if by_request => series,
        Aggregate::Sum => series.times(SECONDS),
        Aggregate::Rate if by_request => PLAIN.over(SECONDS),
        Aggregate::Rate | Aggregate::Slope => series.over(SECONDS),
        Aggregate::Count | Aggregate::Overshoot | Aggregate::Oscillation => PLAIN,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::grammar::parse;

    /// Of series by their first letter: times, rates, sizes, byte rates, and plain numbers.
    fn unit_of(_: Option<&str>, series: &str) -> Option<Unit> {
        Some(match series.chars().next()? {
            't' => Unit::Seconds,
            'r' => Unit::PerSecond,
            'b' => Unit::Bytes,
            'w' => Unit::BytesPerSecond,
            _ => Unit::Count,
        })
    }

    #[test]
    fn units_go_through_arithmetic() {
        for (left, dimension) in [
            ("max(t.a)", "a time"),
            ("max(t.a) + 2", "a time"),
            ("2 * max(t.a) - 3ms", "a time"),
            ("max(t.a) / min(t.a)", "a plain number"),
            ("max(n.a) / max(t.a)", "a rate (/s)"),
            ("max(b.a) / max(t.a)", "a byte rate (B/s)"),
            ("max(w.a) * 2s", "a size"),
            ("1 / max(r.a)", "a time"),
            ("max(t.a) * max(t.a)", "in s^2 B^0"),
            ("sum(r.a)", "a plain number"),
            ("rate(b.a)", "a byte rate (B/s)"),
            ("slope(n.a)", "a rate (/s)"),
            ("rate(rpc.latency)", "a rate (/s)"),
            ("count(t.a)", "a plain number"),
            ("overshoot(t.a)", "a plain number"),
            ("settling(n.a)", "a time"),
            ("jain(download.granted by waiter)", "a plain number"),
        ] {
            let sentence = parse(&format!("{left} - 0 <= 1 * 1")).unwrap();
            let expression = sentence.alternatives[0][0].expressions()[0].clone();
            let got = super::dimension(&expression, &unit_of).unwrap().unwrap();
            assert_eq!(got.to_string(), dimension, "{left}");
        }
    }

    #[test]
    fn what_does_not_go_together_is_named_where_it_stands() {
        for (sentence, offset, message) in [
            (
                "max(t.a) <= 2 * max(r.a)",
                12,
                "`max(t.a)` is a time, `2 * max(r.a)` a rate (/s); they cannot be compared",
            ),
            (
                "max(t.a) + max(n.a) <= 2",
                11,
                "`max(t.a)` is a time, `max(n.a)` a plain number; they cannot be added",
            ),
            (
                "max(n.a) - 3s <= 2",
                11,
                "`max(n.a)` is a plain number, `3s` a time; they cannot be subtracted",
            ),
            (
                "always w.a >= 3B",
                14,
                "`w.a` is a byte rate (B/s), `3B` a size; they cannot be compared",
            ),
            (
                "max(t.a) within 2s + 0 +- 5/s * 1",
                26,
                "`max(t.a)` is a time, `5/s * 1` a rate (/s); they cannot be compared",
            ),
        ] {
            let mismatch = check(&parse(sentence).unwrap(), &unit_of).unwrap_err();
            assert_eq!(mismatch.message, message, "{sentence}");
            assert_eq!(mismatch.offset, offset, "{sentence}");
        }
    }
}
