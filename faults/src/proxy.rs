//! The embedded proxy: TCP through the chains of a live run.

mod connection;
mod link;
mod listener;
mod splice;
mod stats;
mod table;

pub use stats::{ProxyStats, StreamStats};

use crate::control::{FaultError, ProxyFaults, ToxicId};
use crate::toxic::{Toxic, ToxicKind};
use listener::{Running, resolve};
use stats::Counters;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use table::Table;
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
    shared: Arc<Shared>,
    listen: watch::Sender<Listen>,
    /// `None` while the proxy is down.
    running: Mutex<Option<Running>>,
}

/// Where a proxy listens.
#[derive(Clone, Debug)]
struct Listen {
    /// As it was asked for, until it has listened there; then the real address.
    text: String,
    /// The real address, if it has listened there.
    address: Option<SocketAddr>,
}

/// What the proxy shares with its tasks.
#[derive(Debug)]
struct Shared {
    name: String,
    upstream: watch::Sender<String>,
    timer: Timer,
    streams: Streams,
    faults: watch::Sender<ProxyFaults>,
    counters: Counters,
    table: Table,
}

impl EmbeddedProxy {
    /// Starts a proxy from `listen` to `upstream`, up and without toxics. Both are addresses or
    /// `host:port`; the upstream's name is looked up for each connection. Delays are kept on
    /// `timer`. Chance is drawn from `streams` for each proxy name, connection and direction. Runs
    /// on the current tokio runtime.
    ///
    /// # Errors
    /// If it cannot listen; the message names the address.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub async fn start(
        listen: impl ToString,
        upstream: impl ToString,
        timer: Timer,
        streams: Streams,
        name: &str,
    ) -> io::Result<Self> {
        let proxy = Self::down(listen, upstream, timer, streams, name);
        proxy.set_enabled(true).await?;
        Ok(proxy)
    }

    /// A proxy as [`EmbeddedProxy::start`] makes it, but down: [`EmbeddedProxy::set_enabled`] takes
    /// it up.
    pub fn down(
        listen: impl ToString,
        upstream: impl ToString,
        timer: Timer,
        streams: Streams,
        name: &str,
    ) -> Self {
        let mut faults = ProxyFaults::default();
        faults.set_enabled(false);
        let shared = Arc::new(Shared {
            name: name.to_owned(),
            upstream: watch::Sender::new(upstream.to_string()),
            timer,
            streams,
            faults: watch::Sender::new(faults),
            counters: Counters::default(),
            table: Table::default(),
        });
        let listen = watch::Sender::new(Listen { text: listen.to_string(), address: None });
        Self { shared, listen, running: Mutex::new(None) }
    }

    /// The proxy's name.
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// Where it listens, also while down: the real address once it has listened there, and what was
    /// asked for until then.
    pub fn listen(&self) -> String {
        self.listen.borrow().text.clone()
    }

    /// The real address at which it listens, also while down; 0.0.0.0:0 if it never has listened.
    pub fn listen_addr(&self) -> SocketAddr {
        let nowhere = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
        self.listen.borrow().address.unwrap_or(nowhere)
    }

    /// Where it connects to, as it was asked to.
    pub fn upstream(&self) -> String {
        self.shared.upstream.borrow().clone()
    }

    /// Its faults as they are now.
    pub fn faults(&self) -> ProxyFaults {
        self.shared.faults.borrow().clone()
    }

    /// Its counters as they are now.
    pub fn stats(&self) -> ProxyStats {
        self.shared.counters.snapshot()
    }

    /// Whether a toxic acts now on either direction of the connection that a client has opened from
    /// its local address `peer`: toxicity has struck there; or did so at the end of one of the 256
    /// that were closed last. `None` if there is no such connection, or it is not accepted yet.
    ///
    /// Links draw on their own tasks, so a change shows here a moment after the call. After an
    /// answer has come through, this says what acted on it, unless there was a change meanwhile.
    pub fn strikes(&self, peer: SocketAddr) -> Option<bool> {
        self.shared.table.strikes(peer)
    }

    /// Adds a toxic behind the others.
    ///
    /// # Errors
    /// [`FaultError::Exists`] if its name is taken.
    pub fn add_toxic(&self, toxic: Toxic) -> Result<ToxicId, FaultError> {
        let now = self.shared.timer.clock().now();
        self.change(|faults| faults.add(now, toxic))
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
        if enabled {
            return self.go_up(&mut running).await;
        }
        self.go_down(&mut running).await;
        Ok(())
    }

    /// Connects to another upstream from now on, and closes the connections to the old one. The
    /// same upstream again changes nothing.
    pub async fn set_upstream(&self, upstream: &str) {
        let running = self.running.lock().await;
        if *self.shared.upstream.borrow() == upstream {
            return;
        }
        self.shared.upstream.send_replace(upstream.to_owned());
        if let Some(running) = &*running {
            running.close_connections().await;
        }
    }

    /// Listens elsewhere, which closes all connections. The same address again changes nothing. A
    /// proxy that is down stays so.
    ///
    /// # Errors
    /// If it cannot listen; it is down then and keeps the new address, as Toxiproxy does.
    pub async fn set_listen(&self, listen: &str) -> io::Result<()> {
        let mut running = self.running.lock().await;
        if self.listens_on(listen).await {
            return Ok(());
        }
        let was_up = running.is_some();
        self.go_down(&mut running).await;
        self.listen.send_replace(Listen { text: listen.to_owned(), address: None });
        if was_up { self.go_up(&mut running).await } else { Ok(()) }
    }

    /// Makes these, and no others, its faults. Toxics are told apart by their ids, so `faults` is
    /// to come from one [`ProxyFaults`] over the life of the proxy. It may go by another clock than
    /// the proxy's timer; see [`ProxyFaults::follow`].
    ///
    /// # Errors
    /// If it cannot listen; the toxics are in force all the same.
    pub async fn set_faults(&self, faults: &ProxyFaults) -> io::Result<()> {
        let now = self.shared.timer.clock().now();
        self.shared.faults.send_if_modified(|own| own.follow(now, faults));
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
    pub async fn close(&self) {
        self.go_down(&mut *self.running.lock().await).await;
    }

    async fn listens_on(&self, listen: &str) -> bool {
        let current = self.listen.borrow().clone();
        current.text == listen
            || current.address.is_some() && current.address == resolve(listen).await.ok()
    }

    async fn go_up(&self, running: &mut Option<Running>) -> io::Result<()> {
        if running.is_none() {
            let listen = self.listen();
            let started = Running::start(&listen, &self.shared).await;
            let started = started.inspect_err(|_| self.tell_enabled(false))?;
            let address = started.address();
            self.listen.send_replace(Listen { text: address.to_string(), address: Some(address) });
            *running = Some(started);
        }
        self.tell_enabled(true);
        Ok(())
    }

    async fn go_down(&self, running: &mut Option<Running>) {
        if let Some(running) = running.take() {
            running.stop().await;
        }
        self.tell_enabled(false);
    }

    fn tell_enabled(&self, enabled: bool) {
        self.shared.faults.send_modify(|faults| faults.set_enabled(enabled));
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
