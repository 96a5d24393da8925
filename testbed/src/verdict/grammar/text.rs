//! Measures, bounds and values as text.

mod sentence;
mod writing;

pub use writing::Writing;

use super::{Aggregate, Bound, Comparison, GRANTED, Measure, WAIT};
use crate::digits::{decimals, fixed};
use std::fmt;
use testbed_core::limit::quantity::Bytes;
use testbed_core::time::Nanos;
use testbed_core::vitals::Unit;

const KIB: f64 = 1024.0;
const MIB: f64 = 1024.0 * KIB;
const GIB: f64 = 1024.0 * MIB;

/// A value in base units, as people read it: `14.3ms` for 0.0143 seconds. Up to four decimals, and more where there
/// would be fewer than three significant digits: `0.00123/s`.
pub fn in_unit(value: f64, unit: Unit) -> String {
    let short = fixed(value, decimals(value, 3).max(4));
    match unit {
        Unit::Seconds if value >= 0.0 => Nanos::from_secs_f64(value).to_string(),
        Unit::PerSecond => format!("{short}/s"),
        Unit::Bytes => size(value),
        Unit::BytesPerSecond => format!("{}/s", size(value)),
        Unit::Seconds | Unit::Ratio | Unit::Requests | Unit::Count => short,
    }
}

/// Bytes as people read them. Decimals say that it is rounded: `16KiB` is exact, `16.0001KiB` not.
fn size(bytes: f64) -> String {
    let sign = if bytes < 0.0 { "-" } else { "" };
    let bytes = bytes.abs();
    let (unit, per_unit) = match bytes {
        GIB.. => ("GiB", GIB),
        MIB.. => ("MiB", MIB),
        KIB.. => ("KiB", KIB),
        _ => ("B", 1.0),
    };
    let exact = bytes % per_unit.min(KIB) == 0.0;
    if exact {
        format!("{sign}{}", Bytes::new(bytes as u64))
    } else {
        format!("{sign}{:.4}{unit}", bytes / per_unit)
    }
}

/// What stands behind a value in base units.
const fn base_unit(unit: Unit) -> &'static str {
    match unit {
        Unit::Seconds => "s",
        Unit::PerSecond => "/s",
        Unit::Bytes => "B",
        Unit::BytesPerSecond => "B/s",
        Unit::Ratio | Unit::Requests | Unit::Count => "",
    }
}

impl Bound {
    /// The bound with its numbers as `number` writes them.
    fn with(&self, number: impl Fn(f64) -> String) -> String {
        match *self {
            Self::Compare(comparison, limit) => format!("{comparison} {}", number(limit)),
            Self::Within { centre, tolerance } => {
                format!("within {} +- {}", number(centre), number(tolerance))
            }
        }
    }

    /// The bound as people read it: `<= 15s`.
    pub fn written(&self, writing: Writing) -> String {
        self.with(|value| writing.text(value))
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Aggregate { aggregate, series } => write!(f, "{aggregate}({series})"),
            Self::TimeTo { series, comparison, value } => {
                write!(f, "time_to({series} {comparison} {})", value.value)
            }
            Self::OverFifo(aggregate) => write!(f, "{aggregate}({WAIT}) / fifo"),
            Self::Jain => write!(f, "jain({GRANTED} by waiter)"),
            Self::ZeroProgress { rounds } => {
                let plural = if *rounds == 1.0 { "" } else { "s" };
                write!(f, "zero_progress({rounds} round{plural})")
            }
            Self::Settling { series, band } => write!(f, "settling({series}, band={band})"),
            Self::Response { response, series, fault, band } => {
                write!(f, "{response}({series}, fault={fault}, band={band})")
            }
            Self::Error { series, target } => write!(f, "error({series}, to={target})"),
            Self::Convergence { series, target, band, lasting } => {
                let seconds = lasting.as_secs_f64();
                write!(f, "convergence({series}, to={target}, band={band}, for={seconds}s)")
            }
            Self::Increase { series, while_series, below } => {
                write!(f, "increase({series}, while={while_series}, below={below})")
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
            Self::Count => f.write_str("count"),
            Self::Sum => f.write_str("sum"),
            Self::Stddev => f.write_str("stddev"),
            Self::Rate => f.write_str("rate"),
            Self::Slope => f.write_str("slope"),
            Self::Overshoot => f.write_str("overshoot"),
            Self::Oscillation => f.write_str("oscillation"),
        }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.with(|value| value.to_string()))
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
