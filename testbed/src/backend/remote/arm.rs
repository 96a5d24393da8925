//! The backend of one arm, elsewhere.

use super::RemoteHost;
use super::error::BackendError;
use super::line::{Line, Site};
use super::tasks::{self, Newest, Seen, Shared};
use crate::backend::control::wire::{Faults, FeedBody, Place, View};
use hyper::Method;
use std::net::SocketAddr;
use std::sync::Arc;
use testbed_core::hold::Feed;
use testbed_core::service::{BackendState, Counts};
use testbed_core::time::Nanos;
use tokio::runtime::Handle;
use tokio::sync::watch;

/// The backend of one arm, elsewhere. It is closed with [`super::RemoteBackends`].
///
/// Calls that return an error block their thread until the backend has done it, and have to come from
/// outside of tokio.
#[derive(Debug)]
pub struct RemoteBackend {
    runtime: Handle,
    line: Line,
    /// Its path in the API.
    path: String,
    upstream: String,
    addr: SocketAddr,
    newest: watch::Sender<Newest>,
    lags: Shared<Vec<Nanos>>,
    look: watch::Sender<()>,
    seen: Shared<Seen>,
}

impl RemoteBackend {
    pub(super) fn new(site: &Arc<Site>, place: &Place, host: &RemoteHost) -> Self {
        // An arm's name is letters, digits, dots, dashes and underscores, as the check of files has it.
        let path = format!("/arms/{}", place.name);
        let (upstream, addr) = site.port(place.port);
        let ((newest, to_push), (look, to_look)) =
            (watch::channel(Newest::default()), watch::channel(()));
        let (lags, seen) = (Shared::<Vec<Nanos>>::default(), Shared::<Seen>::default());
        let line = || Line::new(Arc::clone(site));
        let feed_path = format!("{path}/feed");
        host.runtime.spawn(tasks::push(line(), feed_path, to_push, lags.clone()));
        host.runtime.spawn(tasks::look(line(), path.clone(), to_look, seen.clone()));
        let (runtime, line) = (host.runtime.clone(), line());
        Self { runtime, line, path, upstream, addr, newest, lags, look, seen }
    }

    /// Where it is, `host:port`, by the host of the URL: for a proxy elsewhere.
    pub fn upstream(&self) -> &str {
        &self.upstream
    }

    /// Where this process connects to it.
    pub const fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Makes these, and no others, what is wrong with it, and has it say so.
    ///
    /// # Errors
    /// If it does not, or something went wrong before.
    pub(crate) fn set_faults(&mut self, faults: &Faults) -> Result<(), BackendError> {
        self.failure().map_or(Ok(()), Err)?;
        let gradient = faults.hold.as_ref().is_some_and(|hold| hold.gradient.is_some());
        if gradient {
            self.feed_now()?;
        }
        let path = format!("{}/faults", self.path);
        let view: View = self.runtime.block_on(self.line.ask(Method::PUT, &path, Some(faults)))?;
        self.require(&path, &view.faults, faults)?;
        self.want_feeds(gradient);
        *self.seen.lock() = view.into();
        Ok(())
    }

    /// A hold is to find what it goes by when it comes.
    fn feed_now(&mut self) -> Result<(), BackendError> {
        let feed = FeedBody::from(self.newest.borrow().feed);
        let path = format!("{}/feed", self.path);
        self.runtime.block_on(self.line.tell(Method::PUT, &path, Some(&feed)))?;
        self.want_feeds(true);
        Ok(())
    }

    /// Has feeds pushed from the next one on, or no more.
    fn want_feeds(&self, wanted: bool) {
        self.newest.send_if_modified(|newest| {
            newest.wanted = wanted;
            false
        });
    }

    /// Wants it to have what it was sent, as that is after the way there and back.
    fn require(&self, path: &str, found: &Faults, sent: &Faults) -> Result<(), BackendError> {
        let failed = |why: String| self.line.site().failed(format!("PUT {path}"), why);
        let there_and_back = carried(sent).and_then(|there| carried(&there));
        let expected = there_and_back.map_err(|error| failed(error.to_string()))?;
        if *found == expected {
            return Ok(());
        }
        Err(failed(format!("it has {found:?}, not {expected:?}")))
    }

    /// Tells a gradient hold what the client's side knows after an answer; nothing waits for it.
    pub fn feed(&self, feed: Feed) {
        let since = self.line.site().timer.clock().now();
        self.newest.send_if_modified(|newest| {
            (newest.feed, newest.since) = (feed, since);
            newest.wanted
        });
    }

    /// How long each feed since the last call took from [`RemoteBackend::feed`] to its acknowledgement.
    /// One that was overtaken by a newer one before it left is none.
    pub fn take_feed_lags(&self) -> Vec<Nanos> {
        std::mem::take(&mut *self.lags.lock())
    }

    /// What was inside at the last look, and looks again; nothing waits for it.
    pub fn look(&self) -> BackendState {
        self.look.send_replace(());
        self.seen.lock().state
    }

    /// What every rule had done at the last look, by name.
    pub fn injected(&self) -> Vec<(String, Counts)> {
        self.seen.lock().injected.clone()
    }

    /// What the backend itself says is wrong with it on purpose.
    ///
    /// # Errors
    /// If it does not say it, or something went wrong before.
    pub fn read_back(&mut self) -> Result<Vec<String>, BackendError> {
        self.failure().map_or(Ok(()), Err)?;
        let asked = self.line.ask(Method::GET, &self.path, None::<&()>);
        let view: View = self.runtime.block_on(asked)?;
        let active = view.active.clone();
        *self.seen.lock() = view.into();
        Ok(active)
    }

    /// The first thing that went wrong by itself; it stays.
    pub fn failure(&self) -> Option<BackendError> {
        self.line.site().failure()
    }
}

/// What becomes of faults on their way: a number may lose its last digit.
fn carried(faults: &Faults) -> serde_json::Result<Faults> {
    serde_json::from_slice(&serde_json::to_vec(faults)?)
}
