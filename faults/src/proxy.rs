//! The embedded proxy: TCP through the chains of a live run.

mod connection;
mod link;
mod listener;
mod stats;

pub use stats::ProxyStats;

use crate::control::{FaultError, ProxyFaults, ToxicId};
use crate::toxic::{Toxic, ToxicKind};
use listener::Running;
use stats::Counters;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use testbed_clock::Timer;
use testbed_core::quantity::Share;
use testbed_core::rng::Streams;
use tokio::sync::{Mutex, watch};

/// A TCP proxy with faults, on tokio tasks of this process.
///
/// A change of toxics acts on live connections: every byte that the proxy receives after the call
/// has returned meets the change, and nothing that it holds by then leaves earlier for it. At the
/// end of either direction both sockets are closed, as Toxiproxy does; there is no half-close.
///
/// Dropping it closes listener and connections soon after; [`EmbeddedProxy::close`] waits for that.
#[derive(Debug)]
pub struct EmbeddedProxy {
    listen: SocketAddr,
    shared: Arc<Shared>,
    /// `None` while the proxy is down.
    running: Mutex<Option<Running>>,
}

/// What the proxy shares with its tasks.
#[derive(Debug)]
struct Shared {
    name: String,
    upstream: SocketAddr,
    timer: Timer,
    streams: Streams,
    faults: watch::Sender<ProxyFaults>,
    counters: Counters,
}

impl EmbeddedProxy {
    /// Starts a proxy from `listen` to `upstream`, up and without toxics. Delays are kept on
    /// `timer`. Chance is drawn from `streams` for each proxy name, connection and direction. Runs
    /// on the current tokio runtime.
    ///
    /// # Errors
    /// If it cannot listen; the message names the address.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub async fn start(
        listen: SocketAddr,
        upstream: SocketAddr,
        timer: Timer,
        streams: Streams,
        name: &str,
    ) -> io::Result<Self> {
        let faults = watch::Sender::new(ProxyFaults::default());
        let (name, counters) = (name.to_owned(), Counters::default());
        let shared = Arc::new(Shared { name, upstream, timer, streams, faults, counters });
        let running = Running::start(listen, &shared).await?;
        Ok(Self { listen: running.address(), shared, running: Mutex::new(Some(running)) })
    }

    /// The proxy's name.
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// Where it listens, also while down; the real port, if it was started with port 0.
    pub const fn listen_addr(&self) -> SocketAddr {
        self.listen
    }

    /// Where it connects to.
    pub fn upstream_addr(&self) -> SocketAddr {
        self.shared.upstream
    }

    /// Its faults as they are now.
    pub fn faults(&self) -> ProxyFaults {
        self.shared.faults.borrow().clone()
    }

    /// Its counters as they are now.
    pub fn stats(&self) -> ProxyStats {
        self.shared.counters.snapshot()
    }

    /// Adds a toxic behind the others.
    ///
    /// # Errors
    /// [`FaultError::Exists`] if its name is taken.
    pub fn add_toxic(&self, toxic: Toxic) -> Result<ToxicId, FaultError> {
        self.change(|faults| faults.add(toxic))
    }

    /// Changes what a toxic does; see [`ProxyFaults::update`].
    ///
    /// # Errors
    /// [`FaultError::NotFound`] if there is none of this name.
    pub fn update_toxic(
        &self,
        name: &str,
        toxicity: Share,
        kind: ToxicKind,
    ) -> Result<(), FaultError> {
        self.change(|faults| faults.update(name, toxicity, kind))
    }

    /// Takes a toxic away.
    ///
    /// # Errors
    /// [`FaultError::NotFound`] if there is none of this name.
    pub fn remove_toxic(&self, name: &str) -> Result<Toxic, FaultError> {
        self.change(|faults| faults.remove(name))
    }

    /// Takes the proxy up or down. When this returns from taking it down, the port refuses
    /// connections and live ones are closed; up again, it listens on the same port.
    ///
    /// # Errors
    /// If it cannot listen; it is down then, and the message names the address.
    pub async fn set_enabled(&self, enabled: bool) -> io::Result<()> {
        let mut running = self.running.lock().await;
        if enabled && running.is_none() {
            *running = Some(Running::start(self.listen, &self.shared).await?);
        }
        if !enabled && let Some(running) = running.take() {
            running.stop().await;
        }
        self.shared.faults.send_modify(|faults| faults.set_enabled(enabled));
        Ok(())
    }

    /// Makes these, and no others, its faults. Toxics are told apart by their ids, so `faults` is
    /// to come from one [`ProxyFaults`] over the life of the proxy.
    ///
    /// # Errors
    /// If it cannot listen; the toxics are in force all the same.
    pub async fn set_faults(&self, faults: &ProxyFaults) -> io::Result<()> {
        self.shared.faults.send_modify(|own| own.clone_from(faults));
        self.set_enabled(faults.enabled()).await
    }

    /// Heals everything: no toxics, and up.
    ///
    /// # Errors
    /// If it cannot listen; the toxics are gone all the same.
    pub async fn reset(&self) -> io::Result<()> {
        self.shared.faults.send_modify(ProxyFaults::clear);
        self.set_enabled(true).await
    }

    /// Closes listener and connections, and returns when all of that is done.
    pub async fn close(self) {
        if let Some(running) = self.running.into_inner() {
            running.stop().await;
        }
    }

    /// Makes a change and tells every link, unless it is refused.
    fn change<T>(
        &self,
        change: impl FnOnce(&mut ProxyFaults) -> Result<T, FaultError>,
    ) -> Result<T, FaultError> {
        let mut outcome = None;
        self.shared.faults.send_if_modified(|faults| outcome.insert(change(faults)).is_ok());
        outcome.expect("send_if_modified calls its argument")
    }
}
