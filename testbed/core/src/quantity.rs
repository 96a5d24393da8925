//! Quantities as people write them: a number with a unit (`14.3ms`, `2000/s`, `70%`).
//!
//! The types here are what experiment files hold. They refuse a bare number, because `10` is the
//! mistake that costs an afternoon, and their messages name the cure. Only a [`Coefficient`] may be
//! bare: it has no unit, and papers write it so.

mod coefficient;
mod countdown;

pub use coefficient::Coefficient;
pub use countdown::Countdown;

use crate::time::Nanos;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::borrow::Cow;
use std::fmt;

const DURATION_CURE: &str = "write a number with a unit: ns, us, ms, s, m or h, such as 250ms";
const RATE_CURE: &str = "write a number per second or minute, such as 1000/s";
const SHARE_CURE: &str = "write a share from 0% to 100%, such as 70%";

/// Events per second; finite and above zero.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug)]
pub struct Rate(f64);

/// A share of a whole, from 0 (none) to 1 (all).
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug)]
pub struct Share(f64);

impl Rate {
    /// One event a second.
    pub const ONE: Self = Self(1.0);

    /// A rate of `per_second` events a second; `None` unless finite and above zero.
    pub fn per_second(per_second: f64) -> Option<Self> {
        (per_second.is_finite() && per_second > 0.0).then_some(Self(per_second))
    }

    /// Events per second.
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl Share {
    /// The whole.
    pub const ALL: Self = Self(1.0);
    /// Nothing of it.
    pub const NONE: Self = Self(0.0);

    /// So many hundredths, 100 at most.
    pub const fn percent(percent: u8) -> Self {
        Self(if percent < 100 { percent as f64 / 100.0 } else { 1.0 })
    }

    /// A share; `None` unless within 0 to 1.
    pub fn new(share: f64) -> Option<Self> {
        (0.0..=1.0).contains(&share).then_some(Self(share))
    }

    /// The share, from 0 to 1.
    pub const fn get(self) -> f64 {
        self.0
    }
}

/// Splits `14.3ms` into 14.3 and `ms`. `None` if there is no finite number >= 0 in front.
pub fn split_number(text: &str) -> Option<(f64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let number: f64 = text[..end].parse().ok()?;
    number.is_finite().then(|| (number, text[end..].trim_start()))
}

/// Nanoseconds in one of a unit of time; `None` for an unknown unit.
pub fn unit_nanos(unit: &str) -> Option<f64> {
    Some(match unit {
        "ns" => 1.0,
        "us" | "µs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "m" | "min" => 60e9,
        "h" => 3600e9,
        _ => return None,
    })
}

/// Reads a length of time such as `250ms`.
///
/// # Errors
/// A message that names the cure, when the unit is missing or unknown.
pub fn parse_duration(text: &str) -> Result<Nanos, String> {
    split_number(text.trim())
        .and_then(|(number, unit)| Some(libm::round(number * unit_nanos(unit)?)))
        .map(|ns| Nanos::new(ns as u64))
        .ok_or_else(|| format!("`{text}` is not a duration; {DURATION_CURE}"))
}

/// Reads a rate such as `1000/s` or `60/m`.
///
/// # Errors
/// A message that names the cure, when it is not a number above zero per unit of time.
pub fn parse_rate(text: &str) -> Result<Rate, String> {
    split_number(text.trim())
        .and_then(|(number, unit)| {
            let per = unit_nanos(unit.strip_prefix('/')?.trim())?;
            Rate::per_second(number * 1e9 / per)
        })
        .ok_or_else(|| format!("`{text}` is not a rate; {RATE_CURE}"))
}

/// Reads a share such as `70%`.
///
/// # Errors
/// A message that names the cure, when it is not a percentage from 0 to 100.
pub fn parse_share(text: &str) -> Result<Share, String> {
    split_number(text.trim())
        .filter(|(_, unit)| *unit == "%")
        .and_then(|(number, _)| Share::new(number / 100.0))
        .ok_or_else(|| format!("`{text}` is not a share; {SHARE_CURE}"))
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/s", self.0)
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = format!("{:.6}", self.0 * 100.0);
        write!(f, "{}%", percent.trim_end_matches('0').trim_end_matches('.'))
    }
}

