//! Idle connections, kept for the next call.

use http_body_util::Empty;
use hyper::body::Bytes;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use testbed_core::client::Connections;
use tokio::net::TcpStream;

/// The most idle connections that are kept; a call in flight counts for none.
const MOST_IDLE: usize = 4096;

/// A connection on which one call at a time is sent.
pub(super) struct Connection {
    pub(super) sender: SendRequest<Empty<Bytes>>,
    /// Its address on this side.
    pub(super) local: SocketAddr,
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "connection from {}", self.local)
    }
}

/// The connections to one address. It dials as many as there are calls at a time.
#[derive(Debug)]
pub(super) struct Pool {
    addr: SocketAddr,
    keep: Connections,
    /// The last one back is the first to go: it is the one most surely alive.
    idle: Mutex<Vec<Connection>>,
}

impl Pool {
    /// An empty pool.
    pub(super) fn new(addr: SocketAddr, keep: Connections) -> Self {
        Self { addr, keep, idle: Mutex::default() }
    }

    /// Where its connections lead.
    pub(super) const fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// A connection that is ready to send: an idle one that its server has not closed, or else a
    /// new one.
    pub(super) async fn take(&self) -> io::Result<Connection> {
        while let Some(mut connection) = self.take_idle() {
            if connection.sender.ready().await.is_ok() {
                return Ok(connection);
            }
        }
        self.dial().await
    }

    /// Takes a connection back whose last answer has been read to its end.
    pub(super) fn put(&self, connection: Connection) {
        if self.keep == Connections::PerRequest {
            return;
        }
        let mut idle = self.lock();
        if idle.len() < MOST_IDLE {
            idle.push(connection);
        }
    }

    fn take_idle(&self) -> Option<Connection> {
        self.lock().pop()
    }

    async fn dial(&self) -> io::Result<Connection> {
        let stream = TcpStream::connect(self.addr).await?;
        stream.set_nodelay(true)?;
        let local = stream.local_addr()?;
        let (mut sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
        // How it ends is told to the call it is busy with.
        tokio::spawn(async move { drop(connection.await) });
        sender.ready().await.map_err(io::Error::other)?;
        Ok(Connection { sender, local })
    }

    /// Nothing that can panic runs under this lock.
    fn lock(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::net::TcpListener;
    use tokio::task::yield_now;

    #[tokio::test]
    async fn an_idle_connection_is_used_again_until_its_server_closes_it() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let pool = Pool::new(listener.local_addr().unwrap(), Connections::KeepAlive);
        let connection = pool.take().await.unwrap();
        let (server_side, _) = listener.accept().await.unwrap();
        pool.put(connection);
        let connection = pool.take().await.unwrap();
        assert!(pool.lock().is_empty());
        drop(server_side);
        while !connection.sender.is_closed() {
            yield_now().await;
        }
        pool.put(connection);
        assert!(pool.take().await.unwrap().sender.is_ready());
        assert!(pool.lock().is_empty());
        listener.accept().await.unwrap();
    }
}
