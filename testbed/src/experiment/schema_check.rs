//! The schema check: every mistake of a document at once, in words for people.
//!
//! jsonschema finds the violations; this module words them, and picks the branch that was meant
//! where a schema offers alternatives. Each violation comes with the place of the violated keyword
//! in the schema, from which names, cures and suggestions are taken: nothing is listed twice.

mod choice;
mod place;
mod words;

use super::document::{Document, escape};
use super::problem::{Problem, closest, did_you_mean, short};
use jsonschema::error::ValidationErrorKind as Kind;
use jsonschema::{ValidationError, Validator};
use place::Place;
use serde_json::Value;
use words::{found, plain};
pub(super) use words::{list, noun, of_type};

/// All mistakes in `document` by a JSON Schema; see [`Checker`].
pub fn check(document: &Document, schema: &Value) -> Vec<Problem> {
    Checker::new(schema.clone()).check(document)
}

/// A JSON Schema as schemars writes it (draft 7 or 2020-12), ready to check documents by. To make one takes 25 ms,
/// and to read a whole file with it less than half a millisecond.
#[derive(Debug)]
pub struct Checker {
    schema: Value,
    validator: Result<Validator, String>,
}

impl Checker {
    /// A checker by this schema.
    pub fn new(schema: Value) -> Self {
        let validator = jsonschema::validator_for(&schema).map_err(|error| error.to_string());
        Self { schema, validator }
    }

    /// The schema.
    pub const fn schema(&self) -> &Value {
        &self.schema
    }

    /// All mistakes in `document`, in a fixed order. Empty if it is valid.
    ///
    /// A schema that is itself broken is one problem of the whole file.
    pub fn check(&self, document: &Document) -> Vec<Problem> {
        let instance = document.to_json();
        match &self.validator {
            Ok(validator) => {
                let errors: Vec<ValidationError<'_>> = validator.iter_errors(&instance).collect();
                Check { schema: &self.schema }.problems(&errors)
            }
            Err(error) => {
                vec![Problem::at_value("", format!("the schema itself is broken: {error}"))]
            }
        }
    }
}

struct Check<'s> {
    schema: &'s Value,
}

impl<'s> Check<'s> {
    fn problems(&self, errors: &[ValidationError<'_>]) -> Vec<Problem> {
        let meant: Vec<(&str, &str)> =
            errors.iter().flat_map(|error| self.meant_fields(error)).collect();
        let misspelt = |error: &ValidationError<'_>| match error.kind() {
            Kind::Required { property } => {
                let path = error.instance_path().as_str();
                meant.iter().any(|&(at, name)| at == path && *property == name)
            }
            _ => false,
        };
        // A field that is there under a wrong name is one mistake, not two.
        errors.iter().filter(|error| !misspelt(error)).flat_map(|e| self.translate(e)).collect()
    }

    /// The place of the violated keyword in the schema.
    fn place(&self, error: &ValidationError<'_>) -> Place<'s> {
        Place::of_keyword(self.schema, error.schema_path().as_str())
    }

    fn translate(&self, error: &ValidationError<'_>) -> Vec<Problem> {
        let place = self.place(error);
        match error.kind() {
            Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
                self.choice(error, context)
            }
            Kind::AdditionalProperties { unexpected }
            | Kind::UnevaluatedProperties { unexpected } => {
                unexpected.iter().map(|name| unknown_field(error, &place, name)).collect()
            }
            // The keyword that lists the words says it better.
            Kind::Type { .. } if place.has("enum") || place.has("const") => Vec::new(),
            Kind::Enum { .. } | Kind::Constant { .. } => {
                vec![choice::unknown_word(error, &place.words(), "value")]
            }
            Kind::Required { property } => vec![missing_field(error, &place, property)],
            Kind::PropertyNames { error: inner } => {
                vec![bad_name(error, &self.place(inner), inner)]
            }
            Kind::Type { .. } | Kind::Pattern { .. } => vec![wrong_kind(error, &place)],
            _ => vec![out_of_bounds(error, &place)],
        }
    }

    /// The fields that unknown ones were probably meant to be, with the path they belong to.
    fn meant_fields<'e>(&self, error: &'e ValidationError<'_>) -> Vec<(&'e str, &'s str)> {
        let Kind::AdditionalProperties { unexpected } = error.kind() else {
            return Vec::new();
        };
        let absent = absent_fields(error, &self.place(error));
        let meant = |name: &String| closest(name, absent.iter().copied());
        let path = error.instance_path().as_str();
        unexpected.iter().filter_map(meant).map(|name| (path, name)).collect()
    }
}

