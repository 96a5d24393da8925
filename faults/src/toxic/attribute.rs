//! Attributes as Toxiproxy's HTTP API has them: whole numbers, each in a unit of its own. One that
//! Toxiproxy does not have may be a choice by name.

use super::LinkRate;
use serde_json::{Map, Value};
use std::fmt::Debug;
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
    /// One of several by name.
    Choice(&'a mut dyn Choice),
}

/// What an attribute that is no number is one of.
pub(crate) trait Choice: Debug {
    /// The name of what is chosen.
    fn name(&self) -> &'static str;

    /// Chooses by name, or the first without one.
    ///
    /// # Errors
    /// Which names there are, as a reason.
    fn choose(&mut self, name: Option<&str>) -> Result<(), &'static str>;
}

/// The attributes of one toxic by name, in Toxiproxy's order.
pub(crate) type Attributes<'a> = Vec<(&'static str, Attribute<'a>)>;

impl Attribute<'_> {
    /// What the API shows: numbers rounded to the nearest, for files are more precise than it.
    fn read(&self) -> Value {
        match self {
            Self::Millis(time) => rounded(time.get(), 1_000_000).into(),
            Self::Micros(time) => rounded(time.get(), 1_000).into(),
            Self::Size(size) => size.get().into(),
            Self::Rate(rate) => rounded(rate.per_second(), 1_000).into(),
            Self::Choice(choice) => choice.name().into(),
        }
    }

    /// Takes a value on; without one 0, or the first choice.
    fn write(&mut self, name: &'static str, value: Option<&Value>) -> Result<(), AttributeError> {
        if let Self::Choice(choice) = self {
            // What is no text is no name either.
            let wanted = value.map(|value| value.as_str().unwrap_or_default());
            let chosen = choice.choose(wanted);
            return chosen.map_err(|reason| AttributeError::Impossible { attribute: name, reason });
        }
        self.write_number(value.map_or(Ok(0), |value| number(name, value))?);
        Ok(())
    }

    fn write_number(&mut self, number: u64) {
        match self {
            Self::Millis(time) => **time = Nanos::from_millis(number),
            Self::Micros(time) => **time = Nanos::from_micros(number),
            Self::Size(size) => **size = Bytes::new(number),
            Self::Rate(rate) => **rate = LinkRate::new(number.saturating_mul(1_000)),
            Self::Choice(_) => {}
        }
    }

    fn is_too_long(&self) -> bool {
        match self {
            Self::Millis(time) | Self::Micros(time) => **time > LONGEST,
            Self::Size(_) | Self::Rate(_) | Self::Choice(_) => false,
        }
    }

    /// What it has to be for the API to have a number for it, if it is not that.
    fn unwritable(&self) -> Option<&'static str> {
        let (written, reason) = match self {
            Self::Millis(time) => (time.get() % 1_000_000 == 0, "must be whole milliseconds"),
            Self::Micros(time) => (time.get() % 1_000 == 0, "must be whole microseconds"),
            Self::Size(size) => (i64::try_from(size.get()).is_ok(), "must be 2^63 - 1 at most"),
            Self::Rate(rate) => (rate.per_second() % 1_000 == 0, "must be a multiple of 1kB/s"),
            Self::Choice(_) => return None,
        };
        (!written).then_some(reason)
    }
}

const fn rounded(value: u64, unit: u64) -> u64 {
    value / unit + (value % unit >= unit / 2) as u64
}

/// Sets every attribute to what `json` has for it, or to 0 or the first choice.
pub(super) fn set_all(
    attributes: Attributes<'_>,
    json: &Map<String, Value>,
) -> Result<(), AttributeError> {
    for (name, mut attribute) in attributes {
        attribute.write(name, value(name, json))?;
    }
    Ok(())
}

/// Sets the attributes that `json` has something for.
pub(super) fn set_present(
    attributes: Attributes<'_>,
    json: &Map<String, Value>,
) -> Result<(), AttributeError> {
    for (name, mut attribute) in attributes {
        if let Some(value) = value(name, json) {
            attribute.write(name, Some(value))?;
        }
    }
    Ok(())
}

/// The attributes as a JSON object.
pub(super) fn to_json(attributes: Attributes<'_>) -> Map<String, Value> {
    let member = |(name, attribute): (&str, Attribute<'_>)| (name.into(), attribute.read());
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

/// Refuses what the API has no number for.
pub(super) fn check_written(attributes: Attributes<'_>) -> Result<(), AttributeError> {
    let refused = |(attribute, value): (&'static str, Attribute<'_>)| {
        value.unwritable().map(|reason| AttributeError::Impossible { attribute, reason })
    };
    attributes.into_iter().find_map(refused).map_or(Ok(()), Err)
}

/// The value of that name, unless it is missing or null.
fn value<'a>(name: &str, json: &'a Map<String, Value>) -> Option<&'a Value> {
    json.get(name).filter(|value| !value.is_null())
}

fn number(attribute: &'static str, value: &Value) -> Result<u64, AttributeError> {
    let value = value.as_i64().ok_or(AttributeError::NotAnInteger { attribute })?;
    let reason = "must be 0 or more";
    u64::try_from(value).map_err(|_| AttributeError::Impossible { attribute, reason })
}
