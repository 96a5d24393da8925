//! Sentences as text.

use super::{Aggregate, Bound, Comparison, Measure, Sentence};
use std::fmt;

/// A bound whose numbers carry a unit.
pub(super) fn bound(bound: &Bound, unit: &str) -> String {
    match bound {
        Bound::Compare(comparison, limit) => format!("{comparison} {limit}{unit}"),
        Bound::Within { centre, tolerance } => {
            format!("within {centre}{unit} +- {tolerance}{unit}")
        }
    }
}

impl fmt::Display for Sentence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.measure, self.limit())
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Aggregate { aggregate, series } => write!(f, "{aggregate}({series})"),
            Self::TimeTo { series, comparison, value } => {
                write!(f, "time_to({series} {comparison} {value})")
            }
        }
    }
}

impl fmt::Display for Aggregate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Max => f.write_str("max"),
            Self::Min => f.write_str("min"),
            Self::Mean => f.write_str("mean"),
            Self::Last => f.write_str("last"),
            Self::Percentile(percent) => write!(f, "p{percent}"),
        }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&bound(self, ""))
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
            Self::Equal => "==",
        })
    }
}
