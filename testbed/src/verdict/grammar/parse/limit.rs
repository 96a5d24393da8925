//! Limits: where a number must lie.

use super::expression::{Names, begins_number, expression, number, operator_follows};
use super::quantity::{Quantity, quantity};
use super::{ARM_AND_PHASE, Input, Parsed, Slip, comparison, expect, followed_by_in};
use crate::verdict::grammar::{Comparison, Expression, Limit, Measure, What};
use winnow::combinator::alt;
use winnow::stream::Stream as _;

/// Reads the limit of `left`.
pub(super) fn limit(input: &mut Input<'_>, left: &Expression) -> Parsed<Limit> {
    let measure = match left.operand().map(|operand| &operand.what) {
        Some(What::Measure(measure)) => Some(measure),
        _ => None,
    };
    let within = expect(input, "within", "", "").is_ok();
    if !within {
        return Ok(Limit::Compare(compare(input)?, side(input, measure)?.0));
    }
    let (centre, plain_centre) = side(input, measure)?;
    expect(input, alt(("+-", "±")), "`+-`", "write: within 11 +- 1.5")?;
    let (tolerance, plain) = side(input, measure)?;
    if let Some(plain) = plain {
        plain.check_tolerance_of(plain_centre.as_ref())?;
    }
    Ok(Limit::Within { centre, tolerance })
}

fn compare(input: &mut Input<'_>) -> Parsed<Comparison> {
    let bound = "write `<= 2` (or <, >=, >, ==), or `within 11 +- 1.5`";
    let help = if followed_by_in(input) { ARM_AND_PHASE } else { bound };
    comparison(input).map_err(|slip| {
        let message = slip.message.replace("a comparison", "a comparison or `within`");
        Slip { message, help: help.to_owned(), ..slip }
    })
}

/// A number to compare with, and how it was written if there is nothing else.
fn side<'s>(
    input: &mut Input<'s>,
    measure: Option<&Measure>,
) -> Parsed<(Expression, Option<Quantity<'s>>)> {
    let start = input.checkpoint();
    if begins_number(input) {
        let plain = quantity(input)?;
        if !operator_follows(input) {
            if let Some(measure) = measure {
                fits(&plain, measure)?;
            }
            return Ok((number(&plain), Some(plain)));
        }
        input.reset(&start);
    }
    Ok((expression(input, Names::Limits)?, None))
}

/// Whether a number can be compared with `measure`, as far as that is known without the arm.
fn fits(limit: &Quantity<'_>, measure: &Measure) -> Parsed<()> {
    match measure {
        // A series may have any unit, and which one is known only with the arm.
        Measure::Aggregate { .. } | Measure::Increase { .. } => Ok(()),
        Measure::TimeTo { .. } => limit.check_time("time_to(...)"),
        Measure::Settling { .. } => limit.check_time("settling(...)"),
        Measure::Convergence { .. } => limit.check_time("convergence(...)"),
        Measure::Response { response, .. } => limit.check_time(&format!("{response}(...)")),
        Measure::OverFifo(_)
        | Measure::Jain
        | Measure::ZeroProgress { .. }
        | Measure::Error { .. } => limit.check_plain(measure),
    }
}
