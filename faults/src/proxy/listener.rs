//! The listening half of a proxy that is up.

use super::Shared;
use super::connection::Connection;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use testbed_core::time::Nanos;
use tokio::net::{TcpListener, lookup_host};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinHandle, JoinSet};

/// How long to wait after a failed accept: the usual cause, too many open files, takes a while to
/// go away, and trying at once would spin.
const AFTER_FAILED_ACCEPT: Nanos = Nanos::from_millis(5);

/// A proxy that listens. Stops when dropped.
#[derive(Debug)]
pub(super) struct Running {
    address: SocketAddr,
    /// Orders to close every connection, each answered when that is done. The end of the channel
    /// is the signal to stop.
    orders: mpsc::Sender<oneshot::Sender<()>>,
    task: JoinHandle<()>,
}

impl Running {
    /// Listens on `listen`, an address or `host:port`, and serves what comes.
    pub(super) async fn start(listen: &str, shared: &Arc<Shared>) -> io::Result<Self> {
        let cannot = |error: io::Error| {
            io::Error::new(error.kind(), format!("cannot listen on {listen}: {error}"))
        };
        let listener = TcpListener::bind(resolve(listen).await.map_err(cannot)?);
        let listener = listener.await.map_err(cannot)?;
        let address = listener.local_addr().map_err(cannot)?;
        let (orders, ordered) = mpsc::channel(1);
        let task = tokio::spawn(serve(listener, Arc::clone(shared), ordered));
        Ok(Self { address, orders, task })
    }

    /// Closes every connection, and returns when that is done; it listens on.
    pub(super) async fn close_connections(&self) {
        let (done, is_done) = oneshot::channel();
        // An error means that the runtime is going down, and the sockets with it.
        let _ = self.orders.send(done).await;
        let _ = is_done.await;
    }

    /// Where it listens.
    pub(super) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Closes listener and connections, and returns when all are closed.
    pub(super) async fn stop(self) {
        drop(self.orders);
        // An error means that the runtime is going down, and the sockets with it.
        let _ = self.task.await;
    }
}

/// The address that a name stands for; of several, the first of IPv4, as Toxiproxy takes it.
pub(super) async fn resolve(host: &str) -> io::Result<SocketAddr> {
    let found: Vec<SocketAddr> = lookup_host(host).await?.collect();
    let first = found.iter().find(|address| address.is_ipv4()).or_else(|| found.first());
    first.copied().ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "no such host"))
}

/// Accepts connections until stopped, then closes them all. They end with this task, however it
/// ends, because the set owns them.
async fn serve(
    listener: TcpListener,
    shared: Arc<Shared>,
    mut orders: mpsc::Receiver<oneshot::Sender<()>>,
) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            biased;
            order = orders.recv() => {
                let Some(done) = order else { break };
                connections.shutdown().await;
                // Who gave the order may have stopped waiting.
                let _ = done.send(());
            }
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((client, peer)) => {
                    let connection = Connection::new(client, peer, Arc::clone(&shared));
                    connections.spawn(connection.serve());
                }
                Err(_) => {
                    let now = shared.timer.clock().now();
                    shared.timer.sleep_until(now.after(AFTER_FAILED_ACCEPT)).await;
                }
            },
        }
    }
    drop(listener);
    connections.shutdown().await;
}
