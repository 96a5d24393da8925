//! How many of something until it happens, or that it never does.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::borrow::Cow;
use std::fmt;

const CURE: &str = "write a whole number from 1 up, such as 1000, or off";

/// So many until something happens: a whole number from 1 up, or `off` for never.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Countdown {
    /// It never happens.
    Off,
    /// After so many.
    After(u32),
}

impl Countdown {
    /// After how many; `None` for never.
    pub const fn get(self) -> Option<u32> {
        match self {
            Self::Off => None,
            Self::After(count) => Some(count),
        }
    }
}

impl<'de> Deserialize<'de> for Countdown {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct CountOrOff;
        impl de::Visitor<'_> for CountOrOff {
            type Value = Countdown;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(CURE)
            }
            fn visit_u64<E: de::Error>(self, count: u64) -> Result<Countdown, E> {
                let count = u32::try_from(count).ok().filter(|count| *count > 0);
                count.map(Countdown::After).ok_or_else(|| E::custom(CURE))
            }
            fn visit_i64<E: de::Error>(self, count: i64) -> Result<Countdown, E> {
                self.visit_u64(u64::try_from(count).map_err(|_| E::custom(CURE))?)
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Countdown, E> {
                if text == "off" { Ok(Countdown::Off) } else { Err(E::custom(CURE)) }
            }
        }
        deserializer.deserialize_any(CountOrOff)
    }
}

impl Serialize for Countdown {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Off => serializer.serialize_str("off"),
            Self::After(count) => serializer.serialize_u32(*count),
        }
    }
}

impl JsonSchema for Countdown {
    fn schema_name() -> Cow<'static, str> {
        "Countdown".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": ["integer", "string"],
            "minimum": 1,
            "maximum": u32::MAX,
            "pattern": "^off$",
            "description": CURE,
            "examples": [1000],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_countdown_is_a_number_from_1_up_or_off() {
        for (text, count) in [
            ("1000", Some(Countdown::After(1000))),
            ("\"off\"", Some(Countdown::Off)),
            ("0", None),
            ("-1", None),
            ("4294967296", None),
            ("never", None),
        ] {
            assert_eq!(serde_yaml::from_str(text).ok(), count, "{text}");
        }
    }

    #[test]
    fn what_is_written_reads_back_the_same() {
        for countdown in [Countdown::Off, Countdown::After(7)] {
            let text = serde_yaml::to_string(&countdown).unwrap();
            assert_eq!(serde_yaml::from_str::<Countdown>(&text).unwrap(), countdown, "{text}");
        }
    }
}
