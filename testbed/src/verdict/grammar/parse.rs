//! From text to sentence.

mod quantity;

use super::{Aggregate, Bound, Comparison, GrammarError, Measure, Sentence};
use crate::experiment::problem::did_you_mean;
use quantity::{Quantity, Unit, quantity};
use winnow::ascii::multispace0;
use winnow::combinator::{alt, eof};
use winnow::error::ParserError;
use winnow::stream::Location;
use winnow::token::take_while;
use winnow::{LocatingSlice, Parser};

const FUNCTIONS: [&str; 5] = ["max", "min", "mean", "last", "time_to"];
const FUNCTIONS_HELP: &str = "one of: max, min, mean, last, p50 to p99.9, time_to";
/// Names from elsewhere whose likeness would mislead.
const SYNONYMS: [(&str, &str); 3] = [("median", "p50"), ("average", "mean"), ("avg", "mean")];

type Input<'s> = LocatingSlice<&'s str>;
type Parsed<T> = Result<T, Slip>;

/// What is wrong, at a byte offset.
#[derive(Debug)]
struct Slip {
    offset: usize,
    message: String,
    help: String,
}

impl Slip {
    fn new(offset: usize, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { offset, message: message.into(), help: help.into() }
    }
}

/// The error of winnow's own parsers; [`expect`] gives it words.
impl ParserError<Input<'_>> for Slip {
    type Inner = Self;

    fn from_input(input: &Input<'_>) -> Self {
        Self::new(input.current_token_start(), "", "")
    }

    fn into_inner(self) -> Result<Self, Self> {
        Ok(self)
    }
}

/// Reads a sentence. White space may stand between any two parts.
///
/// # Errors
/// The first place where the text stops being a sentence, what was expected there, and a cure.
pub fn parse(sentence: &str) -> Result<Sentence, GrammarError> {
    let mut input = Input::new(sentence);
    whole(&mut input).map_err(|Slip { offset, message, help }| GrammarError {
        column: sentence[..offset].chars().count() + 1,
        message,
        help,
    })
}

fn whole(input: &mut Input<'_>) -> Parsed<Sentence> {
    let measure = measure(input)?;
    let bound = bound(input, &measure)?;
    expect(input, eof, "nothing more", "a sentence has one bound; write a second expectation")?;
    Ok(Sentence { measure, bound })
}

/// Runs a parser behind white space; its error says what was expected and what stands there.
fn expect<'s, O>(
    input: &mut Input<'s>,
    mut parser: impl Parser<Input<'s>, O, Slip>,
    what: &str,
    help: &str,
) -> Parsed<O> {
    multispace0::<_, Slip>.parse_next(input)?;
    let rest: &str = input.as_ref();
    parser.parse_next(input).map_err(|Slip { offset, .. }| {
        let found = match rest.split_whitespace().next() {
            Some(word) => format!("`{}`", word.chars().take(20).collect::<String>()),
            None => "the end".to_owned(),
        };
        Slip::new(offset, format!("expected {what}, found {found}"), help)
    })
}

/// A name, and where it begins.
fn word<'s>(input: &mut Input<'s>, what: &str, help: &str) -> Parsed<(usize, &'s str)> {
    let letter = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '-');
    let (name, span) = expect(input, take_while(1.., letter).with_span(), what, help)?;
    Ok((span.start, name))
}

fn measure(input: &mut Input<'_>) -> Parsed<Measure> {
    let (offset, name) = word(input, "a function", FUNCTIONS_HELP)?;
    if open(input).is_err() {
        let message = format!("`{name}` stands without a function");
        return Err(Slip::new(
            offset,
            message,
            "write a function and a series: max(controller.window)",
        ));
    }
    let measure = if name == "time_to" {
        let series = series(input)?;
        let comparison = comparison(input)?;
        Measure::TimeTo { series, comparison, value: quantity(input)?.value }
    } else {
        Measure::Aggregate { aggregate: aggregate(offset, name)?, series: series(input)? }
    };
    expect(input, ')', "`)`", "close the function: max(controller.window)")?;
    Ok(measure)
}

fn open(input: &mut Input<'_>) -> Parsed<char> {
    expect(input, '(', "`(`", "")
}

fn aggregate(offset: usize, name: &str) -> Parsed<Aggregate> {
    match name {
        "max" => Ok(Aggregate::Max),
        "min" => Ok(Aggregate::Min),
        "mean" => Ok(Aggregate::Mean),
        "last" => Ok(Aggregate::Last),
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

fn series(input: &mut Input<'_>) -> Parsed<String> {
    let help = "lowercase words joined by dots, such as controller.window";
    let (offset, name) = word(input, "a series", help)?;
    let is_word = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_lowercase())
            && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
    };
    if name.split('.').all(is_word) {
        return Ok(name.to_owned());
    }
    Err(Slip::new(offset, format!("`{name}` is not the name of a series"), help))
}

fn comparison(input: &mut Input<'_>) -> Parsed<Comparison> {
    let symbol = alt((
        "<=".value(Comparison::LessOrEqual),
        ">=".value(Comparison::GreaterOrEqual),
        "==".value(Comparison::Equal),
        '<'.value(Comparison::Less),
        '>'.value(Comparison::Greater),
    ));
    expect(input, symbol, "a comparison", "one of: <=, <, >=, >, ==")
}

fn bound(input: &mut Input<'_>, measure: &Measure) -> Parsed<Bound> {
    let within = expect(input, "within", "", "").is_ok();
    if !within {
        let comparison = expect_bound(input)?;
        return Ok(Bound::Compare(comparison, limit(input, measure)?.value));
    }
    let centre = limit(input, measure)?;
    expect(input, alt(("+-", "±")), "`+-`", "write: within 11 +- 1.5")?;
    let tolerance = limit(input, measure)?;
    tolerance.check_tolerance_of(&centre)?;
    Ok(Bound::Within { centre: centre.value, tolerance: tolerance.value })
}

fn expect_bound(input: &mut Input<'_>) -> Parsed<Comparison> {
    let help = "write `<= 2` (or <, >=, >, ==), or `within 11 +- 1.5`";
    comparison(input).map_err(|slip| {
        let message = slip.message.replace("a comparison", "a comparison or `within`");
        Slip { message, help: help.to_owned(), ..slip }
    })
}

/// A number to compare the measure with.
fn limit<'s>(input: &mut Input<'s>, measure: &Measure) -> Parsed<Quantity<'s>> {
    let limit = quantity(input)?;
    match (measure, limit.unit) {
        (Measure::Aggregate { .. }, _) | (_, Unit::Seconds) => Ok(limit),
        (_, Unit::None) => {
            let text = limit.text;
            let message = format!("time_to(...) is compared with a time; `{text}` needs a unit");
            Err(Slip::new(limit.offset, message, format!("such as {text}s")))
        }
        _ => {
            let message = format!("time_to(...) is compared with a time; `{}` is none", limit.text);
            Err(Slip::new(limit.offset, message, "write a time, such as 15s"))
        }
    }
}
