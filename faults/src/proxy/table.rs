//! The connections of a proxy, by their clients' addresses: on which of them a toxic acts.

use crate::toxic::Stream;
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many closed connections are remembered: whoever asks learns of the end at about the same
/// time, so a few would do.
const REMEMBERED: usize = 256;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Table {
    connections: Mutex<Connections>,
}

#[derive(Debug)]
struct Connections {
    open: BTreeMap<SocketAddr, Arc<Struck>>,
    /// Those that were closed last, and whether a toxic acted on them at their end.
    closed: VecDeque<(SocketAddr, bool)>,
}

/// Whether a toxic acts on either link of a connection now, as the links have drawn it.
#[derive(Debug, Default)]
pub(super) struct Struck {
    upstream: AtomicBool,
    downstream: AtomicBool,
}

impl Default for Connections {
    /// None, with room for all that will be remembered: a proxy's memory is not to grow.
    fn default() -> Self {
        Self { open: BTreeMap::new(), closed: VecDeque::with_capacity(REMEMBERED) }
    }
}

impl Table {
    /// A connection was accepted from `peer`.
    pub(super) fn open(&self, peer: SocketAddr) -> Arc<Struck> {
        let struck = Arc::new(Struck::default());
        self.lock().open.insert(peer, Arc::clone(&struck));
        struck
    }

    /// It is closed. Another may have come from the same address meanwhile, and stays.
    pub(super) fn close(&self, peer: SocketAddr, struck: &Arc<Struck>) {
        let mut connections = self.lock();
        if connections.open.get(&peer).is_some_and(|open| Arc::ptr_eq(open, struck)) {
            connections.open.remove(&peer);
        }
        connections.closed.truncate(REMEMBERED - 1);
        connections.closed.push_front((peer, struck.on_either()));
    }

    /// Whether a toxic acts on the connection from `peer`, or did so at its end if it was closed a
    /// moment ago. `None` if there is none.
    pub(super) fn strikes(&self, peer: SocketAddr) -> Option<bool> {
        let connections = self.lock();
        let open = connections.open.get(&peer).map(|struck| struck.on_either());
        open.or_else(|| {
            let closed = connections.closed.iter().find(|(closed, _)| *closed == peer);
            closed.map(|(_, struck)| *struck)
        })
    }

    /// Both are whole after each call that changes them, so a poisoned one is, too.
    fn lock(&self) -> MutexGuard<'_, Connections> {
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
    }

    #[test]
    fn a_closed_connection_is_remembered_for_a_while() {
        let table = Table::default();
        let peer = |port| SocketAddr::from(([127, 0, 0, 1], port));
        let struck = table.open(peer(1));
        struck.of(Stream::Upstream).store(true, Relaxed);
        table.close(peer(1), &struck);
        for port in 2..=REMEMBERED as u16 {
            assert_eq!(table.strikes(peer(1)), Some(true), "{port}");
            table.close(peer(port), &table.open(peer(port)));
        }
        table.close(peer(2000), &table.open(peer(2000)));
        assert_eq!((table.strikes(peer(1)), table.strikes(peer(2))), (None, Some(false)));
    }
}
