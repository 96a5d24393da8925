//! What the API shows: Toxiproxy's objects, their fields in its order.

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

/// Attributes in the order of the real server's structs; others come behind, by name.
const ATTRIBUTES: [&str; 5] = ["latency", "jitter", "average_size", "size_variation", "delay"];

/// Above this, a whole single-precision number is not written as an integer.
const WHOLE_MAX: f32 = 1e15;

/// A proxy.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(super) struct ProxyView {
    pub(super) name: String,
    pub(super) listen: String,
    pub(super) upstream: String,
    pub(super) enabled: bool,
    /// Always empty; the real server shows its logger by mistake, and clients have seen it.
    #[serde(rename = "Logger")]
    pub(super) logger: Map<String, Value>,
    pub(super) toxics: Vec<ToxicView>,
}

/// A toxic.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(super) struct ToxicView {
    #[serde(serialize_with = "in_order")]
    pub(super) attributes: Map<String, Value>,
    pub(super) name: String,
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    pub(super) stream: String,
    #[serde(serialize_with = "as_go")]
    pub(super) toxicity: f32,
}

fn in_order<S: Serializer>(
    attributes: &Map<String, Value>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let place = |name: &str| ATTRIBUTES.iter().position(|known| *known == name);
    let mut fields: Vec<_> = attributes.iter().collect();
    fields.sort_by_key(|(name, _)| place(name).unwrap_or(ATTRIBUTES.len()));
    serializer.collect_map(fields)
}

/// Go writes a whole number without a point.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn as_go<S: Serializer>(number: &f32, serializer: S) -> Result<S::Ok, S::Error> {
    if number.fract() == 0.0 && number.abs() < WHOLE_MAX {
        serializer.serialize_i64(*number as i64)
    } else {
        serializer.serialize_f32(*number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn toxic(toxicity: f32, attributes: Value) -> String {
        let attributes = attributes.as_object().unwrap().clone();
        let (name, stream) = ("t".to_owned(), "upstream".to_owned());
        let view = ToxicView { attributes, name, kind: "noop", stream, toxicity };
        serde_json::to_string(&view).unwrap()
    }

    #[test]
    fn numbers_are_written_as_go_writes_them() {
        for (toxicity, written) in [
            (1.0, "1"),
            (0.0, "0"),
            (-1.0, "-1"),
            (2.0, "2"),
            (0.1, "0.1"),
            (0.25, "0.25"),
            (-0.5, "-0.5"),
        ] {
            assert!(toxic(toxicity, json!({})).ends_with(&format!("\"toxicity\":{written}}}")));
        }
    }

    #[test]
    fn attributes_keep_the_order_of_the_real_server() {
        for (attributes, start) in [
            (json!({ "jitter": 1, "latency": 2 }), r#"{"attributes":{"latency":2,"jitter":1},"#),
            (
                json!({ "delay": 1, "average_size": 2, "size_variation": 3 }),
                r#"{"attributes":{"average_size":2,"size_variation":3,"delay":1},"#,
            ),
            (json!({ "rate": 1, "new": 2 }), r#"{"attributes":{"new":2,"rate":1},"#),
        ] {
            assert!(toxic(1.0, attributes).starts_with(start));
        }
    }
}
