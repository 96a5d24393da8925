//! The open connections of a proxy, by their clients' addresses: which of them a toxic acts on.

use crate::toxic::Stream;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Table {
    connections: Mutex<BTreeMap<SocketAddr, Arc<Struck>>>,
}

/// Whether a toxic acts on either link of a connection now, as the links have drawn it.
#[derive(Debug, Default)]
pub(super) struct Struck {
    upstream: AtomicBool,
    downstream: AtomicBool,
}

impl Table {
    /// A connection was accepted from `peer`.
    pub(super) fn open(&self, peer: SocketAddr) -> Arc<Struck> {
        let struck = Arc::new(Struck::default());
        self.lock().insert(peer, Arc::clone(&struck));
        struck
    }

    /// It is closed. Another may have come from the same address meanwhile, and stays.
    pub(super) fn close(&self, peer: SocketAddr, struck: &Arc<Struck>) {
        let mut connections = self.lock();
        if connections.get(&peer).is_some_and(|open| Arc::ptr_eq(open, struck)) {
            connections.remove(&peer);
        }
    }

    /// Whether a toxic acts on the connection from `peer`, if there is one.
    pub(super) fn strikes(&self, peer: SocketAddr) -> Option<bool> {
        self.lock().get(&peer).map(|struck| struck.on_either())
    }

    /// A map is whole after each call that changes it, so a poisoned one is, too.
    fn lock(&self) -> MutexGuard<'_, BTreeMap<SocketAddr, Arc<Struck>>> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Struck {
    /// Whether a toxic acts on one of the links.
    pub(super) const fn of(&self, stream: Stream) -> &AtomicBool {
        match stream {
            Stream::Upstream => &self.upstream,
            Stream::Downstream => &self.downstream,
        }
    }

    fn on_either(&self) -> bool {
        self.upstream.load(Relaxed) || self.downstream.load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_close_does_not_take_the_next_connection_from_the_same_address_away() {
        let (table, peer) = (Table::default(), SocketAddr::from(([127, 0, 0, 1], 1)));
        let first = table.open(peer);
        let second = table.open(peer);
        first.of(Stream::Upstream).store(true, Relaxed);
        assert_eq!(table.strikes(peer), Some(false));
        table.close(peer, &first);
        second.of(Stream::Downstream).store(true, Relaxed);
        assert_eq!(table.strikes(peer), Some(true));
        table.close(peer, &second);
        assert_eq!(table.strikes(peer), None);
    }
}