/// The fields that may stand in the object and do not yet.
fn absent_fields<'s>(error: &ValidationError<'_>, place: &Place<'s>) -> Vec<&'s str> {
    let names = place.fields().into_iter();
    names.filter(|name| error.instance().get(name).is_none()).collect()
}

fn unknown_field(error: &ValidationError<'_>, place: &Place<'_>, name: &str) -> Problem {
    let path = format!("{}/{}", error.instance_path(), escape(name));
    let guess = did_you_mean(name, absent_fields(error, place));
    let fields = place.fields();
    let (what, help) = match fields.len() {
        0 => ("field", "no fields belong here".to_owned()),
        _ if place.is_choice() => ("kind", format!("one of: {}", list(&fields))),
        _ => ("field", format!("fields here: {}", list(&fields))),
    };
    // `{ that: max(a, b) <= 2 }` is a field named `b) <= 2` without a value.
    let cut_text = error.instance()[name].is_null() && name.contains([' ', ')']);
    let comma = if cut_text { "; text with a comma needs quotes" } else { "" };
    Problem::at_key(path, format!("unknown {what} `{}`{guess}", short(name)))
        .with_help(help + comma)
}

fn missing_field(error: &ValidationError<'_>, place: &Place<'_>, property: &Value) -> Problem {
    let name = property.as_str().unwrap_or_default();
    let help = match place.field(name).description() {
        Some(description) => format!("add `{name}`: {description}"),
        None => format!("add `{name}`"),
    };
    Problem::at_key(error.instance_path().as_str(), format!("missing field `{name}`"))
        .with_help(help)
}

fn bad_name(
    outer: &ValidationError<'_>,
    place: &Place<'_>,
    inner: &ValidationError<'_>,
) -> Problem {
    let name = inner.instance().as_str().unwrap_or_default();
    let path = format!("{}/{}", outer.instance_path(), escape(name));
    let help = place.description().unwrap_or_else(|| inner.masked().to_string());
    Problem::at_key(path, format!("`{}` cannot be a name here", short(name))).with_help(help)
}

/// A value of another type, or text that does not have the form of its quantity.
fn wrong_kind(error: &ValidationError<'_>, place: &Place<'_>) -> Problem {
    let value = error.instance();
    let message = match (place.quantity(), value.as_ref()) {
        (Some(quantity), Value::String(_) | Value::Number(_) | Value::Bool(_)) => {
            format!("`{}` is not {quantity}", short(&plain(value)))
        }
        _ => format!("expected {}, found {}", place.expected(), found(value)),
    };
    let problem = Problem::at_value(error.instance_path().as_str(), message);
    match place.fields() {
        fields if fields.is_empty() => Problem { help: place.description(), ..problem },
        fields => problem.with_help(format!("fields here: {}", list(&fields))),
    }
}

/// What is wrong in size, or what no other words are known for.
fn out_of_bounds(error: &ValidationError<'_>, place: &Place<'_>) -> Problem {
    let value = short(&plain(error.instance()));
    let message = match error.kind() {
        Kind::Minimum { limit } => format!("{value} is below the minimum of {}", plain(limit)),
        Kind::Maximum { limit } => format!("{value} is above the maximum of {}", plain(limit)),
        Kind::ExclusiveMinimum { limit } => format!("{value} is not above {}", plain(limit)),
        Kind::ExclusiveMaximum { limit } => format!("{value} is not below {}", plain(limit)),
        Kind::MinItems { limit } => format!("the list needs at least {limit} entries"),
        Kind::MaxItems { limit } => format!("the list takes at most {limit} entries"),
        Kind::MinProperties { limit } => format!("at least {limit} fields are needed here"),
        Kind::MaxProperties { limit } => format!("at most {limit} fields may stand here"),
        Kind::MinLength { limit } => format!("the text needs at least {limit} characters"),
        Kind::MaxLength { limit } => format!("the text takes at most {limit} characters"),
        Kind::UniqueItems => "an entry stands twice in the list".to_owned(),
        Kind::OneOfMultipleValid { .. } => "this fits more than one kind".to_owned(),
        _ => error.masked().to_string(),
    };
    let problem = Problem::at_value(error.instance_path().as_str(), message);
    let help = [place.description(), place.range()].into_iter().flatten().collect::<Vec<_>>();
    if help.is_empty() { problem } else { problem.with_help(help.join(" ")) }
}

#[cfg(test)]
mod tests;
