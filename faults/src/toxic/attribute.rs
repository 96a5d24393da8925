//! Attributes as Toxiproxy's HTTP API has them: whole numbers, each in a unit of its own.

use super::LinkRate;
use serde_json::{Map, Value};
use testbed_core::limit::quantity::Bytes;
use testbed_core::time::Nanos;
use thiserror::Error;

/// The longest time that an attribute may have. A byte promised for later would outlive every run.
pub const LONGEST: Nanos = Nanos::from_secs(24 * 3600);

/// Why attributes were refused; the text is a reason to answer a caller with.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum AttributeError {
    /// There is no kind of this name.
    #[error("invalid toxic type")]
    UnknownKind,
    /// An attribute is something else than a whole number of 64 bits.
    #[error("attribute `{attribute}` must be a whole number")]
    NotAnInteger {
        /// Its name.
        attribute: &'static str,
    },
    /// No toxic can do what an attribute asks for.
    #[error("attribute `{attribute}` {reason}")]
    Impossible {
        /// Its name.
        attribute: &'static str,
        /// What it has to be.
        reason: &'static str,
    },
}

/// One attribute of a toxic, with the unit that the API counts it in.
#[derive(Debug)]
pub(crate) enum Attribute<'a> {
    /// A time in milliseconds.
    Millis(&'a mut Nanos),
    /// A time in microseconds.
    Micros(&'a mut Nanos),
    /// A size in bytes.
    Size(&'a mut Bytes),
    /// A rate in units of 1000 bytes a second.
    Rate(&'a mut LinkRate),
}

/// The attributes of one toxic by name, in Toxiproxy's order.
pub(crate) type Attributes<'a> = Vec<(&'static str, Attribute<'a>)>;

impl Attribute<'_> {
    /// The number that the API shows: rounded to the nearest, for files are more precise than it.
    fn read(&self) -> u64 {
        match self {
            Self::Millis(time) => rounded(time.get(), 1_000_000),
            Self::Micros(time) => rounded(time.get(), 1_000),
            Self::Size(size) => size.get(),
            Self::Rate(rate) => rounded(rate.per_second(), 1_000),
        }
    }

    fn write(&mut self, number: u64) {
        match self {
            Self::Millis(time) => **time = Nanos::from_millis(number),
            Self::Micros(time) => **time = Nanos::from_micros(number),
            Self::Size(size) => **size = Bytes::new(number),
            Self::Rate(rate) => **rate = LinkRate::new(number.saturating_mul(1_000)),
        }
    }

    fn is_too_long(&self) -> bool {
        match self {
            Self::Millis(time) | Self::Micros(time) => **time > LONGEST,
            Self::Size(_) | Self::Rate(_) => false,
        }
    }
}

const fn rounded(value: u64, unit: u64) -> u64 {
    value / unit + (value % unit >= unit / 2) as u64
}

/// Sets every attribute to the number that `json` has for it, or to 0.
pub(super) fn set_all(
    attributes: Attributes<'_>,
    json: &Map<String, Value>,
) -> Result<(), AttributeError> {
    for (name, mut attribute) in attributes {
        attribute.write(number(name, json)?.unwrap_or(0));
    }
    Ok(())
}

/// Sets the attributes that `json` has a number for.
pub(super) fn set_present(
    attributes: Attributes<'_>,
    json: &Map<String, Value>,
) -> Result<(), AttributeError> {
    for (name, mut attribute) in attributes {
        if let Some(number) = number(name, json)? {
            attribute.write(number);
        }
    }
    Ok(())
}

/// The attributes as a JSON object.
pub(super) fn to_json(attributes: Attributes<'_>) -> Map<String, Value> {
    let member = |(name, attribute): (&str, Attribute<'_>)| (name.into(), attribute.read().into());
    attributes.into_iter().map(member).collect()
}

/// Refuses times over [`LONGEST`].
pub(super) fn check_times(attributes: Attributes<'_>) -> Result<(), AttributeError> {
    match attributes.into_iter().find(|(_, attribute)| attribute.is_too_long()) {
        Some((attribute, _)) => {
            Err(AttributeError::Impossible { attribute, reason: "must be one day at most" })
        }
        None => Ok(()),
    }
}

/// The number of that name; `None` if it is missing or null.
fn number(
    attribute: &'static str,
    json: &Map<String, Value>,
) -> Result<Option<u64>, AttributeError> {
    let value = match json.get(attribute) {
        None | Some(Value::Null) => return Ok(None),
        Some(value) => value.as_i64().ok_or(AttributeError::NotAnInteger { attribute })?,
    };
    let reason = "must be 0 or more";
    u64::try_from(value).map(Some).map_err(|_| AttributeError::Impossible { attribute, reason })
}
