//! One connection: a client, its own dial to the upstream, and the two links between them.

use super::Shared;
use super::link::Link;
use crate::toxic::Stream;
use std::io;
use std::sync::Arc;
use tokio::net::TcpStream;

/// A connection that was accepted; counts as open until dropped.
#[derive(Debug)]
pub(super) struct Connection {
    client: TcpStream,
    shared: Arc<Shared>,
    number: u64,
}

impl Connection {
    /// Numbers connections in order of these calls.
    pub(super) fn new(client: TcpStream, shared: Arc<Shared>) -> Self {
        let number = shared.counters.opened();
        Self { client, shared, number }
    }

    /// Serves the client until either side ends or fails; both sockets are closed then. One task
    /// polls both links, which keeps a round trip on one thread.
    pub(super) async fn serve(mut self) {
        match TcpStream::connect(self.shared.upstream).await {
            // An error on a socket ends the connection as an end of stream does.
            Ok(server) => drop(self.relay(server).await),
            Err(_) => self.shared.counters.dial_failed(),
        }
    }

    async fn relay(&mut self, mut server: TcpStream) -> io::Result<()> {
        self.client.set_nodelay(true)?;
        server.set_nodelay(true)?;
        let (from_client, to_client) = self.client.split();
        let (from_server, to_server) = server.split();
        let (shared, number) = (&*self.shared, self.number);
        let upstream = Link::new(shared, number, Stream::Upstream, from_client, to_server);
        let downstream = Link::new(shared, number, Stream::Downstream, from_server, to_client);
        tokio::select! {
            biased;
            ended = upstream.run() => ended,
            ended = downstream.run() => ended,
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.shared.counters.closed();
    }
}
