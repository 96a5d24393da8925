//! Arithmetic over what was observed.

use super::{Evidence, Observed, Scope, evaluate};
use crate::verdict::grammar::{Comparison, Expression, Operand, Operator, What};

/// The least and the greatest that a number can be: equal, if it is known.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Range {
    /// The least.
    pub low: f64,
    /// The greatest.
    pub high: f64,
}

/// Why an expression comes to nothing: in words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unknown(pub String);

impl Observed {
    /// Where the number lies; `None` if nothing is known of it.
    pub fn range(self) -> Option<Range> {
        match self {
            Self::Value(value) => Some(Range::exactly(value)),
            // More than was watched, however little.
            Self::NotWithin(watched) => Some(Range { low: watched.next_up(), high: f64::INFINITY }),
            Self::Infinite => Some(Range::exactly(f64::INFINITY)),
            Self::Nothing => None,
        }
    }
}

impl Range {
    /// A number that is known.
    pub const fn exactly(value: f64) -> Self {
        Self { low: value, high: value }
    }

    /// The number, if it is known.
    pub fn value(self) -> Option<f64> {
        (self.low == self.high).then_some(self.low)
    }

    /// Whether the comparison is true whatever the two numbers are.
    pub fn compares(self, comparison: Comparison, other: Self) -> bool {
        match comparison {
            Comparison::Less | Comparison::LessOrEqual => comparison.holds(self.high, other.low),
            Comparison::Greater | Comparison::GreaterOrEqual => {
                comparison.holds(self.low, other.high)
            }
            Comparison::Equal => {
                comparison.holds(self.low, other.high) && comparison.holds(self.high, other.low)
            }
        }
    }

    /// The range of what comes of it: its ends are at ends of the two. `None` for a division by what may be
    /// 0, and for what has no value, such as infinity minus infinity.
    fn apply(self, operator: Operator, other: Self) -> Option<Self> {
        if operator == Operator::Over && other.low <= 0.0 && other.high >= 0.0 {
            return None;
        }
        let ends = [self.low, self.high]
            .map(|left| [other.low, other.high].map(|right| operator.apply(left, right)));
        let ends = ends.concat();
        let any_nan = ends.iter().any(|end| end.is_nan());
        let low = ends.iter().copied().fold(f64::INFINITY, f64::min);
        let high = ends.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        (!any_nan).then_some(Self { low, high })
    }
}

/// What an expression without series comes to.
///
/// # Errors
/// If one of its measures has no value, or arithmetic has none.
pub fn value(
    evidence: &Evidence<'_>,
    scope: Scope,
    expression: &Expression,
) -> Result<Range, Unknown> {
    match expression {
        Expression::Operand(operand) => operand_value(evidence, scope, operand),
        Expression::Of { left, operator, right } => {
            let [left, right] = [value(evidence, scope, left)?, value(evidence, scope, right)?];
            let nothing = || Unknown(format!("`{expression}` has no value: a division by 0"));
            left.apply(*operator, right).ok_or_else(nothing)
        }
    }
}

fn operand_value(
    evidence: &Evidence<'_>,
    scope: Scope,
    operand: &Operand,
) -> Result<Range, Unknown> {
    match &operand.what {
        What::Number(number) => Ok(Range::exactly(number.value)),
        What::Measure(measure) => {
            let observed = evaluate(evidence, evidence.scope(scope, operand.arm.as_ref()), measure);
            let nothing = || Unknown(format!("nothing was recorded for {operand}"));
            observed.range().ok_or_else(nothing)
        }
        What::Series(series) => {
            Err(Unknown(format!("`{series}` has a value at an instant, not over a span")))
        }
    }
}
