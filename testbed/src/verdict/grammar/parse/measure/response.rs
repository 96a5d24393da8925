//! How a series answers: `settling(controller.window, band=5%)`.

use super::argument;
use crate::verdict::grammar::parse::{Input, Parsed, Slip, expect, quantity, word};
use crate::verdict::grammar::{Measure, Response};
use testbed_core::vitals::Unit;

/// The band where none is given: a tenth of the level.
const BAND: f64 = 0.1;
const BAND_HELP: &str = "write a share above 0%, such as band=10%";
const ARGUMENT_HELP: &str = "write `fault=NAME`, `band=10%`, or nothing more";
const FAULT_HELP: &str = "name a fault of the file: reaction(controller.window, fault=storm)";

/// What may stand behind the series.
#[derive(Default)]
struct Arguments {
    fault: Option<String>,
    band: Option<f64>,
}

pub(super) fn settling(input: &mut Input<'_>) -> Parsed<Measure> {
    let series = argument(input)?;
    let Arguments { fault, band } = arguments(input)?;
    match fault {
        None => Ok(Measure::Settling { series, band: band.unwrap_or(BAND) }),
        Some(_) => {
            let message = "`settling` counts from the beginning of a phase, not from a fault";
            Err(Slip::here(input, message, "use `in:` for the phase, or `recovery`"))
        }
    }
}

pub(super) fn response(input: &mut Input<'_>, response: Response) -> Parsed<Measure> {
    let series = argument(input)?;
    let Arguments { fault, band } = arguments(input)?;
    let band = band.unwrap_or(BAND);
    match fault {
        Some(fault) => Ok(Measure::Response { response, series, fault, band }),
        None => Err(Slip::here(input, format!("`{response}` needs a fault"), FAULT_HELP)),
    }
}

fn arguments(input: &mut Input<'_>) -> Parsed<Arguments> {
    let mut arguments = Arguments::default();
    while expect(input, ',', "", "").is_ok() {
        let (offset, name) = word(input, "`fault` or `band`", ARGUMENT_HELP)?;
        expect(input, '=', "`=`", ARGUMENT_HELP)?;
        match name {
            "fault" if arguments.fault.is_none() => {
                arguments.fault = Some(word(input, "a fault", FAULT_HELP)?.1.to_owned());
            }
            "band" if arguments.band.is_none() => arguments.band = Some(band(input)?),
            _ => {
                let message = format!("`{name}` is unknown here, or there already");
                return Err(Slip::new(offset, message, ARGUMENT_HELP));
            }
        }
    }
    Ok(arguments)
}

pub(super) fn band(input: &mut Input<'_>) -> Parsed<f64> {
    let band = quantity(input)?;
    if band.value > 0.0 && matches!(band.unit, None | Some(Unit::Ratio)) {
        return Ok(band.value);
    }
    Err(Slip::new(band.offset, format!("`{}` is no band", band.text), BAND_HELP))
}
