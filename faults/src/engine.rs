//! Engines: what carries an arm's connections and does its faults in a live run.
//!
//! An [`Engine`] is chosen once, before a run, by an [`EngineChoice`]; it makes a [`FaultControl`]
//! for each arm. There are two: the proxies of this process, and those of a running Toxiproxy
//! (cargo feature `toxiproxy`). A run never changes from one to the other.

mod capability;
mod choice;
mod embedded;
mod error;
mod state;
mod url;

pub use capability::check_toxiproxy;
pub use choice::{EngineChoice, Resolved, TOXIPROXY_URL};
pub use embedded::{EmbeddedControl, EmbeddedHost};
pub use error::EngineError;
pub use state::{ProxyState, ToxicState};
pub use url::ToxiproxyUrl;

use crate::control::ProxyFaults;
use crate::proxy::EmbeddedProxy;
#[cfg(feature = "toxiproxy")]
use crate::remote::Remote;
use crate::toxic::Toxic;
use std::fmt::Debug;
use std::net::SocketAddr;
use std::sync::Arc;

/// Which engine a run had, for its manifest.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EngineInfo {
    /// `embedded` or `toxiproxy`.
    pub name: &'static str,
    /// The engine's version, such as `2.12.0`; the embedded one has that of this crate.
    pub version: String,
}

/// The faults of one arm's proxy, whichever engine it is of.
///
/// Every call blocks its thread until the engine has done it, and has to come from outside of
/// tokio. After an error of [`FaultControl::set`] the faults are unknown, and the next `set`
/// begins with a clean proxy.
pub trait FaultControl: Send + Debug {
    /// The engine that it is of.
    fn info(&self) -> EngineInfo;

    /// Where the arm's clients connect; the same for as long as the proxy exists, also while down.
    fn address(&self) -> SocketAddr;

    /// Refuses faults that this engine cannot do as they are written. For before a run.
    ///
    /// # Errors
    /// [`EngineError::Unable`], with the toxic and the reason.
    fn check(&self, faults: &ProxyFaults) -> Result<(), EngineError>;

    /// Makes these, and no others, its faults. Toxics are told apart by id and version, so `faults`
    /// is to come from one [`ProxyFaults`] over the life of the proxy. What is the same stays
    /// untouched: a toxic that is set anew draws its toxicity anew.
    ///
    /// # Errors
    /// What [`FaultControl::check`] refuses; [`FaultControl::failure`], if there is one; or what
    /// the engine did not do.
    fn set(&mut self, faults: &ProxyFaults) -> Result<(), EngineError>;

    /// What the engine itself says of the proxy.
    ///
    /// # Errors
    /// If it does not say it.
    fn read_back(&mut self) -> Result<ProxyState, EngineError>;

    /// The first thing that went wrong with the proxy by itself, found between calls; it stays. A
    /// run with one has not had the faults that were asked for.
    fn failure(&self) -> Option<EngineError>;

    /// The proxy itself if it is one of this process, for what only such a one can tell: its counters,
    /// and on which connections a toxic acts.
    fn embedded(&self) -> Option<&Arc<EmbeddedProxy>> {
        None
    }

    /// Takes the proxy away, and returns when its port refuses connections.
    ///
    /// # Errors
    /// If it is still there, as far as anyone can tell.
    fn close(self: Box<Self>) -> Result<(), EngineError>;

    /// Whether the engine has the very faults that were set.
    ///
    /// # Errors
    /// [`EngineError::Differs`] with the first difference; or as [`FaultControl::read_back`].
    fn verify(&mut self, faults: &ProxyFaults) -> Result<(), EngineError> {
        let state = self.read_back()?;
        state.require(&ProxyState::of(&state.name, faults))
    }
}

/// What makes the proxies of a run.
#[derive(Debug)]
pub struct Engine(Kind);

#[derive(Debug)]
enum Kind {
    Embedded,
    #[cfg(feature = "toxiproxy")]
    Toxiproxy(Remote),
}

impl Engine {
    /// Proxies in this process.
    pub const fn embedded() -> Self {
        Self(Kind::Embedded)
    }

    /// Proxies in the Toxiproxy at `url`; see [`crate::remote`] for what this does there.
    ///
    /// # Errors
    /// [`EngineError::NoAnswer`] if none answers there as one.
    #[cfg(feature = "toxiproxy")]
    pub fn toxiproxy(url: &ToxiproxyUrl) -> Result<Self, EngineError> {
        Remote::connect(url).map(|remote| Self(Kind::Toxiproxy(remote)))
    }

    /// Proxies in the Toxiproxy at `url`, which this build cannot have.
    ///
    /// # Errors
    /// [`EngineError::NotBuilt`] always.
    #[cfg(not(feature = "toxiproxy"))]
    pub fn toxiproxy(url: &ToxiproxyUrl) -> Result<Self, EngineError> {
        Err(EngineError::NotBuilt { url: url.clone() })
    }

    /// Which engine it is.
    pub fn info(&self) -> EngineInfo {
        match &self.0 {
            Kind::Embedded => embedded::info(),
            #[cfg(feature = "toxiproxy")]
            Kind::Toxiproxy(remote) => remote.info().clone(),
        }
    }

    /// Refuses a toxic that this engine cannot do as it is written. For before a run.
    ///
    /// # Errors
    /// [`EngineError::Unable`], with the reason.
    pub fn check(&self, toxic: &Toxic) -> Result<(), EngineError> {
        match &self.0 {
            Kind::Embedded => embedded::check(toxic),
            #[cfg(feature = "toxiproxy")]
            Kind::Toxiproxy(_) => check_toxiproxy(toxic),
        }
    }

    /// A proxy for `arm`, up and without toxics, on a free port, to `upstream` (`host:port`, as the
    /// engine sees it). One of this process runs on `host`; a remote one has no use for that, nor
    /// for its seed.
    ///
    /// # Errors
    /// If the engine does not make it, or it cannot be reached from here.
    ///
    /// # Panics
    /// Inside of tokio.
    pub fn proxy(
        &self,
        host: &EmbeddedHost,
        arm: &str,
        upstream: &str,
    ) -> Result<Box<dyn FaultControl>, EngineError> {
        Ok(match &self.0 {
            Kind::Embedded => Box::new(EmbeddedControl::start(host, arm, upstream)?),
            #[cfg(feature = "toxiproxy")]
            Kind::Toxiproxy(remote) => Box::new(remote.proxy(arm, upstream)?),
        })
    }
}
