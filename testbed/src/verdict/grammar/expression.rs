//! Expressions: numbers, measures and series, and arithmetic over them.

use super::Measure;
use testbed_core::vitals::Unit;

/// Something that comes to a number.
#[derive(Clone, PartialEq, Debug)]
pub enum Expression {
    /// A part that is not divided further.
    Operand(Operand),
    /// Two parts and what is done to them.
    Of {
        /// The left part.
        left: Box<Self>,
        /// What is done.
        operator: Operator,
        /// The right part.
        right: Box<Self>,
    },
}

/// A part of an expression that is not divided further.
#[derive(Clone, PartialEq, Debug)]
pub struct Operand {
    /// What it is.
    pub what: What,
    /// The arm that it is taken from, by name; the one that the expectation speaks of, if none.
    pub arm: Option<String>,
    /// Where it stands.
    pub place: Place,
}

/// What an operand is.
#[derive(Clone, PartialEq, Debug)]
pub enum What {
    /// A number.
    Number(Number),
    /// A number taken from what was recorded.
    Measure(Measure),
    /// The value of a series at the instant in question, by its dotted name.
    Series(String),
}

/// A number as it stands in a sentence.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Number {
    /// In base units; finite.
    pub value: f64,
    /// How it was written.
    pub written: Written,
}

/// The unit in which a number was written; none if it has none. It changes no value, since values are in
/// base units, so numbers that differ in it alone are equal.
#[derive(Clone, Copy, Debug)]
pub struct Written(pub Option<Unit>);

/// The column at which something stands, in characters from 1. Sentences that differ in it alone are equal.
#[derive(Clone, Copy, Debug)]
pub struct Place(pub usize);

/// What is done to two numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operator {
    /// `+`
    Plus,
    /// `-`
    Minus,
    /// `*`
    Times,
    /// `/`
    Over,
}

impl PartialEq for Written {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl PartialEq for Place {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// Of the arm in question, and at the beginning of a sentence.
impl From<Measure> for Expression {
    fn from(measure: Measure) -> Self {
        Self::Operand(Operand { what: What::Measure(measure), arm: None, place: Place(1) })
    }
}

impl Expression {
    /// This done to it and `right`.
    #[must_use]
    pub fn then(self, operator: Operator, right: Self) -> Self {
        Self::Of { left: Box::new(self), operator, right: Box::new(right) }
    }

    /// Itself, if it is not divided further.
    pub fn operand(&self) -> Option<&Operand> {
        match self {
            Self::Operand(operand) => Some(operand),
            Self::Of { .. } => None,
        }
    }

    /// Itself, if it is a number.
    pub fn number(&self) -> Option<Number> {
        match self.operand()?.what {
            What::Number(number) => Some(number),
            What::Measure(_) | What::Series(_) => None,
        }
    }

    /// All operands, from left to right.
    pub fn operands(&self) -> Vec<&Operand> {
        match self {
            Self::Operand(operand) => vec![operand],
            Self::Of { left, right, .. } => [left.operands(), right.operands()].concat(),
        }
    }

    /// Where it begins.
    pub fn place(&self) -> Place {
        match self {
            Self::Operand(operand) => operand.place,
            Self::Of { left, .. } => left.place(),
        }
    }
}

impl Operator {
    /// What comes of it.
    pub fn apply(self, left: f64, right: f64) -> f64 {
        match self {
            Self::Plus => left + right,
            Self::Minus => left - right,
            Self::Times => left * right,
            Self::Over => left / right,
        }
    }

    /// Which goes first: a greater number binds tighter.
    pub(super) const fn rank(self) -> u8 {
        match self {
            Self::Plus | Self::Minus => 1,
            Self::Times | Self::Over => 2,
        }
    }
}
