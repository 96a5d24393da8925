//! One arm of the live world: its backend, its proxy, and its clients.

use super::super::world::{ArmFaults, ReadBack, WorldError};
use super::backend::{ArmBackend, Backends};
use crate::client::{Client, Local};
use crate::experiment::file::Classify;
use crate::experiment::plan::ArmPlan;
use faults::engine::EmbeddedHost;
use faults::{EmbeddedProxy, Engine, FaultControl, StreamStats};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use testbed_core::event::Network;
use tokio::runtime::Runtime;

pub(super) struct LiveArm {
    /// Its backend, perhaps that of others, too.
    pub(super) backend: Rc<RefCell<ArmBackend>>,
    /// Whether it is this arm whose faults are the backend's.
    hosts: bool,
    /// The proxy's faults; `None` if clients connect to the backend itself.
    control: Option<Box<dyn FaultControl>>,
    pub(super) proxy: Proxy,
    pub(super) client: Client,
    pub(super) classify: Classify,
}

/// What is between clients and backend, as far as this process can look into it.
#[derive(Clone)]
pub(super) enum Proxy {
    /// Nothing.
    None,
    /// A proxy of this process.
    Embedded(Arc<EmbeddedProxy>),
    /// A proxy elsewhere.
    Remote,
}

impl LiveArm {
    /// Starts an arm before the backend of `shared`, or one of its own.
    pub(super) fn start(
        arm: &ArmPlan,
        shared: Option<&Self>,
        engine: Option<&Engine>,
        backends: &mut Backends,
        host: &EmbeddedHost,
    ) -> Result<Self, WorldError> {
        let own = || backends.next(arm, host).map(RefCell::new).map(Rc::new);
        let backend = shared.map_or_else(own, |shared| Ok(Rc::clone(&shared.backend)))?;
        let upstream = backend.borrow().upstream();
        let make = |engine: &Engine| engine.proxy(host, &arm.name, &upstream);
        let control = engine.map(make).transpose()?;
        let entrance = match &control {
            None => backend.borrow().addr(),
            Some(control) => control.address(),
        };
        let proxy = Proxy::of(control.as_deref());
        let mut client = Client::with(entrance, &arm.client());
        if arm.backend.queue.goes_by_arm() {
            client.name(&arm.name);
        }
        let hosts = shared.is_none();
        Ok(Self { backend, hosts, control, proxy, client, classify: arm.classify() })
    }

    pub(super) fn set_faults(&mut self, faults: &ArmFaults) -> Result<(), WorldError> {
        if self.hosts {
            self.backend.borrow_mut().set_faults(faults)?;
        }
        let control = self.control.as_mut();
        control.map_or(Ok(()), |control| Ok(control.set(&faults.proxy)?))
    }

    pub(super) fn read_back(&mut self) -> Result<ReadBack, WorldError> {
        let proxy = self.control.as_mut().map(|control| control.read_back()).transpose()?;
        Ok(ReadBack::new(proxy, self.backend.borrow_mut().read_back()?))
    }

    /// What went wrong with the proxy or the backend by itself.
    pub(super) fn failure(&self) -> Option<WorldError> {
        let proxy = self.control.as_ref().and_then(|control| control.failure());
        proxy.map(WorldError::from).or_else(|| self.backend.borrow().failure().map(Into::into))
    }

    /// Takes the proxy away, and then the backend.
    pub(super) fn close(self, runtime: &Runtime) -> Result<(), WorldError> {
        let closed = self.control.map_or(Ok(()), |control| control.close());
        // The last of those that share it.
        if let Some(backend) = Rc::into_inner(self.backend) {
            backend.into_inner().close(runtime);
        }
        Ok(closed?)
    }
}

impl Proxy {
    fn of(control: Option<&dyn FaultControl>) -> Self {
        match control.map(FaultControl::embedded) {
            None => Self::None,
            Some(Some(proxy)) => Self::Embedded(Arc::clone(proxy)),
            Some(None) => Self::Remote,
        }
    }

    /// Whether a toxic acts on the connection that carries an attempt; `None` if nobody can tell.
    pub(super) fn hit(&self, local: &Local) -> Option<bool> {
        match self {
            Self::None => Some(false),
            Self::Embedded(proxy) => proxy.strikes(*local.get()?),
            Self::Remote => None,
        }
    }

    pub(super) fn network(&self) -> Option<Network> {
        match self {
            Self::None => Some(Network::default()),
            Self::Embedded(proxy) => {
                let stats = proxy.stats();
                let sum = |of: fn(&StreamStats) -> u64| of(&stats.upstream) + of(&stats.downstream);
                Some(Network {
                    links: sum(|stream| stream.links),
                    links_hit: sum(|stream| stream.links_hit),
                    dropped: sum(|stream| stream.dropped),
                    aborts: sum(|stream| stream.aborts),
                    resets: sum(|stream| stream.resets),
                })
            }
            Self::Remote => None,
        }
    }
}
