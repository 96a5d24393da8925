//! Numbers with units.

use super::{Input, Parsed, Slip, expect};
use testbed_core::quantity::unit_nanos;
use winnow::Parser;
use winnow::ascii::{digit1, multispace0};
use winnow::combinator::opt;
use winnow::token::take_while;

/// What a number counts.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Unit {
    None,
    Seconds,
    Share,
    PerSecond,
}

/// A number as it stands in a sentence.
#[derive(Debug)]
pub(super) struct Quantity<'s> {
    /// In base units; finite.
    pub(super) value: f64,
    pub(super) unit: Unit,
    pub(super) text: &'s str,
    /// Where it begins, in bytes.
    pub(super) offset: usize,
}

/// Reads a number and the unit behind it, if there is one.
pub(super) fn quantity<'s>(input: &mut Input<'s>) -> Parsed<Quantity<'s>> {
    let number = (opt('-'), digit1, opt(('.', digit1))).take();
    let letters = take_while(0.., |c: char| c.is_alphabetic() || c == '%');
    let unit = (opt('/'), multispace0, letters).take();
    let parser = (number, multispace0, unit).with_taken().with_span();
    let help = "write a number such as 2, 1.5, 150ms, 70% or 1000/s";
    let (((number, _, unit), text), span) = expect(input, parser, "a number", help)?;
    let (text, offset) = (text.trim_end(), span.start);
    let number: f64 = number.parse().unwrap_or(f64::INFINITY);
    match in_base_units(number, unit.trim_end()) {
        Some((value, unit)) if value.is_finite() => Ok(Quantity { value, unit, text, offset }),
        Some(_) => Err(Slip::new(offset, format!("`{text}` is too large"), help)),
        None => {
            let message = format!("`{text}` has an unknown unit");
            let help = "units are ns, us, ms, s, m and h; %; and rates such as /s";
            Err(Slip::new(offset, message, help))
        }
    }
}

fn in_base_units(number: f64, unit: &str) -> Option<(f64, Unit)> {
    Some(match (unit, unit.strip_prefix('/')) {
        ("", _) => (number, Unit::None),
        ("%", _) => (number / 100.0, Unit::Share),
        (_, Some(per)) => (number / (unit_nanos(per.trim_start())? / 1e9), Unit::PerSecond),
        // Whole nanoseconds, as everywhere: 14.3ms is then exactly 0.0143.
        _ => ((number * unit_nanos(unit)?).round() / 1e9, Unit::Seconds),
    })
}

impl Quantity<'_> {
    /// Whether this can be the tolerance around `centre`: not negative, and in the same unit.
    pub(super) fn check_tolerance_of(&self, centre: &Quantity<'_>) -> Parsed<()> {
        if self.value < 0.0 {
            let message = format!("the tolerance `{}` is negative", self.text);
            return Err(Slip::new(self.offset, message, "write it without the minus"));
        }
        if self.unit != centre.unit {
            let message = format!("`{}` and `{}` differ in unit", centre.text, self.text);
            return Err(Slip::new(self.offset, message, "write both with the same unit"));
        }
        Ok(())
    }
}
