//! The engine of this process.

use super::error::EngineError;
use super::state::ProxyState;
use super::{EngineInfo, FaultControl};
use crate::control::ProxyFaults;
use crate::proxy::EmbeddedProxy;
use crate::toxic::Toxic;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use testbed_clock::Timer;
use testbed_core::rng::Streams;
use tokio::runtime::Handle;

/// What embedded proxies run on.
#[derive(Clone, Debug)]
pub struct EmbeddedHost {
    /// The runtime of their tasks.
    pub runtime: Handle,
    /// Keeps their delays.
    pub timer: Timer,
    /// Their chance; each draws from streams of its own name.
    pub streams: Streams,
}

/// An embedded proxy, driven from outside of tokio.
#[derive(Debug)]
pub struct EmbeddedControl {
    proxy: Arc<EmbeddedProxy>,
    runtime: Handle,
}

impl EmbeddedControl {
    /// Starts a proxy on a free port of the loopback to `upstream` (`host:port`).
    ///
    /// # Errors
    /// If it cannot listen.
    ///
    /// # Panics
    /// Inside of tokio.
    pub fn start(host: &EmbeddedHost, arm: &str, upstream: &str) -> Result<Self, EngineError> {
        let any_port = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let (timer, streams) = (host.timer.clone(), host.streams);
        let start = EmbeddedProxy::start(any_port, upstream, timer, streams, arm);
        let proxy = host.runtime.block_on(start);
        let failed = |error| EngineError::failed(format!("start proxy `{arm}`"), error);
        let proxy = Arc::new(proxy.map_err(failed)?);
        Ok(Self { proxy, runtime: host.runtime.clone() })
    }
}

pub(super) fn info() -> EngineInfo {
    EngineInfo { name: "embedded", version: env!("CARGO_PKG_VERSION").to_owned() }
}

/// Refuses only what no engine can do.
pub(super) fn check(toxic: &Toxic) -> Result<(), EngineError> {
    let unable = |reason: String| EngineError::Unable { toxic: toxic.name().into_owned(), reason };
    toxic.kind.check().map_err(|error| unable(error.to_string()))
}

impl FaultControl for EmbeddedControl {
    fn info(&self) -> EngineInfo {
        info()
    }

    fn address(&self) -> SocketAddr {
        self.proxy.listen_addr()
    }

    fn check(&self, faults: &ProxyFaults) -> Result<(), EngineError> {
        faults.toxics().iter().try_for_each(|active| check(&active.toxic))
    }

    fn set(&mut self, faults: &ProxyFaults) -> Result<(), EngineError> {
        self.check(faults)?;
        let set = self.runtime.block_on(self.proxy.set_faults(faults));
        set.map_err(|error| EngineError::failed(format!("set `{}`", self.proxy.name()), error))
    }

    fn read_back(&mut self) -> Result<ProxyState, EngineError> {
        Ok(ProxyState::of(self.proxy.name(), &self.proxy.faults()))
    }

    /// Always `None`: the proxy is a part of this process and goes with it.
    fn failure(&self) -> Option<EngineError> {
        None
    }

    fn embedded(&self) -> Option<&Arc<EmbeddedProxy>> {
        Some(&self.proxy)
    }

    fn close(self: Box<Self>) -> Result<(), EngineError> {
        let Self { proxy, runtime } = *self;
        runtime.block_on(proxy.close());
        Ok(())
    }
}
