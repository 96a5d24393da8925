//! Measures: functions, and the words that stand for some of them.

mod against;
mod response;

use super::quantity::Quantity;
use super::{Input, Parsed, Slip, comparison, expect, keyword, quantity, word};
use crate::experiment::problem::did_you_mean;
use crate::verdict::grammar::{Aggregate, GRANTED, Measure, Number, Response, WAIT, Written};
use crate::verdict::oracle;
use crate::watch::series::{Counted, MAKESPAN, PerRequest, Sampled};
use winnow::Parser;
use winnow::ascii::{digit1, multispace0, multispace1};
use winnow::combinator::{alt, opt};
use winnow::stream::Stream as _;

const FUNCTIONS: [&str; 21] = [
    "max",
    "min",
    "mean",
    "last",
    "count",
    "sum",
    "stddev",
    "rate",
    "slope",
    "time_to",
    "settling",
    "overshoot",
    "oscillation",
    "reaction",
    "recovery",
    "error",
    "convergence",
    "increase",
    "jain",
    "zero_progress",
    "regret",
];
const FUNCTIONS_HELP: &str = "one of: max, min, mean, last, p50 to p99.9, count, sum, stddev, rate, \
                              slope, time_to, settling, overshoot, oscillation, reaction, recovery, \
                              error, convergence, increase, jain, zero_progress, regret; or alone: makespan, overtakes";
/// Names from elsewhere whose likeness would mislead.
const SYNONYMS: [(&str, &str); 8] = [
    ("sd", "stddev"),
    ("median", "p50"),
    ("average", "mean"),
    ("avg", "mean"),
    ("fairness", "jain"),
    ("fair", "jain"),
    ("starved", "zero_progress"),
    ("starvation", "zero_progress"),
];
/// Words that stand for the last value of a series.
const WORDS: [(&str, &str); 2] =
    [("makespan", MAKESPAN), ("overtakes", Counted::Overtakes.info().name)];

const SERIES_HELP: &str = "write a function and a series: max(controller.window)";
const CLOSE_HELP: &str = "close the function: max(controller.window)";
const OVERRUN_HELP: &str = "write: max(real - quoted)";
const FIFO_HELP: &str = "write: max(limiter.wait) / fifo";
const REGRET_HELP: &str = "write: regret(rpc.goodput)";
const JAIN_HELP: &str = "write: jain(download.granted by waiter)";
const ROUNDS_HELP: &str = "write a number above 0 and the word: zero_progress(20 rounds)";

/// What a sentence speaks of.
pub(super) fn measure(input: &mut Input<'_>) -> Parsed<Measure> {
    let measure = undivided(input)?;
    divided(input, measure)
}

fn undivided(input: &mut Input<'_>) -> Parsed<Measure> {
    let (offset, name) = word(input, "a function", FUNCTIONS_HELP)?;
    let short_for = WORDS.iter().find(|(word, _)| *word == name);
    let opened = expect(input, '(', "", "").is_ok();
    match (short_for, opened) {
        (Some((_, series)), false) => {
            Ok(Measure::Aggregate { aggregate: Aggregate::Last, series: (*series).to_owned() })
        }
        (Some(_), true) => {
            let message = format!("`{name}` stands alone, without parentheses");
            Err(Slip::new(offset, message, format!("such as `{name} <= 60`")))
        }
        (None, true) => function(input, offset, name),
        (None, false) => Err(without_parentheses(offset, name)),
    }
}

fn without_parentheses(offset: usize, name: &str) -> Slip {
    let (message, help) = match name {
        "jain" => (format!("`{name}` stands without what it asks for"), JAIN_HELP),
        "zero_progress" => (format!("`{name}` stands without a number of rounds"), ROUNDS_HELP),
        _ => {
            let guess = did_you_mean(name, WORDS.map(|(word, _)| word));
            (format!("`{name}` stands without a function{guess}"), SERIES_HELP)
        }
    };
    Slip::new(offset, message, help)
}

fn function(input: &mut Input<'_>, offset: usize, name: &str) -> Parsed<Measure> {
    let measure = match name {
        "time_to" => time_to(input)?,
        "jain" => jain(input)?,
        "zero_progress" => zero_progress(input)?,
        "settling" => response::settling(input)?,
        "reaction" => response::response(input, Response::Reaction)?,
        "recovery" => response::response(input, Response::Recovery)?,
        "error" => against::error(input)?,
        "convergence" => against::convergence(input)?,
        "increase" => against::increase(input)?,
        _ => aggregated(input, aggregate(offset, name)?)?,
    };
    expect(input, ')', "`)`", CLOSE_HELP)?;
    Ok(measure)
}

fn time_to(input: &mut Input<'_>) -> Parsed<Measure> {
    let series = argument(input)?;
    let comparison = comparison(input)?;
    let Quantity { value, unit, .. } = quantity(input)?;
    let value = Number { value, written: Written(unit) };
    Ok(Measure::TimeTo { series, comparison, value })
}

fn jain(input: &mut Input<'_>) -> Parsed<Measure> {
    expect(input, GRANTED, &format!("`{GRANTED}`"), JAIN_HELP)?;
    expect(input, "by", "`by waiter`", JAIN_HELP)?;
    expect(input, "waiter", "`waiter`", JAIN_HELP)?;
    Ok(Measure::Jain)
}

