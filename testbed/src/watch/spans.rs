//! Counts of spans: each that has ended was exported, failed, was dropped, or is on its way.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Spans of a run so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SpanCounts {
    /// Ended, or not made for want of room.
    pub ended: u64,
    /// Taken by the collector.
    pub exported: u64,
    /// Not taken by the collector.
    pub failed: u64,
    /// Given up for want of room, or of time at the end of the run.
    pub dropped: u64,
}

impl SpanCounts {
    /// Those on their way to the collector.
    pub const fn under_way(&self) -> u64 {
        self.ended - self.exported - self.failed - self.dropped
    }
}

/// Keeps the counts. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct SpanLedger {
    kept: Arc<Mutex<Kept>>,
}

/// What is kept of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kept {
    pub(crate) counts: SpanCounts,
    /// Nothing is counted any more.
    closed: bool,
    /// What the first export that failed died of.
    failure: Option<String>,
}

impl SpanLedger {
    /// What is kept, to be shown as metrics.
    pub(crate) fn kept(&self) -> Arc<Mutex<Kept>> {
        Arc::clone(&self.kept)
    }

    /// The counts so far.
    pub fn counts(&self) -> SpanCounts {
        self.lock().counts
    }

    /// Takes `spans` that have ended in, if no more than `room` are on their way then; else they are
    /// dropped. Whether they were taken in.
    pub fn take_in(&self, spans: u64, room: u64) -> bool {
        let mut kept = self.lock();
        let fits = !kept.closed && kept.counts.under_way() + spans <= room;
        kept.counts.ended += spans;
        if !fits {
            kept.counts.dropped += spans;
        }
        fits
    }

    /// So many were exported, or were not because of `failure`.
    pub fn settle(&self, spans: u64, failure: Option<String>) {
        let mut kept = self.lock();
        if kept.closed {
            return;
        }
        if failure.is_none() {
            kept.counts.exported += spans;
        } else {
            kept.counts.failed += spans;
            kept.failure = kept.failure.take().or(failure);
        }
    }

    /// Gives up what is on its way. From now on nothing is exported or fails. The counts, and what the
    /// first failure was.
    pub fn close(&self) -> (SpanCounts, Option<String>) {
        let mut kept = self.lock();
        kept.counts.dropped += kept.counts.under_way();
        kept.closed = true;
        (kept.counts, kept.failure.clone())
    }

    /// Whether it is closed.
    pub fn is_closed(&self) -> bool {
        self.lock().closed
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_add_up_whatever_becomes_of_spans() {
        let ledger = SpanLedger::default();
        assert!(ledger.take_in(4, 10));
        assert!(ledger.take_in(6, 10));
        assert!(!ledger.take_in(1, 10), "there is no room");
        ledger.settle(3, None);
        ledger.settle(2, Some("refused".into()));
        ledger.settle(1, Some("later".into()));
        assert_eq!(ledger.counts().under_way(), 4);
        let (counts, failure) = ledger.close();
        assert_eq!(counts, SpanCounts { ended: 11, exported: 3, failed: 3, dropped: 5 });
        assert_eq!(failure.as_deref(), Some("refused"), "the first is told");
        ledger.settle(4, None);
        assert!(!ledger.take_in(1, 10), "too late");
        let counts = ledger.counts();
        assert_eq!(counts, SpanCounts { ended: 12, exported: 3, failed: 3, dropped: 6 });
        assert_eq!(counts.under_way(), 0);
    }
}
