//! Proxies in a running Toxiproxy, over its HTTP API (cargo feature `toxiproxy`).
//!
//! Most writes are calls of the crate `toxiproxy_rust`, which are then read back: it never looks at
//! the status of an answer. It panics inside of tokio, when an answer does not come, and where its
//! types are too narrow. So it lives on one thread of ours, which catches that, and what it
//! has no call for is sent by ourselves (the README says what that is).
//!
//! Proxies are named `windtunnel-<arm>`. A [`Remote`] deletes what an earlier one has left behind,
//! so a Toxiproxy serves one run at a time; proxies with other names are left alone.

mod changes;
mod crate_client;
mod http;
mod names;
mod session;
mod wire;
mod worker;

pub use names::PREFIX;
pub use worker::Limits;

use crate::control::ProxyFaults;
use crate::engine::{
    EngineError, EngineInfo, FaultControl, ProxyState, ToxiproxyUrl, check_toxiproxy,
};
use session::Failure;
use std::net::SocketAddr;
use worker::Worker;

/// A Toxiproxy that is reached over its HTTP API, and the thread that talks to it.
#[derive(Debug)]
pub struct Remote {
    worker: Worker,
    info: EngineInfo,
}

impl Remote {
    /// Finds the Toxiproxy at `url`, and deletes the proxies of earlier runs there.
    ///
    /// # Errors
    /// [`EngineError::NoAnswer`] if nothing answers there as a Toxiproxy;
    /// [`EngineError::Failed`] if it does but not as it has to.
    pub fn connect(url: &ToxiproxyUrl) -> Result<Self, EngineError> {
        Self::connect_within(url, Limits::default())
    }

    /// As [`Remote::connect`], with other limits of time.
    ///
    /// # Errors
    /// As [`Remote::connect`].
    pub fn connect_within(url: &ToxiproxyUrl, limits: Limits) -> Result<Self, EngineError> {
        let (worker, version) = Worker::start(url, limits)?;
        Ok(Self { worker, info: EngineInfo { name: "toxiproxy", version } })
    }

    /// The version that it answers with.
    pub const fn info(&self) -> &EngineInfo {
        &self.info
    }

    /// A proxy for `arm`, up and without toxics, to `upstream` (`host:port`, as the Toxiproxy sees
    /// it). It listens on a free port: of the loopback if that is where the Toxiproxy was found,
    /// else of every interface.
    ///
    /// # Errors
    /// If there is one for this arm, it cannot be made, or it cannot be reached from here.
    pub fn proxy(&self, arm: &str, upstream: &str) -> Result<RemoteControl, EngineError> {
        let (name, failure) = (names::of_arm(arm), Failure::default());
        let call = format!("make `{name}`");
        let (made, kept, upstream) = (name.clone(), failure.clone(), upstream.to_owned());
        let make = move |session: &mut session::Session| session.create(&made, upstream, kept);
        let address = self.worker.ask(&call, make)?;
        let (worker, info) = (self.worker.clone(), self.info.clone());
        Ok(RemoteControl { worker, info, name, address, failure, closed: false })
    }
}

/// One proxy in a Toxiproxy. Dropping it deletes the proxy as [`FaultControl::close`] does, but
/// nobody hears of an error.
#[derive(Debug)]
pub struct RemoteControl {
    worker: Worker,
    info: EngineInfo,
    name: String,
    address: SocketAddr,
    failure: Failure,
    closed: bool,
}

impl RemoteControl {
    /// Deletes the proxy, once.
    fn end(&mut self) -> Result<(), EngineError> {
        if std::mem::replace(&mut self.closed, true) {
            return Ok(());
        }
        let name = self.name.clone();
        self.worker.ask(&format!("close `{name}`"), move |session| session.delete(&name))
    }
}

impl FaultControl for RemoteControl {
    fn info(&self) -> EngineInfo {
        self.info.clone()
    }

    fn address(&self) -> SocketAddr {
        self.address
    }

    fn check(&self, faults: &ProxyFaults) -> Result<(), EngineError> {
        faults.toxics().iter().try_for_each(|active| check_toxiproxy(&active.toxic))
    }

    fn set(&mut self, faults: &ProxyFaults) -> Result<(), EngineError> {
        self.check(faults)?;
        self.failure().map_or(Ok(()), Err)?;
        let (name, faults) = (self.name.clone(), faults.clone());
        self.worker.ask(&format!("set `{name}`"), move |session| session.set(&name, faults))
    }

    fn read_back(&mut self) -> Result<ProxyState, EngineError> {
        let name = self.name.clone();
        self.worker.ask(&format!("read `{name}`"), move |session| session.read(&name))
    }

    fn failure(&self) -> Option<EngineError> {
        self.failure.first()
    }

    fn close(mut self: Box<Self>) -> Result<(), EngineError> {
        self.end()
    }
}

impl Drop for RemoteControl {
    fn drop(&mut self) {
        // Nobody is left to be told; the next run deletes what remains.
        let _ = self.end();
    }
}
