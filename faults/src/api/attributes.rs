//! Attributes of a toxic between what a client sends and what a link can do.

use super::body::go_kind;
use super::error::ApiError;
use crate::toxic::{AttributeError, ToxicKind};
use serde_json::{Map, Value};

/// Kinds and attributes whose negative numbers the real server takes, and takes for zero: it
/// sleeps for less than no time. It shows them as they were sent.
const NEGATIVE_IS_ZERO: [(&str, &str); 5] = [
    ("latency", "latency"),
    ("latency", "jitter"),
    ("slow_close", "delay"),
    ("slicer", "delay"),
    ("limit_data", "bytes"),
];

/// Attributes as sent, told apart by what the engine can be given.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Attributes {
    /// What the engine is given.
    pub(super) given: Map<String, Value>,
    /// Those that are shown as sent, for the engine has a zero.
    pub(super) negative: Map<String, Value>,
}

impl Attributes {
    /// The attributes that a client sent for a toxic of this kind. Case does not matter, as in
    /// [`super::body`].
    pub(super) fn new(kind: &str, sent: Map<String, Value>) -> Self {
        let is_zero = |name: &str, value: &Value| {
            NEGATIVE_IS_ZERO.contains(&(kind, name)) && value.as_i64().is_some_and(|n| n < 0)
        };
        let lower = |(name, value): (String, Value)| (name.to_ascii_lowercase(), value);
        let mut given: Map<_, _> = sent.into_iter().map(lower).collect();
        let mut negative = Map::new();
        for (name, value) in &mut given {
            if is_zero(name, value) {
                negative.insert(name.clone(), std::mem::replace(value, 0.into()));
            }
        }
        Self { given, negative }
    }

    /// The toxic of this kind with these attributes.
    pub(super) fn to_kind(&self, kind: &str) -> Result<ToxicKind, AttributeError> {
        ToxicKind::from_api(kind, &self.given)
    }

    /// The toxic that is like this one but for these attributes.
    pub(super) fn merge(&self, kind: &ToxicKind) -> Result<ToxicKind, AttributeError> {
        let mut merged = kind.clone();
        merged.merge_api(&self.given).map(|()| merged)
    }

    /// Why the engine refused them, as the API says it.
    pub(super) fn refusal(&self, kind: &str, error: &AttributeError) -> ApiError {
        match error {
            AttributeError::UnknownKind => ApiError::ToxicType,
            AttributeError::NotAnInteger { attribute } => self.not_an_integer(kind, attribute),
            AttributeError::Impossible { .. } => ApiError::Impossible(error.to_string()),
        }
    }

    /// In the words of Go, as [`super::body`].
    fn not_an_integer(&self, kind: &str, attribute: &str) -> ApiError {
        let value = self.given.get(attribute).unwrap_or(&Value::Null);
        let number = if value.is_number() { format!(" {value}") } else { String::new() };
        ApiError::BadBody(format!(
            "json: cannot unmarshal {}{number} into Go struct field \
             {}Toxic.attributes.{attribute} of type int64",
            go_kind(value),
            capitalised(kind),
        ))
    }
}

/// `slow_close` as `SlowClose`.
fn capitalised(kind: &str) -> String {
    let word = |word: &str| {
        let (first, rest) = word.split_at(word.len().min(1));
        first.to_uppercase() + rest
    };
    kind.split('_').map(word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn refusal(kind: &str, sent: &Value) -> String {
        let attributes = Attributes::new(kind, sent.as_object().unwrap().clone());
        let error = attributes.to_kind(kind).unwrap_err();
        attributes.refusal(kind, &error).to_string()
    }

    #[test]
    fn what_is_no_whole_number_is_refused_in_the_words_of_go() {
        let place = "into Go struct field";
        for (kind, sent, says) in [
            ("latency", json!({ "latency": 1.5 }), "number 1.5 L LatencyToxic.attributes.latency"),
            ("latency", json!({ "jitter": "5" }), "string L LatencyToxic.attributes.jitter"),
            ("slow_close", json!({ "delay": [] }), "array L SlowCloseToxic.attributes.delay"),
        ] {
            let says = says.replace(" L ", &format!(" {place} "));
            let whole = format!("bad request body: json: cannot unmarshal {says} of type int64");
            assert_eq!(refusal(kind, &sent), whole);
        }
    }

    #[test]
    fn a_negative_time_is_none_where_the_real_server_takes_it_for_none() {
        let sent = json!({ "latency": -5, "jitter": 1 });
        let attributes = Attributes::new("latency", sent.as_object().unwrap().clone());
        let kind = attributes.to_kind("latency").unwrap();
        assert_eq!(Value::Object(kind.to_api()), json!({ "latency": 0, "jitter": 1 }));
        assert_eq!(Value::Object(attributes.negative), json!({ "latency": -5 }));
    }

    #[test]
    fn what_kills_the_real_server_is_impossible_here() {
        for (kind, sent) in [
            ("bandwidth", json!({ "rate": -1 })),
            ("slicer", json!({})),
            ("slicer", json!({ "average_size": 5, "size_variation": 6 })),
            ("latency", json!({ "jitter": 5_000_000_000_000_000_000_i64 })),
        ] {
            let says = refusal(kind, &sent);
            assert!(says.starts_with("impossible attributes: "), "{kind} {sent}: {says}");
        }
    }
}
