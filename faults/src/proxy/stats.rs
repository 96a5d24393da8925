//! What a proxy counts.

use crate::toxic::Stream;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A proxy's counters at a moment. All but `connections_open` only grow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ProxyStats {
    /// Connections that are open now.
    pub connections_open: u64,
    /// Connections that were ever accepted.
    pub connections_total: u64,
    /// Connections whose upstream could not be reached.
    pub dials_failed: u64,
    /// Bytes given to the upstream.
    pub bytes_upstream: u64,
    /// Bytes given to clients.
    pub bytes_downstream: u64,
}

/// The counters themselves, live: a byte counts as soon as it is written.
#[derive(Debug, Default)]
pub(super) struct Counters {
    connections_open: AtomicU64,
    connections_total: AtomicU64,
    dials_failed: AtomicU64,
    bytes_upstream: AtomicU64,
    bytes_downstream: AtomicU64,
}

impl Counters {
    /// A connection was accepted; returns its number, from 0.
    pub(super) fn opened(&self) -> u64 {
        self.connections_open.fetch_add(1, Relaxed);
        self.connections_total.fetch_add(1, Relaxed)
    }

    pub(super) fn closed(&self) {
        self.connections_open.fetch_sub(1, Relaxed);
    }

    pub(super) fn dial_failed(&self) {
        self.dials_failed.fetch_add(1, Relaxed);
    }

    pub(super) fn forwarded(&self, stream: Stream, bytes: u64) {
        let counter = match stream {
            Stream::Upstream => &self.bytes_upstream,
            Stream::Downstream => &self.bytes_downstream,
        };
        counter.fetch_add(bytes, Relaxed);
    }

    pub(super) fn snapshot(&self) -> ProxyStats {
        ProxyStats {
            connections_open: self.connections_open.load(Relaxed),
            connections_total: self.connections_total.load(Relaxed),
            dials_failed: self.dials_failed.load(Relaxed),
            bytes_upstream: self.bytes_upstream.load(Relaxed),
            bytes_downstream: self.bytes_downstream.load(Relaxed),
        }
    }
}
