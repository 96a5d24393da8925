//! JSON as Go's `encoding/json` reads it into a struct, with its messages, because those are what
//! Toxiproxy's clients see.
//!
//! So: the first value counts and what follows is not looked at; names of fields are matched
//! exactly or else without regard to case; `null` is as good as nothing; unknown fields are ignored.

use super::error::ApiError;
use serde_json::{Map, Value};

/// A JSON object whose fields are read by name and type.
#[derive(Debug)]
pub(super) struct Object {
    fields: Map<String, Value>,
    /// The Go type that the real server reads it into, such as `toxiproxy.Proxy`.
    go_type: &'static str,
}

/// The first value of a body.
pub(super) fn first_value(body: &[u8]) -> Result<Value, ApiError> {
    let bad = |message: String| ApiError::BadBody(message);
    match serde_json::Deserializer::from_slice(body).into_iter().next() {
        None => Err(bad("EOF".into())),
        Some(Err(error)) if error.is_eof() => Err(bad("unexpected EOF".into())),
        Some(Err(error)) => Err(bad(error.to_string())),
        Some(Ok(value)) => Ok(value),
    }
}

impl Object {
    /// The object that is the first value of a body.
    pub(super) fn parse(body: &[u8], go_type: &'static str) -> Result<Self, ApiError> {
        Self::new(first_value(body)?, go_type)
    }

    /// The object that is a value; `null` is one without fields.
    pub(super) fn new(value: Value, go_type: &'static str) -> Result<Self, ApiError> {
        match value {
            Value::Null => Ok(Self { fields: Map::new(), go_type }),
            Value::Object(fields) => Ok(Self { fields, go_type }),
            other => Err(mismatch(&other, &format!("value of type {go_type}"))),
        }
    }

    /// The names of its fields.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.fields.keys().map(String::as_str)
    }

    /// A field, unless it is missing or `null`.
    pub(super) fn field(&self, name: &str) -> Option<&Value> {
        let alike = || self.fields.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
        let found = self.fields.get(name).or_else(|| alike().map(|(_, value)| value));
        found.filter(|value| !value.is_null())
    }

    /// A field of text.
    pub(super) fn text(&self, name: &str) -> Result<Option<String>, ApiError> {
        self.typed(name, "string", |value| value.as_str().map(str::to_owned))
    }

    /// A field that is true or false.
    pub(super) fn flag(&self, name: &str) -> Result<Option<bool>, ApiError> {
        self.typed(name, "bool", Value::as_bool)
    }

    /// A field that is a number of single precision.
    pub(super) fn float(&self, name: &str) -> Result<Option<f32>, ApiError> {
        let finite = |value: &Value| value.as_f64().map(|number| number as f32);
        self.typed(name, "float32", |value| finite(value).filter(|number| number.is_finite()))
    }

    /// A field that is an object.
    pub(super) fn object(&self, name: &str) -> Result<Option<Map<String, Value>>, ApiError> {
        self.typed(name, "toxics.Toxic", |value| value.as_object().cloned())
    }

    fn typed<T>(
        &self,
        name: &str,
        of_type: &str,
        read: impl FnOnce(&Value) -> Option<T>,
    ) -> Result<Option<T>, ApiError> {
        let Some(value) = self.field(name) else { return Ok(None) };
        let (_, short) = self.go_type.rsplit_once('.').unwrap_or(("", self.go_type));
        let place = || format!("struct field {short}.{name} of type {of_type}");
        read(value).map(Some).ok_or_else(|| mismatch(value, &place()))
    }
}

/// A value that does not fit where it stands.
pub(super) fn mismatch(value: &Value, place: &str) -> ApiError {
    ApiError::BadBody(format!("json: cannot unmarshal {} into Go {place}", go_kind(value)))
}

/// What Go calls a JSON value.
pub(super) fn go_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(body: &str) -> String {
        let object = match Object::parse(body.as_bytes(), "toxiproxy.Proxy") {
            Ok(object) => object,
            Err(error) => return error.to_string(),
        };
        let fields = object.text("name").map(drop).and_then(|()| object.flag("enabled"));
        fields.map(drop).and_then(|()| object.float("toxicity")).unwrap_err().to_string()
    }

    #[test]
    fn what_does_not_fit_is_refused_in_the_words_of_go() {
        for (body, says) in [
            ("", "EOF"),
            (" \n", "EOF"),
            ("{", "unexpected EOF"),
            (r#"{"name":"#, "unexpected EOF"),
            ("[]", "json: cannot unmarshal array into Go value of type toxiproxy.Proxy"),
            (
                r#"{"name":5}"#,
                "json: cannot unmarshal number into Go struct field Proxy.name of type string",
            ),
            (
                r#"{"enabled":"yes"}"#,
                "json: cannot unmarshal string into Go struct field Proxy.enabled of type bool",
            ),
            (
                r#"{"toxicity":1e300}"#,
                "json: cannot unmarshal number into Go struct field Proxy.toxicity of type float32",
            ),
        ] {
            assert_eq!(refusal(body), format!("bad request body: {says}"), "{body}");
        }
    }

    #[test]
    fn case_null_and_what_follows_do_not_matter() {
        for (body, name) in [
            (r#"{"name":"a"}"#, Some("a")),
            (r#"{"Name":"a"}"#, Some("a")),
            (r#"{"NAME":"b","name":"a"}"#, Some("a")),
            (r#"{"name":"a"} and more"#, Some("a")),
            (r#"{"name":null}"#, None),
            ("null", None),
            ("{}", None),
        ] {
            let object = Object::parse(body.as_bytes(), "toxiproxy.Proxy").unwrap();
            assert_eq!(object.text("name").unwrap().as_deref(), name, "{body}");
        }
    }

    #[test]
    fn deep_nesting_is_refused() {
        let deep = "[".repeat(100_000);
        assert!(refusal(&deep).starts_with("bad request body: recursion limit exceeded"));
    }
}
