//! One proxy of the collection: the embedded one, and what the API shows of it beside.

use super::address::{cannot_listen, resolve};
use super::attributes::Attributes;
use super::error::ApiError;
use super::registry::refuse_long;
use super::spec::{ProxyFields, ProxySpec, ToxicChange, ToxicSpec};
use super::view::{ProxyView, ToxicView};
use crate::control::{ActiveToxic, FaultError, ProxyFaults};
use crate::proxy::{EmbeddedProxy, ProxyStats};
use crate::toxic::{AttributeError, Stream, Toxic};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use testbed_clock::Timer;
use testbed_core::quantity::Share;
use testbed_core::rng::Streams;

/// Toxics that a proxy may have, both directions together: every link keeps a place for each.
pub const MAX_TOXICS: usize = 64;

/// A proxy that can be reached over the API.
#[derive(Debug)]
pub(super) struct Entry {
    proxy: EmbeddedProxy,
    /// What clients have sent of each toxic, by name. Held by every change of toxics, so that it
    /// and the proxy's own list change together.
    as_sent: Mutex<BTreeMap<String, AsSent>>,
    /// Held by a change of addresses or of up and down: one at a time.
    turn: tokio::sync::Mutex<()>,
}

/// What was sent of a toxic and is shown again, where the engine has another form of it.
#[derive(Clone, Debug)]
struct AsSent {
    stream: String,
    toxicity: f32,
    negative: Map<String, Value>,
}

impl Entry {
    /// Makes a proxy, and takes it up if it is to be.
    pub(super) async fn start(
        spec: ProxySpec,
        timer: Timer,
        streams: Streams,
    ) -> Result<Self, ApiError> {
        let proxy = EmbeddedProxy::down(spec.listen, spec.upstream, timer, streams, &spec.name);
        let entry = Self { proxy, as_sent: Mutex::default(), turn: tokio::sync::Mutex::default() };
        if spec.enabled {
            entry.go_up().await?;
        }
        Ok(entry)
    }

    /// Its name.
    pub(super) fn name(&self) -> &str {
        self.proxy.name()
    }

    /// Its counters.
    pub(super) fn stats(&self) -> ProxyStats {
        self.proxy.stats()
    }

    /// How many toxics it has in one direction.
    pub(super) fn toxics_on(&self, stream: Stream) -> usize {
        self.proxy.faults().on(stream).count()
    }

    /// All that is shown of it.
    pub(super) fn view(&self) -> ProxyView {
        let as_sent = self.lock();
        let faults = self.proxy.faults();
        let toxics = [Stream::Upstream, Stream::Downstream].into_iter();
        let toxics = toxics.flat_map(|stream| faults.on(stream));
        ProxyView {
            name: self.name().to_owned(),
            listen: self.proxy.listen(),
            upstream: self.proxy.upstream(),
            enabled: faults.enabled(),
            logger: Map::new(),
            toxics: toxics.map(|active| show(active, &as_sent)).collect(),
        }
    }

    /// What is shown of one toxic.
    pub(super) fn toxic(&self, name: &str) -> Result<ToxicView, ApiError> {
        let as_sent = self.lock();
        find(&self.proxy.faults(), name).map(|active| show(active, &as_sent))
    }

    /// Adds a toxic behind the others.
    pub(super) fn add_toxic(&self, spec: ToxicSpec) -> Result<ToxicView, ApiError> {
        refuse_long(&spec.name)?;
        let attributes = Attributes::new(&spec.kind, spec.attributes);
        let kind = attributes.to_kind(&spec.kind);
        if kind == Err(AttributeError::UnknownKind) {
            return Err(ApiError::ToxicType);
        }
        let mut as_sent = self.lock();
        // In the order of the real server: a taken name goes before wrong attributes.
        self.refuse_taken(&spec.name)?;
        let kind = kind.map_err(|error| attributes.refusal(&spec.kind, &error))?;
        let (name, stream, toxicity) = (spec.name, spec.stream, spec.toxicity);
        let toxic = Toxic { name: Some(name.clone()), stream, toxicity: share(toxicity), kind };
        self.proxy.add_toxic(toxic).map_err(refused)?;
        let sent = AsSent { stream: spec.stream_as_sent, toxicity, negative: attributes.negative };
        as_sent.insert(name.clone(), sent);
        drop(as_sent);
        self.toxic(&name)
    }

    /// Changes the attributes of a toxic that are given, and its toxicity if that is.
    pub(super) fn update_toxic(
        &self,
        name: &str,
        change: ToxicChange,
    ) -> Result<ToxicView, ApiError> {
        let mut as_sent = self.lock();
        let faults = self.proxy.faults();
        let active = find(&faults, name)?;
        let kind = &active.toxic.kind;
        let attributes = Attributes::new(kind.name(), change.attributes);
        let merged = attributes.merge(kind);
        let merged = merged.map_err(|error| attributes.refusal(kind.name(), &error))?;
        let mut sent = sent_of(active, &as_sent);
        sent.toxicity = change.toxicity.unwrap_or(sent.toxicity);
        sent.negative.retain(|name, _| attributes.given.get(name).is_none_or(Value::is_null));
        sent.negative.extend(attributes.negative);
        self.proxy.update_toxic(name, share(sent.toxicity), merged).map_err(refused)?;
        as_sent.insert(name.to_owned(), sent);
        drop(as_sent);
        self.toxic(name)
    }

