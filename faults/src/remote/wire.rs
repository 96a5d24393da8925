//! What goes over the API, as JSON.

use crate::engine::{ProxyState, ToxicState};
use crate::toxic::{Stream, Toxic};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The answer of `/version`.
#[derive(Deserialize)]
pub(super) struct VersionSeen {
    pub(super) version: String,
}

/// A proxy as the API shows it.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub(super) struct ProxySeen {
    pub(super) name: String,
    pub(super) listen: String,
    pub(super) upstream: String,
    pub(super) enabled: bool,
    #[serde(default)]
    pub(super) toxics: Vec<ToxicSeen>,
}

/// A toxic as the API shows it.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub(super) struct ToxicSeen {
    name: String,
    #[serde(rename = "type")]
    kind: String,
    stream: Stream,
    toxicity: f32,
    /// Signed: others may have made a negative one, which `toxiproxy_rust` cannot read.
    #[serde(default)]
    attributes: BTreeMap<String, Value>,
}

/// A toxic to be made or changed.
#[derive(Serialize)]
pub(super) struct ToxicSent<'a> {
    name: &'a str,
    #[serde(rename = "type")]
    kind: &'a str,
    stream: &'a str,
    toxicity: f32,
    attributes: Map<String, Value>,
}

impl ProxySeen {
    /// What it says of its faults.
    pub(super) fn into_state(self) -> ProxyState {
        let toxics = self.toxics.into_iter().map(ToxicSeen::into_state).collect();
        ProxyState { name: self.name, enabled: self.enabled, toxics }
    }
}

impl ToxicSeen {
    fn into_state(self) -> ToxicState {
        let Self { name, kind, stream, toxicity, attributes } = self;
        ToxicState { name, kind, stream, toxicity, attributes }
    }
}

/// The body that makes a proxy.
pub(super) fn new_proxy(name: &str, listen: &str, upstream: &str) -> String {
    json!({ "name": name, "listen": listen, "upstream": upstream }).to_string()
}

/// The body that makes this toxic, or makes another one this.
pub(super) fn new_toxic(toxic: &Toxic) -> String {
    let sent = ToxicSent {
        name: &toxic.name(),
        kind: toxic.kind.name(),
        stream: toxic.stream.name(),
        toxicity: toxic.toxicity.get() as f32,
        attributes: toxic.kind.to_api(),
    };
    serde_json::to_string(&sent).expect("text and numbers are JSON")
}
