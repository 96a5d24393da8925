//! Backends elsewhere: what a testbed has of those that a `windtunnel backend --control` makes for it.
//!
//! Whatever must be in force when the run goes on is a call that is waited for: making the backends,
//! their faults, closing them. Feeds and looks are tasks that each have a connection of their own, so
//! that the shell's thread never waits for one. The first call that fails ends the run.

mod arm;
mod error;
mod line;
mod tasks;
mod url;

pub use arm::RemoteBackend;
pub use error::BackendError;
pub use url::BackendUrl;

use super::control::wire::{Place, Wanted};
use hyper::Method;
use line::{Line, Site};
use std::sync::Arc;
use testbed_clock::Timer;
use testbed_core::service::ServiceConfig;
use tokio::runtime::Handle;
use tokio::task::AbortHandle;

/// What backends elsewhere are spoken with on.
#[derive(Clone, Debug)]
pub struct RemoteHost {
    /// The runtime of their connections.
    pub runtime: Handle,
    /// Keeps the limits of calls.
    pub timer: Timer,
}

/// The backends that were made elsewhere for one run, until they are closed or dropped.
#[derive(Debug)]
pub struct RemoteBackends {
    host: RemoteHost,
    line: Line,
    beat: AbortHandle,
    closed: bool,
}

impl RemoteBackends {
    /// Makes a backend for each of these arms at `url`, in one call, with chance from this seed. What
    /// another run has there is closed. Must be called from outside of tokio, as all of this.
    ///
    /// # Errors
    /// [`BackendError::NoAnswer`] if nothing answers there; [`BackendError::Failed`] if it does not make
    /// them.
    pub fn make<'a>(
        url: &BackendUrl,
        arms: impl Iterator<Item = (&'a str, &'a ServiceConfig)>,
        seed: u64,
        host: RemoteHost,
    ) -> Result<(Self, Vec<RemoteBackend>), BackendError> {
        let wanted = |(name, service): (&str, &ServiceConfig)| Wanted {
            name: name.to_owned(),
            service: service.clone(),
            seed,
        };
        let wanted: Vec<_> = arms.map(wanted).collect();
        let mut line = Line::new(host.runtime.block_on(Site::find(url, host.timer.clone()))?);
        let made = line.ask(Method::PUT, "/arms", Some(&wanted));
        let places: Vec<Place> = host.runtime.block_on(made)?;
        let site = Arc::clone(line.site());
        let beat = host.runtime.spawn(tasks::beat(Line::new(Arc::clone(&site)))).abort_handle();
        let arms = places.iter().map(|place| RemoteBackend::new(&site, place, &host)).collect();
        Ok((Self { host, line, beat, closed: false }, arms))
    }

    /// Closes the backends, once.
    ///
    /// # Errors
    /// If they are still there, as far as anyone can tell. They close by themselves once their lease is
    /// over.
    pub fn close(&mut self) -> Result<(), BackendError> {
        if std::mem::replace(&mut self.closed, true) {
            return Ok(());
        }
        self.beat.abort();
        self.host.runtime.block_on(self.line.tell(Method::DELETE, "/arms", None::<&()>))
    }
}

impl Drop for RemoteBackends {
    /// Whoever wants to know how it went closes them himself.
    fn drop(&mut self) {
        let _ = self.close();
    }
}
