//! From text to sentence.

mod expression;
mod limit;
mod measure;
mod quantity;

use super::{
    Claim, Clause, Comparison, Condition, Expression, GrammarError, Sentence, Watch, When,
};
use expression::Names;
use limit::limit;
use quantity::quantity;
use testbed_core::time::Nanos;
use winnow::ascii::multispace0;
use winnow::combinator::{alt, eof, not, terminated};
use winnow::error::ParserError;
use winnow::stream::{Location as _, Stream as _};
use winnow::token::take_while;
use winnow::{LocatingSlice, Parser};

/// Longer sentences are refused; white space does not count.
const CHARACTERS_MAX: usize = 1000;

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

    fn here(input: &Input<'_>, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::new(input.current_token_start(), message, help)
    }
}

/// The error of winnow's own parsers; [`expect`] gives it words.
impl ParserError<Input<'_>> for Slip {
    type Inner = Self;

    fn from_input(input: &Input<'_>) -> Self {
        Self::here(input, "", "")
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
    read(sentence, whole)
}

/// Reads a comparison of series: `rpc.goodput < 100/s for 10s`.
///
/// # Errors
/// As [`parse`].
pub fn condition(text: &str) -> Result<Condition, GrammarError> {
    read(text, |input| {
        let condition = compared(input)?;
        expect(input, eof, "nothing more", "a condition is one comparison of series")?;
        Ok(condition)
    })
}

/// Reads an expression: `mean(rpc.goodput) / mean(oracle.goodput)`.
///
/// # Errors
/// As [`parse`].
pub fn expression(text: &str) -> Result<Expression, GrammarError> {
    read(text, |input| {
        let expression = expression::expression(input, Names::Functions)?;
        let help = "a measure is a number: leave out what it is compared with";
        expect(input, eof, "nothing more", help)?;
        Ok(expression)
    })
}

fn read<T>(
    text: &str,
    parser: impl FnOnce(&mut Input<'_>) -> Parsed<T>,
) -> Result<T, GrammarError> {
    let parsed = match text.chars().filter(|c| !c.is_whitespace()).count() {
        0..=CHARACTERS_MAX => parser(&mut Input::new(text)),
        count => {
            let message = format!("{count} characters are too many; {CHARACTERS_MAX} are allowed");
            Err(Slip::new(0, message, "write several expectations"))
        }
    };
    parsed.map_err(|Slip { offset, message, help }| GrammarError {
        column: column(text, offset),
        message,
        help,
    })
}

/// The column, in characters from 1, of a byte of `text`.
pub fn column(text: &str, offset: usize) -> usize {
    text.get(..offset).unwrap_or(text).chars().count() + 1
}

fn whole(input: &mut Input<'_>) -> Parsed<Sentence> {
    let mut alternatives = vec![vec![clause(input)?]];
    loop {
        if let Some(last) = alternatives.last_mut().filter(|_| keyword(input, "and")) {
            last.push(clause(input)?);
        } else if keyword(input, "or") {
            alternatives.push(vec![clause(input)?]);
        } else {
            break;
        }
    }
    let help =
        "a sentence has one bound; write a second expectation, or join them by `and` or `or`";
    let help = if followed_by_in(input) { ARM_AND_PHASE } else { help };
    expect(input, eof, "nothing more", help)?;
    Ok(Sentence { alternatives })
}

/// What to do in place of `in` in a sentence, as verdicts have it.
const ARM_AND_PHASE: &str = "the phase is the field `in` beside the sentence, and an arm stands behind its series: \
                             last(rpc.ok) of double";

/// Whether the next word is `in`, which no sentence has.
fn followed_by_in(input: &Input<'_>) -> bool {
    let rest: &str = input.as_ref();
    rest.split_whitespace().next() == Some("in")
}

fn clause(input: &mut Input<'_>) -> Parsed<Clause> {
    let words =
        [("always", When::Always), ("never", When::Never), ("eventually", When::Eventually)];
    if let Some((_, when)) = words.into_iter().find(|(word, _)| keyword(input, word)) {
        return watch(input, when).map(Clause::Watch);
    }
    let left = expression::expression(input, Names::Functions)?;
    let limit = limit(input, &left)?;
    Ok(Clause::Claim(Claim { left, limit }))
}

fn watch(input: &mut Input<'_>, when: When) -> Parsed<Watch> {
    let condition = compared(input)?;
    if when == When::Always && condition.lasting > Nanos::ZERO {
        let message = "`always` speaks of every instant; `for` adds nothing to it";
        let help = "leave out the `for`, or write `eventually`";
        return Err(Slip::here(input, message, help));
    }
    Ok(Watch { when, condition })
}

fn compared(input: &mut Input<'_>) -> Parsed<Condition> {
    let left = expression::expression(input, Names::Series)?;
    let comparison = comparison(input)?;
    let right = expression::expression(input, Names::Series)?;
    let lasting = if keyword(input, "for") { lasting(input)? } else { Nanos::ZERO };
    Ok(Condition { left, comparison, right, lasting })
}

fn lasting(input: &mut Input<'_>) -> Parsed<Nanos> {
    let length = quantity(input)?;
    length.check_time("for")?;
    if length.value <= 0.0 {
        let message = format!("`{}` is no length of time", length.text);
        return Err(Slip::new(length.offset, message, "write how long, such as 10s"));
    }
    Ok(Nanos::from_secs_f64(length.value))
}

/// Whether this word stands here; if so, it is taken.
fn keyword(input: &mut Input<'_>, word: &str) -> bool {
    let start = input.checkpoint();
    let ends = not(take_while(1.., in_word));
    let found = expect(input, terminated(word, ends), "", "").is_ok();
    if !found {
        input.reset(&start);
    }
    found
}

const fn in_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-')
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
    let letter = |c: char| c.is_alphanumeric() || in_word(c);
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
