//! The listening half of a proxy that is up.

use super::Shared;
use super::connection::Connection;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use testbed_core::time::Nanos;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, JoinSet};

/// How long to wait after a failed accept: the usual cause, too many open files, takes a while to
/// go away, and trying at once would spin.
const AFTER_FAILED_ACCEPT: Nanos = Nanos::from_millis(5);

/// A proxy that listens. Stops when dropped.
#[derive(Debug)]
pub(super) struct Running {
    address: SocketAddr,
    /// Never sent on; its end is the signal.
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Running {
    /// Listens on `listen` and serves what comes.
    pub(super) async fn start(listen: SocketAddr, shared: &Arc<Shared>) -> io::Result<Self> {
        let cannot = |error: io::Error| {
            io::Error::new(error.kind(), format!("cannot listen on {listen}: {error}"))
        };
        let listener = TcpListener::bind(listen).await.map_err(cannot)?;
        let address = listener.local_addr().map_err(cannot)?;
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(serve(listener, Arc::clone(shared), stopped));
        Ok(Self { address, stop, task })
    }

    /// Where it listens.
    pub(super) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Closes listener and connections, and returns when all are closed.
    pub(super) async fn stop(self) {
        drop(self.stop);
        // An error means that the runtime is going down, and the sockets with it.
        let _ = self.task.await;
    }
}

/// Accepts connections until stopped, then closes them all. They end with this task, however it
/// ends, because the set owns them.
async fn serve(listener: TcpListener, shared: Arc<Shared>, mut stopped: oneshot::Receiver<()>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            biased;
            _ = &mut stopped => break,
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((client, _)) => {
                    connections.spawn(Connection::new(client, Arc::clone(&shared)).serve());
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
