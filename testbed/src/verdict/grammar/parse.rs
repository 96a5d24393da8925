//! From text to sentence.

mod measure;
mod quantity;
mod written;

pub use written::{Written, WrittenUnit, written};

use super::{Bound, Comparison, GrammarError, Measure, Sentence};
use measure::measure;
use quantity::{Quantity, quantity};
use winnow::ascii::multispace0;
use winnow::combinator::{alt, eof};
use winnow::error::ParserError;
use winnow::stream::Location;
use winnow::token::take_while;
use winnow::{LocatingSlice, Parser};

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
    match measure {
        // A series may have any unit, and which one is known only with the arm.
        Measure::Aggregate { .. } => {}
        Measure::TimeTo { .. } => limit.check_time()?,
        Measure::OverFifo(_) | Measure::Jain | Measure::ZeroProgress { .. } => {
            limit.check_plain(measure)?;
        }
    }
    Ok(limit)
}
