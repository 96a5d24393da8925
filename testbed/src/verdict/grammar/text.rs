//! Sentences as text.

use super::{Aggregate, Bound, Comparison, Measure, Sentence};
use std::fmt;
use testbed_core::time::Nanos;
use testbed_core::vitals::Unit;

/// A bound, its numbers as `number` writes them.
fn bound(bound: &Bound, number: impl Fn(f64) -> String) -> String {
    match *bound {
        Bound::Compare(comparison, limit) => format!("{comparison} {}", number(limit)),
        Bound::Within { centre, tolerance } => {
            format!("within {} +- {}", number(centre), number(tolerance))
        }
    }
}

/// A value in base units, as people read it: `14.3ms` for 0.0143 seconds, up to four decimals.
pub fn in_unit(value: f64, unit: Unit) -> String {
    let text = format!("{value:.4}");
    let short = text.trim_end_matches('0').trim_end_matches('.');
    match unit {
        Unit::Seconds if value >= 0.0 => Nanos::from_secs_f64(value).to_string(),
        Unit::PerSecond => format!("{short}/s"),
        Unit::Bytes => format!("{short}B"),
        Unit::BytesPerSecond => format!("{short}B/s"),
        Unit::Seconds | Unit::Ratio | Unit::Requests | Unit::Count => short.to_owned(),
    }
}

impl Bound {
    /// The bound as people read it, for values of this unit: `<= 15s`.
    pub fn in_unit(&self, unit: Unit) -> String {
        bound(self, |value| in_unit(value, unit))
    }
}

impl fmt::Display for Sentence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.measure {
            Measure::Aggregate { .. } => write!(f, "{} {}", self.measure, self.bound),
            Measure::TimeTo { .. } => {
                let bound = bound(&self.bound, |seconds| format!("{seconds}s"));
                write!(f, "{} {bound}", self.measure)
            }
        }
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
        f.write_str(&bound(self, |value| value.to_string()))
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
