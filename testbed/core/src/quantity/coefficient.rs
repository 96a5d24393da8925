//! A number from 0 to 1 by which a law multiplies.

use super::{Share, parse_share};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::borrow::Cow;
use std::fmt;

const CURE: &str = "write a number from 0 to 1, such as 0.9, or the same as a share, 90%";

/// A number from 0 to 1, written as papers write it (`0.9`) or as a share (`90%`).
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug)]
pub struct Coefficient(Share);

impl Coefficient {
    /// So many hundredths, 100 at most.
    pub const fn percent(percent: u8) -> Self {
        Self(Share::percent(percent))
    }

    /// The number, from 0 to 1.
    pub const fn get(self) -> f64 {
        self.0.get()
    }
}

impl<'de> Deserialize<'de> for Coefficient {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NumberOrShare;
        impl de::Visitor<'_> for NumberOrShare {
            type Value = Share;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(CURE)
            }
            fn visit_f64<E: de::Error>(self, number: f64) -> Result<Share, E> {
                Share::new(number).ok_or_else(|| E::custom(format!("`{number}`: {CURE}")))
            }
            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Share, E> {
                self.visit_f64(number as f64)
            }
            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Share, E> {
                self.visit_f64(number as f64)
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Share, E> {
                parse_share(text).map_err(|_| E::custom(format!("`{text}`: {CURE}")))
            }
        }
        deserializer.deserialize_any(NumberOrShare).map(Self)
    }
}

impl Serialize for Coefficient {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.get())
    }
}

impl JsonSchema for Coefficient {
    fn schema_name() -> Cow<'static, str> {
        "Coefficient".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": ["number", "string"],
            "minimum": 0,
            "maximum": 1,
            "pattern": r"^([0-9]|[1-9][0-9]|100)(\.[0-9]+)?\s*%$",
            "description": CURE,
            "examples": [0.9],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_coefficient_is_bare_or_a_share_and_from_0_to_1() {
        for (text, value) in [
            ("0.9", Some(0.9)),
            ("90%", Some(0.9)),
            ("1", Some(1.0)),
            ("0", Some(0.0)),
            ("1.1", None),
            ("-1", None),
            ("101%", None),
            ("most", None),
        ] {
            let read = serde_yaml::from_str::<Coefficient>(text).ok();
            assert_eq!(read.map(Coefficient::get), value, "{text}");
        }
    }

    #[test]
    fn what_is_written_reads_back_the_same() {
        for percent in [0, 7, 90, 100] {
            let coefficient = Coefficient::percent(percent);
            let text = serde_yaml::to_string(&coefficient).unwrap();
            assert_eq!(serde_yaml::from_str::<Coefficient>(&text).unwrap(), coefficient, "{text}");
        }
    }
}
