//! Sizes and byte rates as people write them: `16KiB`, `4MiB/s`.
//!
//! Binary units are powers of 1024 (KiB, MiB, GiB), decimal ones of 1000 (kB, MB, GB). Both types
//! are whole bytes: a bucket counts exactly.

use crate::quantity::{split_number, text_quantity};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::borrow::Cow;
use std::fmt;

const BYTES_CURE: &str =
    "write a number with a unit: B, KiB, MiB, GiB, kB, MB or GB, such as 16KiB";
const BYTE_RATE_CURE: &str = "write bytes per second, 1B/s or more, such as 4MiB/s";

/// A size in whole bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Bytes(u64);

/// Whole bytes per second, from 1 to 2^60.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ByteRate(u64);

impl Bytes {
    /// A size of `bytes`.
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// A size of `kib` times 1024 bytes.
    pub const fn from_kib(kib: u64) -> Self {
        Self(kib.saturating_mul(1024))
    }

    /// The size in bytes.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl ByteRate {
    /// The highest rate, 2^60 bytes per second: at it, 584 years of tokens still fit into the
    /// bucket's arithmetic.
    pub const MAX: Self = Self(1 << 60);

    /// A rate of `bytes` per second; `None` unless within 1 to [`ByteRate::MAX`].
    pub const fn per_second(bytes: u64) -> Option<Self> {
        if bytes == 0 || bytes > Self::MAX.0 { None } else { Some(Self(bytes)) }
    }

    /// Bytes per second.
    pub const fn get(self) -> u64 {
        self.0
    }
}

/// Bytes in one of a unit of size; `None` for an unknown unit.
fn unit_bytes(unit: &str) -> Option<f64> {
    UNITS.iter().find(|(name, _)| *name == unit).map(|(_, bytes)| *bytes as f64)
}

const UNITS: [(&str, u64); 7] = [
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("kB", 1_000),
    ("B", 1),
];

fn whole_bytes(text: &str) -> Option<u64> {
    let (number, unit) = split_number(text.trim())?;
    Some(libm::round(number * unit_bytes(unit)?) as u64)
}

/// Reads a size such as `16KiB`, to the nearest byte.
///
/// # Errors
/// A message that names the cure, when the unit is missing or unknown.
pub fn parse_bytes(text: &str) -> Result<Bytes, String> {
    whole_bytes(text).map(Bytes).ok_or_else(|| format!("`{text}` is not a size; {BYTES_CURE}"))
}

/// Reads a rate such as `4MiB/s`, to the nearest byte per second.
///
/// # Errors
/// A message that names the cure, when it is not a size above zero per second.
pub fn parse_byte_rate(text: &str) -> Result<ByteRate, String> {
    text.trim()
        .strip_suffix('s')
        .and_then(|text| whole_bytes(text.trim_end().strip_suffix('/')?))
        .and_then(ByteRate::per_second)
        .ok_or_else(|| format!("`{text}` is not a byte rate; {BYTE_RATE_CURE}"))
}

impl fmt::Display for Bytes {
    /// Without loss: a whole number of the largest binary unit that divides it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let divides = |(unit, bytes): &&(&str, u64)| {
            unit.contains('i') && self.0 >= *bytes && self.0.is_multiple_of(*bytes)
        };
        let (unit, bytes) = UNITS.iter().find(divides).unwrap_or(&("B", 1));
        write!(f, "{}{unit}", self.0 / bytes)
    }
}

impl fmt::Display for ByteRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/s", Bytes(self.0))
    }
}

text_quantity!(
    Bytes,
    "Bytes",
    parse_bytes,
    ToString::to_string,
    r"^[0-9]+(\.[0-9]+)?\s*(B|KiB|MiB|GiB|kB|MB|GB)$",
    BYTES_CURE,
    "16KiB"
);
text_quantity!(
    ByteRate,
    "ByteRate",
    parse_byte_rate,
    ToString::to_string,
    r"^[0-9]+(\.[0-9]+)?\s*(B|KiB|MiB|GiB|kB|MB|GB)\s*/\s*s$",
    BYTE_RATE_CURE,
    "4MiB/s"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_rates_need_a_unit() {
        for (text, bytes) in [
            ("16KiB", Some(16_384)),
            ("1.5 MiB", Some(1_572_864)),
            ("2MB", Some(2_000_000)),
            ("65535B", Some(65_535)),
            ("0B", Some(0)),
            ("16", None),
            ("16kib", None),
            ("-1B", None),
        ] {
            assert_eq!(parse_bytes(text).ok().map(Bytes::get), bytes, "{text}");
        }
        assert_eq!(parse_byte_rate("4MiB/s").unwrap().get(), 4 << 20);
        assert_eq!(parse_byte_rate("1 MB / s").unwrap().get(), 1_000_000);
        for wrong in ["0B/s", "4MiB", "4MiB/m", "0.1B/s", "/s"] {
            assert!(parse_byte_rate(wrong).unwrap_err().contains("4MiB/s"), "{wrong}");
        }
    }

    #[test]
    fn what_is_written_reads_back_the_same() {
        for bytes in [0, 1, 1000, 1024, 16_384, 65_535, 4 << 20, 3 << 30, (1 << 53) - 1] {
            let text = Bytes(bytes).to_string();
            assert_eq!(parse_bytes(&text), Ok(Bytes(bytes)), "{text}");
        }
    }
}
