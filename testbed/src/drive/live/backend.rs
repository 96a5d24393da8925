//! The backends of a live run's arms: of this process, or elsewhere.

use super::super::world::{ArmFaults, WorldError};
use super::failed;
use crate::backend::{
    Backend, BackendError, BackendUrl, Faults, RemoteBackend, RemoteBackends, RemoteHost,
};
use crate::experiment::plan::ArmPlan;
use faults::engine::EmbeddedHost;
use std::net::SocketAddr;
use std::vec;
use testbed_core::hold::Feed;
use testbed_core::service::{BackendState, Counts};
use testbed_core::time::Nanos;
use tokio::runtime::Runtime;

/// Where the backends of a run come from, one after the other.
pub(super) enum Backends {
    /// Each is started here when it is asked for.
    Local,
    /// They have been made elsewhere, all at once.
    Remote { made: vec::IntoIter<RemoteBackend>, all: Box<RemoteBackends> },
}

/// The backend of one arm.
pub(super) enum ArmBackend {
    /// Of this process.
    Local(Backend),
    /// Elsewhere.
    Remote(Box<RemoteBackend>),
}

impl Backends {
    /// Those of `arms`: of this process, unless a URL says where else.
    pub(super) fn open(
        url: Option<&BackendUrl>,
        arms: &[ArmPlan],
        host: &EmbeddedHost,
    ) -> Result<Self, BackendError> {
        let Some(url) = url else { return Ok(Self::Local) };
        let remote = RemoteHost { runtime: host.runtime.clone(), timer: host.timer.clone() };
        let hosts = arms.iter().enumerate().filter(|(index, arm)| arm.host == *index);
        let wanted = hosts.map(|(_, arm)| arm).map(|arm| (arm.name.as_str(), &arm.backend));
        let (all, made) = RemoteBackends::make(url, wanted, host.streams.seed(), remote)?;
        Ok(Self::Remote { made: made.into_iter(), all: Box::new(all) })
    }

    /// That of the next arm of the plan.
    pub(super) fn next(
        &mut self,
        arm: &ArmPlan,
        host: &EmbeddedHost,
    ) -> Result<ArmBackend, WorldError> {
        match self {
            Self::Local => {
                let any_port = SocketAddr::from(([127, 0, 0, 1], 0));
                let start =
                    Backend::start(any_port, &arm.backend, &host.streams, host.timer.clone());
                let started = host.runtime.block_on(start);
                started.map(ArmBackend::Local).map_err(failed("cannot start a backend"))
            }
            Self::Remote { made, .. } => {
                let next = made.next().expect("as many were made as arms host one");
                Ok(ArmBackend::Remote(Box::new(next)))
            }
        }
    }

    /// Closes those that are elsewhere.
    pub(super) fn close(&mut self) -> Result<(), BackendError> {
        match self {
            Self::Local => Ok(()),
            Self::Remote { all, .. } => all.close(),
        }
    }
}

impl ArmBackend {
    /// Where this process connects to it.
    pub(super) fn addr(&self) -> SocketAddr {
        match self {
            Self::Local(backend) => backend.addr(),
            Self::Remote(backend) => backend.addr(),
        }
    }

    /// Where a proxy connects to it, `host:port`.
    pub(super) fn upstream(&self) -> String {
        match self {
            Self::Local(backend) => backend.addr().to_string(),
            Self::Remote(backend) => backend.upstream().to_owned(),
        }
    }

    /// Makes these, and no others, what is wrong with it.
    pub(super) fn set_faults(&mut self, faults: &ArmFaults) -> Result<(), BackendError> {
        match self {
            Self::Local(backend) => {
                backend.set_hold(faults.hold);
                backend.set_rules(faults.rules.clone());
                backend.set_slow_starts(&faults.slow_starts);
                backend.set_servers(faults.servers);
                backend.set_frozen(faults.frozen);
                Ok(())
            }
            Self::Remote(backend) => backend.set_faults(&faults.into()),
        }
    }

    /// Tells a gradient hold what the client's side knows after an answer.
    pub(super) fn feed(&self, feed: Feed) {
        match self {
            Self::Local(backend) => backend.feed(feed),
            Self::Remote(backend) => backend.feed(feed),
        }
    }

    /// How long the feeds since the last call were on their way; here they are calls of a function.
    pub(super) fn take_feed_lags(&self) -> Vec<Nanos> {
        match self {
            Self::Local(_) => Vec::new(),
            Self::Remote(backend) => backend.take_feed_lags(),
        }
    }

    /// What is inside; elsewhere, what was at the look before.
    pub(super) fn look(&self) -> BackendState {
        match self {
            Self::Local(backend) => backend.look(),
            Self::Remote(backend) => backend.look(),
        }
    }

    /// What every rule that was ever in force has done, by name; elsewhere, at the last look.
    pub(super) fn injected(&self) -> Vec<(String, Counts)> {
        match self {
            Self::Local(backend) => backend.injected(),
            Self::Remote(backend) => backend.injected(),
        }
    }

    /// What the backend itself says is wrong with it.
    pub(super) fn read_back(&mut self) -> Result<Vec<String>, BackendError> {
        match self {
            Self::Local(backend) => Ok(backend.faults()),
            Self::Remote(backend) => backend.read_back(),
        }
    }

    /// What went wrong with it by itself.
    pub(super) fn failure(&self) -> Option<BackendError> {
        match self {
            Self::Local(_) => None,
            Self::Remote(backend) => backend.failure(),
        }
    }

    /// Closes it; those elsewhere are closed all at once.
    pub(super) fn close(self, runtime: &Runtime) {
        if let Self::Local(backend) = self {
            runtime.block_on(backend.close());
        }
    }
}

impl From<&ArmFaults> for Faults {
    fn from(faults: &ArmFaults) -> Self {
        Self {
            hold: faults.hold.map(Into::into),
            rules: faults.rules.clone(),
            slow_starts: faults.slow_starts.clone(),
            servers: faults.servers,
            frozen: faults.frozen,
        }
    }
}

#[cfg(test)]
mod tests;
