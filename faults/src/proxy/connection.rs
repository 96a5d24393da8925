//! One connection: a client, its own dial to the upstream, and the two links between them.

use super::Shared;
use super::link::{End, Link};
use super::table::Struck;
use crate::toxic::Stream;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpStream;

/// A connection that was accepted; counts as open until dropped.
#[derive(Debug)]
pub(super) struct Connection {
    client: TcpStream,
    peer: SocketAddr,
    shared: Arc<Shared>,
    number: u64,
    struck: Arc<Struck>,
}

impl Connection {
    /// Numbers connections in order of these calls.
    pub(super) fn new(client: TcpStream, peer: SocketAddr, shared: Arc<Shared>) -> Self {
        let number = shared.counters.opened();
        let struck = shared.table.open(peer);
        Self { client, peer, shared, number, struck }
    }

    /// Dials the upstream, and serves the client until either side ends or fails; both sockets are closed then. One task
    /// polls both links, which keeps a round trip on one thread.
    pub(super) async fn serve(mut self) {
        let upstream = self.shared.upstream.borrow().clone();
        match TcpStream::connect(upstream).await {
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
        let link = |stream, reader, writer| {
            let struck = self.struck.of(stream);
            Link::new(&self.shared, self.number, stream, struck, reader, writer)
        };
        let upstream = link(Stream::Upstream, from_client, to_server);
        let downstream = link(Stream::Downstream, from_server, to_client);
        let end = tokio::select! {
            biased;
            end = upstream.run() => end?,
            end = downstream.run() => end?,
        };
        if end == End::Reset {
            // With this a close sends a reset, and throws away what was not sent yet.
            self.client.set_zero_linger()?;
            server.set_zero_linger()?;
        }
        Ok(())
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.shared.table.close(self.peer, &self.struck);
        self.shared.counters.closed();
    }
}
