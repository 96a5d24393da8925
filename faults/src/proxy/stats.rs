//! What a proxy counts.

use crate::chain::Tally;
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
    /// The links from clients to the upstream.
    pub upstream: StreamStats,
    /// The links from the upstream to clients.
    pub downstream: StreamStats,
}

/// Counters of all links of one direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StreamStats {
    /// Bytes that came in.
    pub received: u64,
    /// Bytes that were passed on.
    pub sent: u64,
    /// Bytes that came in and were not passed on: a toxic dropped them, or the connection ended
    /// while they were held or being written.
    pub dropped: u64,
    /// Links that were ever opened.
    pub links: u64,
    /// Those of them that a toxic has acted on.
    pub links_hit: u64,
    /// Links that a toxic closed: `limit_data`, or `timeout`.
    pub aborts: u64,
    /// Links that a toxic reset.
    pub resets: u64,
}

impl ProxyStats {
    /// The counters of one direction.
    pub const fn of(&self, stream: Stream) -> &StreamStats {
        match stream {
            Stream::Upstream => &self.upstream,
            Stream::Downstream => &self.downstream,
        }
    }
}

/// The counters themselves, live: a byte counts as soon as it is read or written.
#[derive(Debug, Default)]
pub(super) struct Counters {
    connections_open: AtomicU64,
    connections_total: AtomicU64,
    dials_failed: AtomicU64,
    upstream: StreamCounters,
    downstream: StreamCounters,
}

/// See [`StreamStats`].
#[derive(Debug, Default)]
pub(super) struct StreamCounters {
    received: AtomicU64,
    sent: AtomicU64,
    dropped: AtomicU64,
    links: AtomicU64,
    links_hit: AtomicU64,
    aborts: AtomicU64,
    resets: AtomicU64,
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

    /// The counters of one direction.
    pub(super) const fn of(&self, stream: Stream) -> &StreamCounters {
        match stream {
            Stream::Upstream => &self.upstream,
            Stream::Downstream => &self.downstream,
        }
    }

    pub(super) fn snapshot(&self) -> ProxyStats {
        ProxyStats {
            connections_open: self.connections_open.load(Relaxed),
            connections_total: self.connections_total.load(Relaxed),
            dials_failed: self.dials_failed.load(Relaxed),
            upstream: self.upstream.snapshot(),
            downstream: self.downstream.snapshot(),
        }
    }
}

impl StreamCounters {
    pub(super) fn opened(&self) {
        self.links.fetch_add(1, Relaxed);
    }

    pub(super) fn received(&self, bytes: usize) {
        self.received.fetch_add(bytes as u64, Relaxed);
    }

    pub(super) fn sent(&self, bytes: usize) {
        self.sent.fetch_add(bytes as u64, Relaxed);
    }

    /// Adds what the toxics of one link have done.
    pub(super) fn add(&self, tally: Tally) {
        self.dropped.fetch_add(tally.dropped, Relaxed);
        self.links_hit.fetch_add(tally.links_hit, Relaxed);
        self.aborts.fetch_add(tally.aborts, Relaxed);
        self.resets.fetch_add(tally.resets, Relaxed);
    }

    fn snapshot(&self) -> StreamStats {
        StreamStats {
            received: self.received.load(Relaxed),
            sent: self.sent.load(Relaxed),
            dropped: self.dropped.load(Relaxed),
            links: self.links.load(Relaxed),
            links_hit: self.links_hit.load(Relaxed),
            aborts: self.aborts.load(Relaxed),
            resets: self.resets.load(Relaxed),
        }
    }
}
