//! Numbers with units.

use super::{Input, Parsed, Slip, expect};
use crate::verdict::grammar::Measure;
use testbed_core::limit::quantity::parse_bytes;
use testbed_core::quantity::unit_nanos;
use testbed_core::vitals::Unit;
use winnow::Parser;
use winnow::ascii::{digit1, multispace0};
use winnow::combinator::{not, opt, terminated};
use winnow::token::{one_of, take_while};

const HELP: &str = "write a number such as 2, 1.5, 150ms, 70%, 1000/s, 16KiB or 4MiB/s";
const UNITS_HELP: &str = "units are ns, us, ms, s, m and h; %; B, KiB, MiB, GiB, kB, MB and GB; \
                          and rates such as /s or MiB/s";

/// Whether a name or a function goes on with this.
const fn in_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '(' | '.' | '_' | '-')
}

/// Words that may follow a number and are no units; `in` is what people write there, and is told its cure.
const WORDS: [&str; 6] = ["and", "or", "for", "of", "within", "in"];

/// A number as it stands in a sentence.
#[derive(Debug)]
pub(super) struct Quantity<'s> {
    /// In base units; finite.
    pub(super) value: f64,
    /// None if it has none.
    pub(super) unit: Option<Unit>,
    pub(super) text: &'s str,
    /// Where it begins, in bytes.
    pub(super) offset: usize,
}

/// Reads a number and the unit behind it, if there is one.
pub(super) fn quantity<'s>(input: &mut Input<'s>) -> Parsed<Quantity<'s>> {
    let number = (opt('-'), digit1, opt(('.', digit1))).take();
    let letters = || take_while(0.., |c: char| c.is_alphabetic() || c == '%');
    // `2 / makespan` is a division: only a unit of time can follow.
    let time = terminated(letters(), not(one_of(in_name)));
    let per = (multispace0, '/', multispace0, time.verify(|per: &str| unit_nanos(per).is_some()));
    let own = opt(letters().verify(|unit: &str| !WORDS.contains(&unit)));
    let unit = (own, opt(per)).take();
    let parser = (number, multispace0, unit).with_taken().with_span();
    let (((number, _, unit), text), span) = expect(input, parser, "a number", HELP)?;
    let (text, offset) = (text.trim_end(), span.start);
    let number: f64 = number.parse().unwrap_or(f64::INFINITY);
    match in_base_units(number, unit.trim_end()) {
        Some((value, unit)) if value.is_finite() => Ok(Quantity { value, unit, text, offset }),
        Some(_) => Err(Slip::new(offset, format!("`{text}` is too large"), HELP)),
        None => Err(Slip::new(offset, format!("`{text}` has an unknown unit"), UNITS_HELP)),
    }
}

fn in_base_units(number: f64, unit: &str) -> Option<(f64, Option<Unit>)> {
    let parts = unit.split_once('/').map(|(what, per)| (what.trim_end(), per.trim_start()));
    Some(match (unit, parts) {
        ("", _) => (number, None),
        ("%", _) => (number / 100.0, Some(Unit::Ratio)),
        (_, Some(("", per))) => (number / (unit_nanos(per)? / 1e9), Some(Unit::PerSecond)),
        (_, Some((size, "s"))) => (whole_bytes(number, size)?, Some(Unit::BytesPerSecond)),
        (_, Some(_)) => return None,
        _ => match unit_nanos(unit) {
            // Whole nanoseconds, as everywhere: 14.3ms is then exactly 0.0143.
            Some(nanos) => ((number * nanos).round() / 1e9, Some(Unit::Seconds)),
            None => (whole_bytes(number, unit)?, Some(Unit::Bytes)),
        },
    })
}

/// Whole bytes, as everywhere. `None` if the unit is none of size.
fn whole_bytes(number: f64, unit: &str) -> Option<f64> {
    let one = parse_bytes(&format!("1{unit}")).ok()?;
    Some((number * one.get() as f64).round())
}

impl Quantity<'_> {
    /// Whether this can be the tolerance around `centre`, if that is a number too: not negative, and in the
    /// same unit.
    pub(super) fn check_tolerance_of(&self, centre: Option<&Quantity<'_>>) -> Parsed<()> {
        if self.value < 0.0 {
            let message = format!("the tolerance `{}` is negative", self.text);
            return Err(Slip::new(self.offset, message, "write it without the minus"));
        }
        if let Some(centre) = centre.filter(|centre| centre.unit != self.unit) {
            let message = format!("`{}` and `{}` differ in unit", centre.text, self.text);
            return Err(Slip::new(self.offset, message, "write both with the same unit"));
        }
        Ok(())
    }

    /// Whether it is a length of time, as `what` asks for.
    pub(super) fn check_time(&self, what: &str) -> Parsed<()> {
        let text = self.text;
        match self.unit {
            Some(Unit::Seconds) => Ok(()),
            None => {
                let message = format!("{what} is compared with a time; `{text}` needs a unit");
                Err(Slip::new(self.offset, message, format!("such as {text}s")))
            }
            _ => {
                let message = format!("{what} is compared with a time; `{text}` is none");
                Err(Slip::new(self.offset, message, "write a time, such as 15s"))
            }
        }
    }

    /// Whether it can be compared with `measure`, which has no unit.
    pub(super) fn check_plain(&self, measure: &Measure) -> Parsed<()> {
        if matches!(self.unit, None | Some(Unit::Ratio)) {
            return Ok(());
        }
        let message = format!("`{measure}` has no unit; `{}` has one", self.text);
        Err(Slip::new(self.offset, message, "write a number without a unit, such as 2"))
    }
}
