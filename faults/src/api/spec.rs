//! What a client asks for: a proxy, a toxic, or a change of either.

use super::body::{Object, first_value, mismatch};
use super::error::ApiError;
use crate::toxic::Stream;
use serde_json::{Map, Value};

/// The Go type of a proxy in a body.
pub(super) const PROXY: &str = "toxiproxy.Proxy";
/// The Go type of a toxic in a body.
pub(super) const TOXIC: &str = "toxics.ToxicWrapper";
/// The Go type of a body of `/populate`.
const PROXIES: &str = r#"[]struct { toxiproxy.Proxy; Enabled *bool "json:\"enabled\"" }"#;

/// What a body says of a proxy; what it leaves out is `None`.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct ProxyFields {
    pub(super) name: Option<String>,
    pub(super) listen: Option<String>,
    pub(super) upstream: Option<String>,
    pub(super) enabled: Option<bool>,
}

/// A proxy to be made.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct ProxySpec {
    pub(super) name: String,
    /// Where to listen, as sent; any port of the loopback if empty.
    pub(super) listen: String,
    pub(super) upstream: String,
    pub(super) enabled: bool,
}

/// A toxic to be made. Its attributes are not checked yet.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct ToxicSpec {
    pub(super) name: String,
    pub(super) kind: String,
    pub(super) stream: Stream,
    /// The stream as sent, in whatever case.
    pub(super) stream_as_sent: String,
    /// As sent: the real server takes any number.
    pub(super) toxicity: f32,
    pub(super) attributes: Map<String, Value>,
}

/// A change of a toxic.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct ToxicChange {
    pub(super) attributes: Map<String, Value>,
    pub(super) toxicity: Option<f32>,
}

impl ProxyFields {
    /// Reads a body.
    pub(super) fn parse(body: &[u8]) -> Result<Self, ApiError> {
        Self::read(&Object::parse(body, PROXY)?)
    }

    /// Reads an object.
    pub(super) fn read(object: &Object) -> Result<Self, ApiError> {
        Ok(Self {
            name: object.text("name")?,
            listen: object.text("listen")?,
            upstream: object.text("upstream")?,
            enabled: object.flag("enabled")?,
        })
    }
}

impl ProxySpec {
    /// A whole proxy; up unless it says otherwise. `place` is said with what is missing.
    pub(super) fn new(fields: ProxyFields, place: &str) -> Result<Self, ApiError> {
        let required = |field: Option<String>, name| {
            let given = field.filter(|text| !text.is_empty());
            given.ok_or_else(|| ApiError::Missing(format!("{name}{place}")))
        };
        Ok(Self {
            name: required(fields.name, "name")?,
            upstream: required(fields.upstream, "upstream")?,
            listen: fields.listen.unwrap_or_default(),
            enabled: fields.enabled.unwrap_or(true),
        })
    }

    /// The proxies in a body of `/populate`.
    pub(super) fn parse_all(body: &[u8]) -> Result<Vec<Self>, ApiError> {
        let entries = match first_value(body)? {
            Value::Null => Vec::new(),
            Value::Array(entries) => entries,
            other => return Err(mismatch(&other, &format!("value of type {PROXIES}"))),
        };
        let read = |entry| ProxyFields::read(&Object::new(entry, PROXY)?);
        let fields: Vec<_> = entries.into_iter().map(read).collect::<Result<_, _>>()?;
        let whole = |(index, fields)| Self::new(fields, &format!(" at proxy {}", index + 1));
        fields.into_iter().enumerate().map(whole).collect()
    }
}

impl ToxicSpec {
    /// Reads a body.
    pub(super) fn parse(body: &[u8]) -> Result<Self, ApiError> {
        Self::read(&Object::parse(body, TOXIC)?)
    }

    /// Reads an object: downstream, on every link and named `<type>_<stream>` unless it says
    /// otherwise.
    pub(super) fn read(object: &Object) -> Result<Self, ApiError> {
        let kind = object.text("type")?.unwrap_or_default();
        let stream_as_sent =
            object.text("stream")?.unwrap_or_else(|| Stream::Downstream.name().into());
        let (toxicity, attributes) = (object.float("toxicity")?, object.object("attributes")?);
        let named = object.text("name")?.filter(|name| !name.is_empty());
        Ok(Self {
            name: named.unwrap_or_else(|| format!("{kind}_{stream_as_sent}")),
            kind,
            stream: stream(&stream_as_sent)?,
            stream_as_sent,
            toxicity: toxicity.unwrap_or(1.0),
            attributes: attributes.unwrap_or_default(),
        })
    }
}

impl ToxicChange {
    /// Reads a body. Type, stream and name in it are ignored, as the real server does.
    pub(super) fn parse(body: &[u8]) -> Result<Self, ApiError> {
        let object = Object::parse(body, TOXIC)?;
        Ok(Self {
            attributes: object.object("attributes")?.unwrap_or_default(),
            toxicity: object.float("toxicity")?,
        })
    }
}

/// A stream by its name in any case.
fn stream(name: &str) -> Result<Stream, ApiError> {
    let both = [Stream::Upstream, Stream::Downstream];
    let found = both.into_iter().find(|stream| stream.name().eq_ignore_ascii_case(name));
    found.ok_or(ApiError::Stream)
}
