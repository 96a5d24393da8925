//! Sentences and expressions as text.

use crate::verdict::grammar::{
    Claim, Clause, Condition, Expression, Limit, Measure, Number, Operand, Operator, Response,
    Sentence, Watch, What, When,
};
use std::fmt;
use testbed_core::time::Nanos;

impl fmt::Display for Sentence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let together = |clauses: &Vec<Clause>| joined(clauses, " and ");
        f.write_str(&self.alternatives.iter().map(together).collect::<Vec<_>>().join(" or "))
    }
}

fn joined(parts: &[impl ToString], by: &str) -> String {
    parts.iter().map(ToString::to_string).collect::<Vec<_>>().join(by)
}

impl fmt::Display for Clause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Claim(claim) => claim.fmt(f),
            Self::Watch(watch) => watch.fmt(f),
        }
    }
}

impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Of a plain sentence the unit is known without saying so.
        let number = |limit: &Expression| match (self.plain(), limit.number()) {
            (Some(measure), Some(number)) if measure.is_time() => format!("{}s", number.value),
            (Some(_), Some(number)) => number.value.to_string(),
            _ => limit.to_string(),
        };
        write!(f, "{} {}", self.left, self.limit.with(number))
    }
}

impl Limit {
    /// The limit with its sides as `side` writes them.
    fn with(&self, side: impl Fn(&Expression) -> String) -> String {
        match self {
            Self::Compare(comparison, limit) => format!("{comparison} {}", side(limit)),
            Self::Within { centre, tolerance } => {
                format!("within {} +- {}", side(centre), side(tolerance))
            }
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.with(ToString::to_string))
    }
}

impl Measure {
    /// Whether it is a length of time, whatever the series.
    pub const fn is_time(&self) -> bool {
        matches!(
            self,
            Self::TimeTo { .. }
                | Self::Settling { .. }
                | Self::Response { .. }
                | Self::Convergence { .. }
        )
    }
}

impl fmt::Display for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.when, self.condition)
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { left, comparison, right, lasting } = self;
        write!(f, "{left} {comparison} {right}")?;
        if *lasting > Nanos::ZERO {
            write!(f, " for {}s", lasting.as_secs_f64())?;
        }
        Ok(())
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Operand(operand) => operand.fmt(f),
            Self::Of { left, operator, right } => {
                let of = operator.rank();
                // From left to right: what stands right needs parentheses at equal rank, too.
                let (left, right) = (left.within(of), right.within(of + 1));
                write!(f, "{left} {operator} {right}")
            }
        }
    }
}

impl Expression {
    /// The expression as a part of one of this rank.
    fn within(&self, rank: u8) -> String {
        match self {
            Self::Of { operator, .. } if operator.rank() < rank => format!("({self})"),
            _ => self.to_string(),
        }
    }
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.what {
            What::Number(number) => number.fmt(f),
            What::Measure(measure) => measure.fmt(f),
            What::Series(series) => f.write_str(series),
        }?;
        self.arm.as_ref().map_or(Ok(()), |arm| write!(f, " of {arm}"))
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.value, self.written.0.map_or("", super::base_unit))
    }
}

impl fmt::Display for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Always => "always",
            Self::Never => "never",
            Self::Eventually => "eventually",
        })
    }
}

impl fmt::Display for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Reaction => "reaction",
            Self::Recovery => "recovery",
        })
    }
}

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Plus => "+",
            Self::Minus => "-",
            Self::Times => "*",
            Self::Over => "/",
        })
    }
}
