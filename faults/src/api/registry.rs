//! The collection of proxies by name.

use super::entry::Entry;
use super::error::ApiError;
use super::spec::ProxySpec;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use testbed_clock::Timer;
use testbed_core::rng::Streams;
use testbed_core::time::Nanos;

/// Proxies that there may be; each has a listener, which is a file descriptor.
pub const MAX_PROXIES: usize = 1024;

/// The longest name of a proxy or toxic, in bytes: it goes into paths and labels of metrics.
pub const MAX_NAME: usize = 256;

/// How long a call may take, as in the real server.
const CALL_LIMIT: Nanos = Nanos::from_secs(25);

/// Proxies by name, each running or down.
///
/// A change of one proxy waits only for changes of the same one, and looking waits for nobody: a
/// name that takes long to resolve, or a peer that hangs, holds up no other call.
#[derive(Debug)]
pub struct Registry {
    timer: Timer,
    streams: Streams,
    call_limit: Nanos,
    entries: Mutex<BTreeMap<String, Arc<Entry>>>,
}

impl Registry {
    /// No proxies yet. Their delays will be kept on `timer`, and their chance drawn from `streams`.
    pub const fn new(timer: Timer, streams: Streams) -> Self {
        let entries = Mutex::new(BTreeMap::new());
        Self { timer, streams, call_limit: CALL_LIMIT, entries }
    }

    /// The same, but a call of the API may take this long instead of 25 s. One that takes longer is
    /// answered with 503, and goes on if its body had come by then.
    #[must_use]
    pub const fn with_call_limit(mut self, limit: Nanos) -> Self {
        self.call_limit = limit;
        self
    }

    /// How long a call may take.
    pub(super) const fn call_limit(&self) -> Nanos {
        self.call_limit
    }

    /// The timer of its proxies.
    pub(super) const fn timer(&self) -> &Timer {
        &self.timer
    }

    /// All proxies, by name.
    pub(super) fn all(&self) -> Vec<Arc<Entry>> {
        self.lock().values().map(Arc::clone).collect()
    }

    /// The proxy of this name.
    pub(super) fn find(&self, name: &str) -> Result<Arc<Entry>, ApiError> {
        self.lock().get(name).map(Arc::clone).ok_or(ApiError::NoProxy)
    }

    /// Makes a proxy of a new name.
    pub(super) async fn create(&self, spec: ProxySpec) -> Result<Arc<Entry>, ApiError> {
        refuse_long(&spec.name)?;
        refuse_taken(&self.lock(), &spec.name)?;
        let entry = self.start(spec).await?;
        let added = self.add(&entry);
        if added.is_err() {
            entry.stop().await;
        }
        added.map(|()| entry)
    }

    /// Makes these proxies, one after the other, until one fails: those that are there then, and
    /// why it failed. A proxy that has the same addresses already is left as it is.
    pub(super) async fn populate(
        &self,
        specs: Vec<ProxySpec>,
    ) -> (Vec<Arc<Entry>>, Option<ApiError>) {
        let mut there = Vec::new();
        for spec in specs {
            match self.create_or_replace(spec).await {
                Ok(entry) => there.push(entry),
                Err(error) => return (there, Some(error)),
            }
        }
        (there, None)
    }

    async fn create_or_replace(&self, spec: ProxySpec) -> Result<Arc<Entry>, ApiError> {
        let Ok(existing) = self.find(&spec.name) else { return self.create(spec).await };
        if !existing.differs(&spec).await? {
            return Ok(existing);
        }
        existing.stop().await;
        let entry = self.start(spec).await?;
        self.lock().insert(entry.name().to_owned(), Arc::clone(&entry));
        Ok(entry)
    }

    /// Takes a proxy away; its port refuses connections and its own are closed on return.
    pub(super) async fn delete(&self, name: &str) -> Result<(), ApiError> {
        let entry = self.lock().remove(name).ok_or(ApiError::NoProxy)?;
        entry.stop().await;
        Ok(())
    }

    /// Heals every proxy, by name, until one cannot listen.
    pub(super) async fn reset(&self) -> Result<(), ApiError> {
        for entry in self.all() {
            entry.reset().await?;
        }
        Ok(())
    }

    /// Closes every proxy and forgets it.
    pub(super) async fn close(&self) {
        let entries = std::mem::take(&mut *self.lock());
        for entry in entries.into_values() {
            entry.stop().await;
        }
    }

    async fn start(&self, spec: ProxySpec) -> Result<Arc<Entry>, ApiError> {
        Entry::start(spec, self.timer.clone(), self.streams).await.map(Arc::new)
    }

    /// Adds what was started, unless another has come first.
    fn add(&self, entry: &Arc<Entry>) -> Result<(), ApiError> {
        let mut entries = self.lock();
        refuse_taken(&entries, entry.name())?;
        entries.insert(entry.name().to_owned(), Arc::clone(entry));
        Ok(())
    }

    /// Nothing that can panic runs under this lock, so a poisoned map is still whole.
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Entry>>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Refuses a name that another proxy has, and one proxy too many.
fn refuse_taken(entries: &BTreeMap<String, Arc<Entry>>, name: &str) -> Result<(), ApiError> {
    if entries.contains_key(name) {
        return Err(ApiError::ProxyExists);
    }
    let too_many = ApiError::TooMany { what: "proxies", limit: MAX_PROXIES };
    if entries.len() < MAX_PROXIES { Ok(()) } else { Err(too_many) }
}

/// Refuses a name that is too long to be shown.
pub(super) fn refuse_long(name: &str) -> Result<(), ApiError> {
    let long = name.len() > MAX_NAME;
    if long { Err(ApiError::TooMany { what: "bytes of a name", limit: MAX_NAME }) } else { Ok(()) }
}
