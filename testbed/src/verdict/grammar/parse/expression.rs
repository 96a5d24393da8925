//! Arithmetic: `*` and `/` before `+` and `-`, from left to right.

use super::measure::{measure, regret, series, stands_alone};
use super::quantity::{Quantity, quantity};
use super::{Input, Parsed, Slip, expect, keyword, word};
use crate::verdict::grammar::{Expression, Number, Operand, Operator, Place, What, Written};
use winnow::Parser;
use winnow::combinator::{alt, not, peek, terminated};
use winnow::stream::Stream as _;
use winnow::token::one_of;

/// How deep parentheses may stand in one another.
const DEPTH_MAX: usize = 16;
const CLOSE_HELP: &str = "close the parenthesis: (2 + 3) * 4";

/// What a name without parentheses stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Names {
    /// For a function that is not whole.
    Functions,
    /// For a number that went wrong.
    Limits,
    /// For the value of a series at an instant.
    Series,
}

/// Reads an expression.
pub(super) fn expression(input: &mut Input<'_>, names: Names) -> Parsed<Expression> {
    sum(input, names, 0)
}

fn sum(input: &mut Input<'_>, names: Names, depth: usize) -> Parsed<Expression> {
    let mut left = product(input, names, depth)?;
    while let Some(operator) = plus_or_minus(input) {
        left = of(left, operator, product(input, names, depth)?);
    }
    Ok(left)
}

fn product(input: &mut Input<'_>, names: Names, depth: usize) -> Parsed<Expression> {
    let mut left = part(input, names, depth)?;
    while let Some(operator) = times_or_over(input) {
        left = of(left, operator, part(input, names, depth)?);
    }
    Ok(left)
}

fn of(left: Expression, operator: Operator, right: Expression) -> Expression {
    Expression::Of { left: Box::new(left), operator, right: Box::new(right) }
}

fn part(input: &mut Input<'_>, names: Names, depth: usize) -> Parsed<Expression> {
    if optional(input, '(') {
        return group(input, names, depth + 1);
    }
    if begins_number(input) || (names == Names::Limits && !begins_measure(input)) {
        return quantity(input).map(|quantity| number(&quantity));
    }
    if names == Names::Series && !begins_measure(input) {
        let (offset, name) = series(input)?;
        return Ok(operand(What::Series(name.to_owned()), arm(input)?, offset));
    }
    measured(input)
}

fn measured(input: &mut Input<'_>) -> Parsed<Expression> {
    let start = input.checkpoint();
    let name = word(input, "", "");
    if let Ok((offset, "regret")) = name {
        let [best, got] = regret(input)?;
        let arm = arm(input)?;
        let operand = |measure| operand(What::Measure(measure), arm.clone(), offset);
        return Ok(of(operand(best), Operator::Minus, operand(got)));
    }
    input.reset(&start);
    let measure = measure(input)?;
    let offset = name.map_or(0, |(offset, _)| offset);
    Ok(operand(What::Measure(measure), arm(input)?, offset))
}

/// Whether a function begins here, or a word that stands for one.
fn begins_measure(input: &mut Input<'_>) -> bool {
    let start = input.checkpoint();
    let begins = match word(input, "", "") {
        Ok((_, name)) => stands_alone(name) || peeked(input, '('),
        Err(_) => false,
    };
    input.reset(&start);
    begins
}

fn group(input: &mut Input<'_>, names: Names, depth: usize) -> Parsed<Expression> {
    if depth > DEPTH_MAX {
        let message = format!("more than {DEPTH_MAX} parentheses stand in one another");
        return Err(Slip::here(input, message, "write it with fewer"));
    }
    let inner = sum(input, names, depth)?;
    expect(input, ')', "`)`", CLOSE_HELP)?;
    Ok(inner)
}

/// The arm after `of`, if it stands there.
fn arm(input: &mut Input<'_>) -> Parsed<Option<String>> {
    if !keyword(input, "of") {
        return Ok(None);
    }
    let help = "write the arm behind it: max(controller.window) of double";
    word(input, "the name of an arm", help).map(|(_, name)| Some(name.to_owned()))
}

fn operand(what: What, arm: Option<String>, offset: usize) -> Expression {
    Expression::Operand(Operand { what, arm, place: Place(offset) })
}

/// A number as an expression.
pub(super) fn number(quantity: &Quantity<'_>) -> Expression {
    let number = Number { value: quantity.value, written: Written(quantity.unit) };
    operand(What::Number(number), None, quantity.offset)
}

/// Whether a number begins here.
pub(super) fn begins_number(input: &mut Input<'_>) -> bool {
    peeked(input, one_of(|c: char| c == '-' || c.is_ascii_digit()))
}

/// Whether arithmetic goes on here.
pub(super) fn operator_follows(input: &mut Input<'_>) -> bool {
    let start = input.checkpoint();
    let follows = plus_or_minus(input).is_some() || times_or_over(input).is_some();
    input.reset(&start);
    follows
}

fn plus_or_minus(input: &mut Input<'_>) -> Option<Operator> {
    // `+-` is the mark of a tolerance.
    let plus = terminated('+', not('-')).value(Operator::Plus);
    taken(input, alt((plus, '-'.value(Operator::Minus))))
}

fn times_or_over(input: &mut Input<'_>) -> Option<Operator> {
    taken(input, alt(('*'.value(Operator::Times), '/'.value(Operator::Over))))
}

fn taken<'s, O>(input: &mut Input<'s>, parser: impl Parser<Input<'s>, O, Slip>) -> Option<O> {
    let start = input.checkpoint();
    let found = expect(input, parser, "", "").ok();
    if found.is_none() {
        input.reset(&start);
    }
    found
}

fn optional(input: &mut Input<'_>, symbol: char) -> bool {
    taken(input, symbol).is_some()
}

fn peeked<'s, O>(input: &mut Input<'s>, parser: impl Parser<Input<'s>, O, Slip>) -> bool {
    let start = input.checkpoint();
    let found = taken(input, peek(parser)).is_some();
    input.reset(&start);
    found
}
