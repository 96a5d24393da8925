//! Measures of one series that heed another: `error(controller.limit, to=oracle.window)`.

use super::response::band;
use super::{argument, series};
use crate::verdict::grammar::parse::{Input, Parsed, Slip, expect, lasting, quantity, word};
use crate::verdict::grammar::{Measure, Number, Written};

const ERROR_HELP: &str = "write: error(controller.limit, to=oracle.window)";
const CONVERGENCE_HELP: &str =
    "write: convergence(rpc.goodput, to=oracle.goodput, band=10%, for=2s)";
const INCREASE_HELP: &str = "write: increase(rpc.rejected, while=backend.utilisation, below=80%)";

pub(super) fn error(input: &mut Input<'_>) -> Parsed<Measure> {
    let series = argument(input)?;
    let target = other(input, "to", ERROR_HELP)?;
    Ok(Measure::Error { series, target })
}

pub(super) fn convergence(input: &mut Input<'_>) -> Parsed<Measure> {
    let series = argument(input)?;
    let target = other(input, "to", CONVERGENCE_HELP)?;
    key(input, "band", CONVERGENCE_HELP)?;
    let band = band(input)?;
    key(input, "for", CONVERGENCE_HELP)?;
    Ok(Measure::Convergence { series, target, band, lasting: lasting(input)? })
}

pub(super) fn increase(input: &mut Input<'_>) -> Parsed<Measure> {
    let series = argument(input)?;
    let while_series = other(input, "while", INCREASE_HELP)?;
    key(input, "below", INCREASE_HELP)?;
    let below = quantity(input)?;
    let below = Number { value: below.value, written: Written(below.unit) };
    Ok(Measure::Increase { series, while_series, below })
}

/// The series behind this key.
fn other(input: &mut Input<'_>, name: &str, help: &str) -> Parsed<String> {
    key(input, name, help)?;
    series(input).map(|(_, series)| series.to_owned())
}

/// A comma, this name and the sign that its value follows.
fn key(input: &mut Input<'_>, name: &str, help: &str) -> Parsed<()> {
    let what = format!("`, {name}=`");
    expect(input, ',', &what, help)?;
    let (offset, found) = word(input, &what, help)?;
    if found != name {
        return Err(Slip::new(offset, format!("expected `{name}`, found `{found}`"), help));
    }
    expect(input, '=', "`=`", help).map(|_| ())
}
