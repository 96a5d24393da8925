//! An example of a field, made of what the schema says of it.

use super::schema_place::{Around, Place};
use serde_json::{Map, Value, json};

/// Mappings within one another, at most.
const DEPTH: usize = 12;

/// A value that may stand there: the schema's own example, else the default, else the first kind with
/// what it needs.
pub(super) fn example(place: &Place<'_>) -> Value {
    at_depth(place, 0)
}

fn at_depth(place: &Place<'_>, depth: usize) -> Value {
    let given = place.keyword("examples").and_then(|all| all.get(0));
    let default = place.keyword("default").filter(|default| !is_empty(default));
    if let Some(value) = given.or(default) {
        return value.clone();
    }
    if let Some(word) = place.word() {
        return word.into();
    }
    if depth > DEPTH {
        return Value::Null;
    }
    if let Some(first) = place.branches().next() {
        return at_depth(&first, depth + 1);
    }
    match place.keyword("type").and_then(first_type) {
        Some("object") => entries(place, depth).unwrap_or_else(|| mapping(place, depth).into()),
        Some("array") => {
            place.entry().map_or(json!([]), |entry| json!([at_depth(&entry, depth + 1)]))
        }
        Some("integer") => place
            .keyword("minimum")
            .cloned()
            .filter(|least| *least != 0)
            .unwrap_or_else(|| json!(1)),
        Some("number") => place.keyword("minimum").cloned().unwrap_or_else(|| json!(1)),
        Some("boolean") => json!(true),
        _ => quoted(place),
    }
}

/// A mapping with names of the file's own, and one entry.
fn entries(place: &Place<'_>, depth: usize) -> Option<Value> {
    let entry = place.entry()?;
    Some(json!({ "one": at_depth(&entry, depth + 1) }))
}

/// The fields that must be there, and the first that the description names: of some, exactly one must be.
/// If there are none, the first that has a default, or the first.
fn mapping(place: &Place<'_>, depth: usize) -> Map<String, Value> {
    let field = |name: &str| Some((name.to_owned(), at_depth(&place.step(name)?.0, depth + 1)));
    let names = place.names();
    let about = place.about().join(" ");
    let named = about.split('`').skip(1).step_by(2).find(|name| names.contains(name));
    let mut fields: Map<_, _> = place.required().chain(named).filter_map(field).collect();
    if fields.is_empty() {
        let has_default = |name: &&str| {
            place.step(name).is_some_and(|(inner, _)| !inner.default_text().is_empty())
        };
        let first = names.iter().copied().find(has_default).or_else(|| names.first().copied());
        fields.extend(first.and_then(field));
    }
    fields
}

/// The last text in backticks of a description, or a text.
fn quoted(place: &Place<'_>) -> Value {
    let about = place.about().join(" ");
    let quoted = about.split('`').skip(1).step_by(2).last();
    quoted.unwrap_or("text").into()
}

fn first_type(types: &Value) -> Option<&str> {
    types.as_str().or_else(|| types.get(0)?.as_str())
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}

/// The value with what is around it in a file.
pub(super) fn nested(around: &[Around], value: Value) -> Value {
    around.iter().rev().fold(value, |inner, around| match around {
        Around::Field(name) => json!({ name: inner }),
        Around::Entry => json!([inner]),
    })
}

/// A value on one line of YAML.
pub(super) fn flow(value: &Value) -> String {
    match value {
        Value::Object(fields) if fields.is_empty() => "{}".to_owned(),
        Value::Object(fields) => {
            let fields: Vec<_> =
                fields.iter().map(|(name, value)| format!("{name}: {}", flow(value))).collect();
            format!("{{ {} }}", fields.join(", "))
        }
        Value::Array(items) => {
            format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", "))
        }
        Value::String(text) if needs_quotes(text) => format!("{value}"),
        Value::String(text) => text.clone(),
        _ => value.to_string(),
    }
}

fn needs_quotes(text: &str) -> bool {
    let begins = text.starts_with(|c: char| !c.is_alphanumeric() && c != '_' && c != '/');
    text.is_empty()
        || begins
        || text.contains([',', '{', '}', '[', ']', '#', '"'])
        || text.contains(": ")
        || text.ends_with(':')
}
