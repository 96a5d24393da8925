//! Sockets: where the API listens, and how it ends.

use super::registry::Registry;
use super::routes::router;
use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use testbed_clock::Timer;
use testbed_core::time::Nanos;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, JoinSet};

/// Clients that may be connected at a time; more wait in the listener's queue.
pub const MAX_CLIENTS: usize = 512;

/// Bytes that a connection of a client holds, about; the head of a request has room in it.
const BUFFER: usize = 64 * 1024;

/// Pause after a failed accept, most likely for want of file descriptors.
const ACCEPT_AGAIN: Nanos = Nanos::from_millis(10);

/// Toxiproxy's HTTP API over the proxies of a registry.
///
/// Dropping it closes the API soon after; the proxies go with the registry. [`Server::close`]
/// closes both and waits for that.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    registry: Arc<Registry>,
    /// Never sent on; its end is the signal.
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Server {
    /// Serves on `listen`, whose port may be 0 for any free one, on the current tokio runtime.
    ///
    /// # Errors
    /// If it cannot listen there.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub async fn start(listen: SocketAddr, registry: Registry) -> io::Result<Self> {
        let listener = TcpListener::bind(listen).await?;
        let (address, registry) = (listener.local_addr()?, Arc::new(registry));
        let (stop, stopped) = oneshot::channel();
        let router = router(Arc::clone(&registry));
        let task = tokio::spawn(serve(stopped, listener, router, registry.timer().clone()));
        Ok(Self { address, registry, stop, task })
    }

    /// Where it listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Closes the API, then every proxy, and returns when all of that is done.
    pub async fn close(self) {
        drop(self.stop);
        // An error means that the runtime is going down, and the sockets with it.
        let _ = self.task.await;
        self.registry.close().await;
    }
}

/// Accepts clients until stopped, then cuts them all.
async fn serve(
    mut stopped: oneshot::Receiver<()>,
    listener: TcpListener,
    router: Router,
    timer: Timer,
) {
    let mut clients = JoinSet::new();
    loop {
        tokio::select! {
            biased;
            _ = &mut stopped => break,
            Some(_) = clients.join_next() => {}
            accepted = listener.accept(), if clients.len() < MAX_CLIENTS => match accepted {
                Ok((stream, _)) => { clients.spawn(converse(stream, router.clone())); }
                Err(_) => timer.sleep_until(timer.clock().now().after(ACCEPT_AGAIN)).await,
            },
        }
    }
    drop(listener);
    clients.shutdown().await;
}

/// One client, to its end. How it ends is its own business.
async fn converse(stream: TcpStream, router: Router) {
    let _ = stream.set_nodelay(true);
    let _ = http1::Builder::new()
        .auto_date_header(false)
        .max_buf_size(BUFFER)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router))
        .await;
}