    /// Takes a toxic away.
    pub(super) fn remove_toxic(&self, name: &str) -> Result<(), ApiError> {
        let mut as_sent = self.lock();
        self.proxy.remove_toxic(name).map_err(refused)?;
        as_sent.remove(name);
        Ok(())
    }

    /// Whether a proxy would listen elsewhere or have another upstream.
    pub(super) async fn differs(&self, spec: &ProxySpec) -> Result<bool, ApiError> {
        let listen = resolve(&spec.listen).await.map_err(ApiError::Address)?;
        Ok(self.proxy.listen() != listen.to_string() || self.proxy.upstream() != spec.upstream)
    }

    /// Changes addresses, and up and down. After a failure to listen it is down, and shows the new
    /// address, as in the real server.
    pub(super) async fn update(&self, fields: ProxyFields) -> Result<(), ApiError> {
        let _turn = self.turn.lock().await;
        let enabled = fields.enabled.unwrap_or_else(|| self.is_up());
        let listen = fields.listen.unwrap_or_else(|| self.proxy.listen());
        let resolved = resolve(&listen).await.map_err(ApiError::Address)?;
        if self.proxy.listen() != resolved.to_string() {
            self.go_down().await;
            self.note_listen(&listen).await;
        }
        if let Some(upstream) = fields.upstream {
            self.proxy.set_upstream(&upstream).await;
        }
        match enabled {
            true if !self.is_up() => self.go_up().await,
            false => {
                self.go_down().await;
                Ok(())
            }
            true => Ok(()),
        }
    }

    /// Takes it up and every toxic away; if it cannot listen, they stay.
    pub(super) async fn reset(&self) -> Result<(), ApiError> {
        let _turn = self.turn.lock().await;
        if !self.is_up() {
            self.go_up().await?;
        }
        let mut as_sent = self.lock();
        for active in self.proxy.faults().toxics() {
            self.proxy.remove_toxic(&active.toxic.name()).map_err(refused)?;
        }
        as_sent.clear();
        Ok(())
    }

    /// Takes it down, and returns when all its sockets are closed.
    pub(super) async fn stop(&self) {
        let _turn = self.turn.lock().await;
        self.go_down().await;
    }

    fn is_up(&self) -> bool {
        self.proxy.faults().enabled()
    }

    async fn go_up(&self) -> Result<(), ApiError> {
        let address = resolve(&self.proxy.listen()).await;
        let address = address.map_err(|why| ApiError::Address(format!("listen tcp: {why}")))?;
        self.note_listen(&address.to_string()).await;
        let up = self.proxy.set_enabled(true).await;
        up.map_err(|error| ApiError::Bind(cannot_listen(address, &error)))
    }

    async fn go_down(&self) {
        self.proxy.set_enabled(false).await.expect("closing does not fail");
    }

    /// Only for a proxy that is down.
    async fn note_listen(&self, listen: &str) {
        self.proxy.set_listen(listen).await.expect("a proxy that is down does not listen");
    }

    fn refuse_taken(&self, name: &str) -> Result<(), ApiError> {
        let faults = self.proxy.faults();
        let full = faults.toxics().len() >= MAX_TOXICS;
        match find(&faults, name) {
            Ok(_) => Err(ApiError::ToxicExists),
            Err(_) if full => Err(ApiError::TooMany { what: "toxics", limit: MAX_TOXICS }),
            Err(_) => Ok(()),
        }
    }

    /// A map is whole after each call that changes it, so a poisoned one is, too.
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, AsSent>> {
        self.as_sent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn find<'a>(faults: &'a ProxyFaults, name: &str) -> Result<&'a ActiveToxic, ApiError> {
    let found = faults.toxics().iter().find(|active| active.toxic.name() == name);
    found.ok_or(ApiError::NoToxic)
}

fn show(active: &ActiveToxic, as_sent: &BTreeMap<String, AsSent>) -> ToxicView {
    let sent = sent_of(active, as_sent);
    let mut attributes = active.toxic.kind.to_api();
    attributes.extend(sent.negative);
    ToxicView {
        attributes,
        name: active.toxic.name().into_owned(),
        kind: active.toxic.kind.name(),
        stream: sent.stream,
        toxicity: sent.toxicity,
    }
}

/// What was sent of a toxic, or would have been of one that came another way.
fn sent_of(active: &ActiveToxic, as_sent: &BTreeMap<String, AsSent>) -> AsSent {
    let toxic = &active.toxic;
    as_sent.get(&*toxic.name()).cloned().unwrap_or_else(|| AsSent {
        stream: toxic.stream.name().to_owned(),
        toxicity: toxic.toxicity.get() as f32,
        negative: Map::new(),
    })
}

/// What the real server does with a toxicity: it draws a number from 0 to 1 and compares.
fn share(toxicity: f32) -> Share {
    Share::new(f64::from(toxicity).clamp(0.0, 1.0)).expect("clamped to a share")
}

fn refused(error: FaultError) -> ApiError {
    match error {
        FaultError::Exists(_) => ApiError::ToxicExists,
        FaultError::NotFound(_) => ApiError::NoToxic,
    }
}
