//! `windtunnel backend --control`: backends for the arms of a testbed in another container.
//!
//! A testbed makes its backends itself, unless they are to stand elsewhere. Then it asks here for
//! one listener an arm, pushes what is wrong with each, and feeds their gradient holds.

mod arms;
mod lease;
mod ports;
mod routes;
pub(super) mod wire;

pub use ports::Ports;

use super::server;
use arms::Arms;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use testbed_clock::Timer;
use testbed_core::time::Nanos;
use tokio::sync::watch;

/// Where the control API listens, and where the backends do that it makes.
#[derive(Clone, Copy, Debug)]
pub struct ControlArgs {
    /// Where the API listens; port 0 takes any free one.
    pub listen: SocketAddr,
    /// The address on which the backends of arms listen.
    pub host: IpAddr,
    /// Their ports.
    pub ports: Ports,
    /// For how long a testbed that made backends may not be heard of before they are closed.
    pub lease: Nanos,
}

/// The control API and the backends that it has made, until it is closed or dropped.
pub(crate) struct Control {
    addr: SocketAddr,
    arms: Arc<Arms>,
    stop: watch::Sender<()>,
}

impl Control {
    /// Listens, and serves on the current tokio runtime.
    ///
    /// # Errors
    /// If it cannot listen, with the address and the cure.
    pub(crate) fn start(args: &ControlArgs, timer: Timer) -> io::Result<Self> {
        let listener = server::bind(args.listen)?;
        let addr = listener.local_addr()?;
        let arms = Arc::new(Arms::new(args, timer.clone()));
        let router = routes::routes(Arc::clone(&arms));
        let (stop, stopped) = watch::channel(());
        tokio::spawn(server::run(stopped, listener, router, timer));
        Ok(Self { addr, arms, stop })
    }

    /// Where the API listens; the port is the real one.
    pub(crate) const fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Stops listening, then closes every backend. When it returns, all sockets are closed.
    pub(crate) async fn close(&self) {
        self.stop.send_replace(());
        self.stop.closed().await;
        self.arms.close().await;
    }
}

#[cfg(test)]
mod tests;
