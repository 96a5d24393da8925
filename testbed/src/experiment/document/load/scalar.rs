//! What a scalar means: YAML's core schema in decimal.

use crate::experiment::problem::{Problem, short};
use saphyr_parser::ScalarStyle;
use serde_json::{Number, Value};

/// The value of a scalar. Quoted text is text; plain text is null, true, false or a number if it
/// looks like one.
///
/// # Errors
/// A number that is not finite.
pub(super) fn resolve(text: &str, style: ScalarStyle) -> Result<Value, Problem> {
    if style != ScalarStyle::Plain {
        return Ok(text.into());
    }
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Ok(Value::Null),
        "true" | "True" | "TRUE" => Ok(true.into()),
        "false" | "False" | "FALSE" => Ok(false.into()),
        _ => number(text),
    }
}

fn number(text: &str) -> Result<Value, Problem> {
    if let Ok(whole) = text.parse::<i64>() {
        return Ok(whole.into());
    }
    if let Ok(whole) = text.parse::<u64>() {
        return Ok(whole.into());
    }
    let Some(float) = float(text) else {
        return Ok(text.into());
    };
    Number::from_f64(float).map(Value::Number).ok_or_else(|| {
        Problem::at_value("", format!("`{}` is not a finite number", short(text)))
            .with_help("write a number, or leave the field out; text needs quotes")
    })
}

fn float(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    match unsigned {
        ".inf" | ".Inf" | ".INF" => Some(f64::INFINITY),
        ".nan" | ".NaN" | ".NAN" => Some(f64::NAN),
        // Rust would also read `inf` and `nan`.
        _ if unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.') => text.parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn plain_scalars_mean_what_they_look_like() {
        for (text, value) in [
            ("", json!(null)),
            ("~", json!(null)),
            ("True", json!(true)),
            ("no", json!("no")),
            ("-3", json!(-3)),
            ("+3", json!(3)),
            ("18446744073709551615", json!(u64::MAX)),
            ("2.5", json!(2.5)),
            ("-.5", json!(-0.5)),
            ("1e3", json!(1000.0)),
            ("inf", json!("inf")),
            ("nan", json!("nan")),
            ("0x10", json!("0x10")),
            ("1_000", json!("1_000")),
            ("10ms", json!("10ms")),
            (".", json!(".")),
            ("--5", json!("--5")),
        ] {
            assert_eq!(resolve(text, ScalarStyle::Plain), Ok(value), "{text}");
        }
        assert_eq!(resolve("10", ScalarStyle::DoubleQuoted), Ok(json!("10")));
        for text in [".inf", "-.Inf", ".nan", "1e999"] {
            assert!(resolve(text, ScalarStyle::Plain).is_err(), "{text}");
        }
    }
}