/// Writes serde and schema support for a quantity that is text in a file. What it uses of serde and
/// schemars is imported where it is called.
macro_rules! text_quantity {
    ($Type:ty, $name:literal, $parse:path, $write:expr, $pattern:literal, $cure:expr, $example:literal) => {
        impl<'de> Deserialize<'de> for $Type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Text;
                impl de::Visitor<'_> for Text {
                    type Value = $Type;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str($cure)
                    }
                    fn visit_str<E: de::Error>(self, text: &str) -> Result<$Type, E> {
                        $parse(text).map_err(E::custom)
                    }
                }
                deserializer.deserialize_str(Text)
            }
        }

        impl Serialize for $Type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&$write(self))
            }
        }

        impl JsonSchema for $Type {
            fn schema_name() -> Cow<'static, str> {
                $name.into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({
                    "type": "string",
                    "pattern": $pattern,
                    "description": $cure,
                    "examples": [$example],
                })
            }
        }
    };
}

pub(crate) use text_quantity;

/// A length without loss: whole nanoseconds in the largest unit that divides them.
fn exact_duration(length: &Nanos) -> String {
    let ns = length.get();
    let (unit, per) = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)]
        .into_iter()
        .find(|(_, per)| ns.is_multiple_of(*per))
        .unwrap_or(("ns", 1));
    format!("{}{unit}", ns / per)
}

text_quantity!(
    Nanos,
    "Duration",
    parse_duration,
    exact_duration,
    r"^[0-9]+(\.[0-9]+)?\s*(ns|us|µs|ms|s|m|min|h)$",
    DURATION_CURE,
    "250ms"
);
text_quantity!(
    Rate,
    "Rate",
    parse_rate,
    ToString::to_string,
    r"^[0-9]+(\.[0-9]+)?\s*/\s*(ns|us|µs|ms|s|m|min|h)$",
    RATE_CURE,
    "1000/s"
);
text_quantity!(
    Share,
    "Share",
    parse_share,
    ToString::to_string,
    r"^([0-9]|[1-9][0-9]|100)(\.[0-9]+)?\s*%$",
    SHARE_CURE,
    "70%"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_need_a_unit() {
        for (text, ns) in [
            ("250ms", Some(250_000_000)),
            ("14.3ms", Some(14_300_000)),
            ("100 us", Some(100_000)),
            ("1.5h", Some(5_400_000_000_000)),
            ("10", None),
            ("ten ms", None),
            ("10 parsecs", None),
            ("-1s", None),
            ("", None),
            ("1.2.3s", None),
        ] {
            assert_eq!(parse_duration(text).ok(), ns.map(Nanos::new), "{text}");
        }
        assert!(parse_duration("10").unwrap_err().contains("250ms"));
    }

    #[test]
    fn rates_and_shares_know_their_range() {
        assert_eq!(parse_rate("1000/s").unwrap().get(), 1000.0);
        assert_eq!(parse_rate("60/m").unwrap().get(), 1.0);
        assert!(parse_rate("0/s").is_err());
        assert!(parse_rate("1000").is_err());
        assert_eq!(parse_share("70%").unwrap().get(), 0.7);
        assert!(parse_share("101%").is_err());
        assert!(parse_share("0.7").is_err());
    }

    #[test]
    fn what_is_written_reads_back_the_same() {
        for ns in [0, 1, 999, 14_300_000, 40_000_000, 26_000_000_000, 1_234_567_891] {
            let text = serde_yaml::to_string(&Nanos::new(ns)).unwrap();
            assert_eq!(serde_yaml::from_str::<Nanos>(&text).unwrap(), Nanos::new(ns), "{text}");
        }
        for text in ["0%", "1.3%", "70%", "100%"] {
            assert_eq!(parse_share(text).unwrap().to_string(), text);
        }
    }
}
