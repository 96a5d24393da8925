//! Values and types in plain words.

use crate::experiment::problem::short;
use serde_json::Value;

/// Names that a list gives before it counts the rest.
const LISTED: usize = 30;

/// What stands in the file: `` text `many` ``, `` the number `2.5` ``, `a list`.
pub(super) fn found(value: &Value) -> String {
    match value {
        Value::Null => "nothing".into(),
        Value::Bool(_) => format!("`{value}`"),
        Value::Number(_) => format!("the number `{}`", plain(value)),
        Value::String(text) => format!("text `{}`", short(text)),
        Value::Array(_) => "a list".into(),
        Value::Object(_) => "a mapping".into(),
    }
}

/// A JSON Schema type: `integer` as `a whole number`.
pub(in crate::experiment) fn of_type(name: &str) -> &'static str {
    match name {
        "null" => "nothing",
        "boolean" => "true or false",
        "integer" => "a whole number",
        "number" => "a number",
        "string" => "text",
        "array" => "a list",
        "object" => "a mapping",
        _ => "another value",
    }
}

/// A scalar as one writes it: text without quotes, `1.0` as `1`.
pub(super) fn plain(value: &Value) -> String {
    match (value.as_str(), value.as_f64()) {
        (Some(text), _) => text.to_owned(),
        (None, Some(number)) if value.is_f64() => number.to_string(),
        _ => value.to_string(),
    }
}

/// `a, b, c`; of a long list the beginning and how many more there are.
pub(in crate::experiment) fn list(names: &[&str]) -> String {
    let shown = names[..names.len().min(LISTED)].join(", ");
    match names.len().saturating_sub(LISTED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// `a or b`, `a, b or c`.
pub(super) fn either(names: &[String]) -> String {
    match names {
        [] => "another value".into(),
        [only] => only.clone(),
        [rest @ .., last] => format!("{} or {last}", rest.join(", ")),
    }
}

/// The name of a type as a noun with its article: `Duration` as `a duration`.
pub(in crate::experiment) fn noun(type_name: &str) -> String {
    let mut words = String::new();
    for c in type_name.chars() {
        if c.is_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        words.extend(c.to_lowercase());
    }
    let article = if words.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    format!("{article} {words}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_in_words() {
        for (value, words) in [
            (json!(null), "nothing"),
            (json!(true), "`true`"),
            (json!(2.0), "the number `2`"),
            (json!(2.5), "the number `2.5`"),
            (json!("many"), "text `many`"),
            (json!("two\nlines"), "text `two…`"),
            (json!([]), "a list"),
            (json!({}), "a mapping"),
        ] {
            assert_eq!(found(&value), words);
        }
    }

    #[test]
    fn names_in_words() {
        assert_eq!(noun("Duration"), "a duration");
        assert_eq!(noun("ArrivalRate"), "an arrival rate");
        assert_eq!(list(&["a", "b"]), "a, b");
        assert_eq!(list(&["a"; 32]).chars().rev().take(10).count(), 10);
        assert!(list(&["a"; 32]).ends_with(", a and 2 more"));
        assert_eq!(either(&["a".into(), "b".into(), "c".into()]), "a, b or c");
    }
}
