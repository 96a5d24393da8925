//! What a download has to do later. Timers are not cancelled: those of an attempt that is over are
//! ignored when they fire.

use super::TransferId;
use crate::time::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What is to be done.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Due {
    /// The first slots are given out.
    Start,
    /// The client is ready for the next chunk.
    Read(TransferId),
    /// The speed is looked at.
    Check(TransferId),
    /// A back-off is over.
    Retry(TransferId),
}

/// Timers, in the order of their instants and then in that in which they were set.
#[derive(Debug, Default)]
pub(super) struct Timers {
    heap: BinaryHeap<Reverse<(Time, u64, Due)>>,
    set: u64,
}

impl Timers {
    pub(super) fn set(&mut self, at: Time, due: Due) {
        self.heap.push(Reverse((at, self.set, due)));
        self.set += 1;
    }

    pub(super) fn next(&self) -> Option<Time> {
        self.heap.peek().map(|Reverse((at, ..))| *at)
    }

    /// What is due at `now`; ask until there is nothing.
    pub(super) fn take(&mut self, now: Time) -> Option<Due> {
        self.next().filter(|at| *at <= now)?;
        self.heap.pop().map(|Reverse((.., due))| due)
    }
}
