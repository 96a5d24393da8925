//! How fast a link carries bytes, as people write it: `100kB/s`, or `0B/s` for not at all.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::borrow::Cow;
use testbed_core::limit::quantity::{Bytes, parse_bytes};
use testbed_core::time::Nanos;

const CURE: &str = "write bytes per second, such as 100kB/s; 0B/s stalls the link";
const NANOS_A_SECOND: u128 = 1_000_000_000;

/// Bytes per second; unlike a limiter's rate it may be zero, at which a link stalls.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct LinkRate(u64);

impl LinkRate {
    /// Nothing passes.
    pub const ZERO: Self = Self(0);

    /// A rate of `bytes` per second.
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// Bytes per second.
    pub const fn per_second(self) -> u64 {
        self.0
    }

    /// How long `bytes` take, rounded up; [`Nanos::MAX`] if they never pass.
    pub fn time_for(self, bytes: u64) -> Nanos {
        if self.0 == 0 {
            return Nanos::MAX;
        }
        let ns = (u128::from(bytes) * NANOS_A_SECOND).div_ceil(self.0.into());
        Nanos::new(ns.try_into().unwrap_or(u64::MAX))
    }
}

/// Reads a rate such as `100kB/s`, to the nearest byte per second.
fn parse(text: &str) -> Result<LinkRate, String> {
    let size = text.trim().strip_suffix('s').and_then(|text| text.trim_end().strip_suffix('/'));
    let size = size.and_then(|size| parse_bytes(size).ok());
    size.map(|size| LinkRate(size.get())).ok_or_else(|| format!("`{text}` is not a rate; {CURE}"))
}

impl<'de> Deserialize<'de> for LinkRate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        parse(&text).map_err(de::Error::custom)
    }
}

impl Serialize for LinkRate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format!("{}/s", Bytes::new(self.0)))
    }
}

impl JsonSchema for LinkRate {
    fn schema_name() -> Cow<'static, str> {
        "LinkRate".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "pattern": r"^[0-9]+(\.[0-9]+)?\s*(B|KiB|MiB|GiB|kB|MB|GB)\s*/\s*s$",
            "description": CURE,
            "examples": ["100kB/s"],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_reads_and_writes_with_its_unit_and_may_be_zero() {
        for (text, bytes, written) in [
            ("100kB/s", 100_000, "100000B/s"),
            ("0B/s", 0, "0B/s"),
            ("1 MiB / s", 1 << 20, "1MiB/s"),
        ] {
            let rate: LinkRate = serde_yaml::from_str(text).unwrap();
            assert_eq!(rate.per_second(), bytes, "{text}");
            assert_eq!(serde_json::to_value(rate).unwrap(), written);
        }
        for wrong in ["100", "100kB", "100kB/m", "-1B/s"] {
            let error = serde_yaml::from_str::<LinkRate>(wrong).unwrap_err().to_string();
            assert!(error.contains("100kB/s"), "{error}");
        }
    }

    #[test]
    fn bytes_take_their_ideal_time_rounded_up() {
        for (rate, bytes, ns) in [
            (1_000, 1, 1_000_000),
            (3, 1, 333_333_334),
            (1, 0, 0),
            (u64::MAX, u64::MAX, 1_000_000_000),
            (1, u64::MAX, u64::MAX),
            (0, 1, u64::MAX),
        ] {
            assert_eq!(LinkRate::new(rate).time_for(bytes), Nanos::new(ns), "{bytes} at {rate}");
        }
    }
}
