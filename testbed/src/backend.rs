//! The live backend: real HTTP/1.1 around core's [`Service`](testbed_core::service::Service).
//!
//! The model decides which answer leaves when; this module takes requests off the network, gives
//! them to the model, and sends what it releases. Releasing happens on the [`Timer`]'s thread,
//! because tokio's own timers are too coarse to serve in.

mod admin;
mod connection;
mod control;
mod engine;
mod file;
pub mod pattern;
mod range;
mod remote;
mod server;
mod standalone;

#[cfg(test)]
pub(crate) use control::Control;
pub(crate) use control::wire::Faults;
pub use control::{ControlArgs, Ports};
pub use remote::{BackendError, BackendUrl, RemoteBackend, RemoteBackends, RemoteHost};
pub use server::{
    AGE_HEADER, ARM_HEADER, CLASS_HEADER, FILE_PATH, LATENESS_HEADER, PATIENCE_HEADER, TRACE_HEADER,
};
pub use standalone::{StandaloneArgs, run_standalone};

use axum::Router;
use engine::Engine;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use testbed_clock::Timer;
use testbed_core::hold::{Feed, Hold};
use testbed_core::rng::Streams;
use testbed_core::service::{BackendState, Counts, Rule, ServiceConfig, SlowStart};
use tokio::sync::watch;

/// A backend that serves HTTP/1.1 until it is closed or dropped.
///
/// Any request, whatever its method and path, is one job: its body, of 64 KiB at most (beyond it,
/// 413), is read and dropped, and it is answered when the model releases it. The answer carries the
/// model's status, and [`AGE_HEADER`] and [`LATENESS_HEADER`]. A client that goes away does not
/// cancel its job: the servers work on, as real ones do.
///
/// `GET` of [`FILE_PATH`] is a job, too, and answered with the one range of the [file](pattern) that
/// it asks for, as fast as its client takes it: the job is over when the first byte leaves.
///
/// A rule may let an answer leave in another [manner](testbed_core::service::Manner). Rules know a
/// request by its path and by the header [`CLASS_HEADER`].
pub struct Backend {
    addr: SocketAddr,
    engine: Arc<Engine>,
    /// Ends the server when told to or dropped, and knows when it has ended.
    stop: watch::Sender<()>,
}

impl Backend {
    /// Listens on `listen` (port 0: any free one) and serves on the current tokio runtime. Chance
    /// comes from the streams `service` and `reject`.
    ///
    /// # Errors
    /// If it cannot listen there, with the address and the cure; or if `config` has no servers.
    pub async fn start(
        listen: SocketAddr,
        config: &ServiceConfig,
        streams: &Streams,
        timer: Timer,
    ) -> io::Result<Self> {
        Self::serve(listen, config, streams, timer, Router::new()).await
    }

    /// The same, with `GET` and `PUT` of `/hold` and `/faults` for clients outside this process. A gradient hold that
    /// is set there is not fed answer by answer: it follows the baseline that was pushed last.
    ///
    /// # Errors
    /// Those of [`Backend::start`].
    pub async fn start_with_admin(
        listen: SocketAddr,
        config: &ServiceConfig,
        streams: &Streams,
        timer: Timer,
    ) -> io::Result<Self> {
        Self::serve(listen, config, streams, timer, admin::routes()).await
    }

    async fn serve(
        listen: SocketAddr,
        config: &ServiceConfig,
        streams: &Streams,
        timer: Timer,
        admin: Router<Arc<Engine>>,
    ) -> io::Result<Self> {
        if config.servers == 0 {
            let cure = "a backend without servers answers nothing; give it 1 or more";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, cure));
        }
        let listener = server::bind(listen)?;
        let addr = listener.local_addr()?;
        let engine = Engine::new(config, streams, timer.clone());
        let router = server::routes(admin).with_state(Arc::clone(&engine));
        let (stop, stopped) = watch::channel(());
        tokio::spawn(server::run(stopped, listener, router, timer));
        Ok(Self { addr, engine, stop })
    }

    /// Where it listens; the port is the real one.
    pub const fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Replaces the hold. Lifting it lets everything go that is ready.
    pub fn set_hold(&self, hold: Option<Hold>) {
        self.engine.set_hold(hold);
    }

    /// Replaces the rules about single requests. The first that matches decides; names are to be one
    /// of a kind, and a rule with a name that was there before goes on with its counts.
    pub fn set_rules(&self, rules: Vec<Rule>) {
        self.engine.set_rules(rules);
    }

    /// What every rule that was ever in force has done so far, by name.
    pub fn injected(&self) -> Vec<(String, Counts)> {
        self.engine.injected()
    }

    /// What is wrong with it on purpose now; see [`Service::faults`](testbed_core::service::Service::faults).
    pub fn faults(&self) -> Vec<String> {
        self.engine.faults()
    }

    /// Makes these, and no others, the slow starts that are on, by name. One that was on already goes
    /// on.
    pub fn set_slow_starts(&self, starts: &[(String, SlowStart)]) {
        self.engine.set_slow_starts(starts);
    }

    /// Another number of servers, or that of its settings again.
    pub fn set_servers(&self, servers: Option<u32>) {
        self.engine.set_servers(servers);
    }

    /// Stops the model, or lets it go on as if that time had not been.
    pub fn set_frozen(&self, frozen: bool) {
        self.engine.set_frozen(frozen);
    }

    /// Tells a gradient hold what the client's side knows after an answer, which lets the next go.
    pub fn feed(&self, feed: Feed) {
        self.engine.feed(feed);
    }

    /// How many requests have arrived.
    pub fn requests(&self) -> u64 {
        self.engine.requests()
    }

    /// What is inside, and how busy it was since the last look.
    pub fn look(&self) -> BackendState {
        self.engine.look()
    }

    /// Stops listening, drops the jobs inside unanswered and cuts every connection. When it
    /// returns, all sockets are closed. Closing twice is harmless.
    pub async fn close(&self) {
        self.stop.send_replace(());
        self.engine.drain();
        self.stop.closed().await;
    }
}

impl Drop for Backend {
    /// Closes it without waiting: the server ends with `stop`, as soon as the runtime gets to it.
    fn drop(&mut self) {
        self.engine.drain();
    }
}

#[cfg(test)]
mod tests;