fn zero_progress(input: &mut Input<'_>) -> Parsed<Measure> {
    let number = (digit1, opt(('.', digit1))).take().with_span();
    let (number, span) = expect(input, number, "a number of rounds", ROUNDS_HELP)?;
    expect(input, alt(("rounds", "round")), "`rounds`", ROUNDS_HELP)?;
    let rounds = number.parse().ok().filter(|rounds: &f64| *rounds > 0.0 && rounds.is_finite());
    rounds.map(|rounds| Measure::ZeroProgress { rounds }).ok_or_else(|| {
        let message = format!("`{number}` is not a number of rounds to wait for");
        Slip::new(span.start, message, ROUNDS_HELP)
    })
}

fn aggregated(input: &mut Input<'_>, aggregate: Aggregate) -> Parsed<Measure> {
    let series = argument(input)?;
    if let Some(by) = expect(input, opt(("by", multispace1).span()), "", "")? {
        return Err(Slip::new(by.start, "only `jain` asks by waiter", JAIN_HELP));
    }
    Ok(Measure::Aggregate { aggregate, series })
}

/// The measure, or its ratio to the FIFO queue if `/ fifo` follows.
fn divided(input: &mut Input<'_>, measure: Measure) -> Parsed<Measure> {
    let start = input.checkpoint();
    let slash = expect(input, '/'.span(), "", "");
    let Some(slash) = slash.ok().filter(|_| keyword(input, "fifo")) else {
        input.reset(&start);
        return Ok(measure);
    };
    match measure {
        Measure::Aggregate { aggregate, series } if series == WAIT => {
            Ok(Measure::OverFifo(aggregate))
        }
        other => {
            let message = format!("`{other}` has nothing to be divided by in a FIFO queue");
            Err(Slip::new(slash.start, message, FIFO_HELP))
        }
    }
}

fn aggregate(offset: usize, name: &str) -> Parsed<Aggregate> {
    match name {
        "max" => Ok(Aggregate::Max),
        "min" => Ok(Aggregate::Min),
        "mean" => Ok(Aggregate::Mean),
        "last" => Ok(Aggregate::Last),
        "count" => Ok(Aggregate::Count),
        "sum" => Ok(Aggregate::Sum),
        "stddev" => Ok(Aggregate::Stddev),
        "rate" => Ok(Aggregate::Rate),
        "slope" => Ok(Aggregate::Slope),
        "overshoot" => Ok(Aggregate::Overshoot),
        "oscillation" => Ok(Aggregate::Oscillation),
        _ => match name.strip_prefix('p') {
            Some(digits) if digits.starts_with(|c: char| c.is_ascii_digit()) => {
                percentile(offset, digits)
            }
            _ => Err(unknown_function(offset, name)),
        },
    }
}

fn percentile(offset: usize, digits: &str) -> Parsed<Aggregate> {
    let plain = digits.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let percent = digits.parse().ok().filter(|percent| plain && *percent > 0.0 && *percent < 100.0);
    percent.map(Aggregate::Percentile).ok_or_else(|| {
        let message = format!("`p{digits}` is not a percentile");
        Slip::new(offset, message, "write p and a number above 0 and below 100, such as p99.9")
    })
}

fn unknown_function(offset: usize, name: &str) -> Slip {
    let guess = match SYNONYMS.iter().find(|(synonym, _)| *synonym == name) {
        Some((_, meant)) => format!(" (did you mean `{meant}`?)"),
        None => did_you_mean(name, FUNCTIONS),
    };
    Slip::new(offset, format!("unknown function `{name}`{guess}"), FUNCTIONS_HELP)
}

/// What `regret(rpc.goodput)` is the difference of, behind its name: the best that could be, and what was.
pub(super) fn regret(input: &mut Input<'_>) -> Parsed<[Measure; 2]> {
    let goodput = Sampled::Goodput.info().name;
    expect(input, '(', "`(`", REGRET_HELP)?;
    expect(input, goodput, &format!("`{goodput}`"), REGRET_HELP)?;
    expect(input, ')', "`)`", REGRET_HELP)?;
    let mean = |series: &str| {
        let (aggregate, series) = (Aggregate::Mean, series.to_owned());
        Measure::Aggregate { aggregate, series }
    };
    Ok([mean(oracle::GOODPUT), mean(goodput)])
}

/// Whether this word stands for a measure by itself, or nearly.
pub(super) fn stands_alone(name: &str) -> bool {
    matches!(name, "jain" | "zero_progress") || WORDS.iter().any(|(word, _)| *word == name)
}

/// The name of a series, and where it begins.
pub(super) fn series<'s>(input: &mut Input<'s>) -> Parsed<(usize, &'s str)> {
    let help = "lowercase words joined by dots, such as controller.window";
    let (offset, name) = word(input, "a series", help)?;
    if name.split('.').all(is_word) {
        return Ok((offset, name));
    }
    Err(Slip::new(offset, format!("`{name}` is not the name of a series"), help))
}

/// The series that a function is of.
fn argument(input: &mut Input<'_>) -> Parsed<String> {
    let difference = expect(input, opt(("real", multispace0, '-')), "", "")?;
    if difference.is_some() {
        expect(input, "quoted", "`quoted`", OVERRUN_HELP)?;
        return Ok(PerRequest::Overrun.info().name.to_owned());
    }
    series(input).map(|(_, name)| name.to_owned())
}

fn is_word(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_lowercase())
        && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
}
