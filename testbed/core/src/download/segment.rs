//! One segment: how far it is.

use super::TransferId;
use super::config::{DownloadConfig, Order};
use super::speed::SpeedWatch;
use crate::limit::Waiter;
use crate::limit::quantity::Bytes;
use crate::rng::{Rng, Streams};
use crate::time::Nanos;
use std::collections::VecDeque;

/// What a segment's transfer is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stage {
    /// There is none: it has no slot yet, backs off, or is over.
    Closed,
    /// A chunk is under way, or the client is not ready for it yet.
    Reading,
    /// Its chunk waits for the limiter.
    Waiting,
}

#[derive(Debug)]
pub(super) struct Segment {
    pub(super) waiter: Waiter,
    pub(super) stage: Stage,
    pub(super) attempt: u32,
    /// Back-offs since the last byte.
    pub(super) retries: u32,
    /// The chunk that is under way or waits.
    pub(super) chunk: u64,
    /// Bytes still to come; `None` for ever.
    pub(super) left: Option<u64>,
    /// Where it is, in bytes from its beginning.
    position: u64,
    /// Bytes granted in all, those that were lost again included.
    pub(super) granted: u64,
    pub(super) watch: SpeedWatch,
    /// Chance in the sizes of its chunks.
    pub(super) chunks: Rng,
}

/// Every segment, task by task: the place in the list is the waiter's id.
pub(super) fn all(config: &DownloadConfig, streams: &Streams) -> Vec<Segment> {
    let segment = |id: u32| {
        let task = id / config.segments;
        let (queue, segment) = (task % config.queues, id % config.segments);
        let waiter = Waiter { id, task, queue, segment };
        Segment {
            waiter,
            stage: Stage::Closed,
            attempt: 0,
            retries: 0,
            chunk: 0,
            left: config.segment.map(Bytes::get),
            position: 0,
            granted: 0,
            watch: SpeedWatch::default(),
            chunks: streams.stream(&format!("chunks/{id}")),
        }
    };
    (0..config.all_segments() as u32).map(segment).collect()
}

/// The order in which segments get a slot.
pub(super) fn order(config: &DownloadConfig) -> VecDeque<u32> {
    let all = 0..config.all_segments() as u32;
    match config.order {
        Order::TaskByTask => all.collect(),
        Order::RoundRobin => {
            let in_turn = |n: u32| n % config.tasks * config.segments + n / config.tasks;
            all.map(in_turn).collect()
        }
    }
}

impl Segment {
    pub(super) const fn id(&self, index: u32) -> TransferId {
        TransferId { segment: index, attempt: self.attempt }
    }

    pub(super) fn is_open(&self) -> bool {
        self.stage != Stage::Closed
    }

    /// The bytes of the task's file that an attempt asks for: the first, and how many.
    pub(super) fn range(&self, segment: Option<Bytes>) -> (u64, Option<u64>) {
        let begin = segment.map_or(0, |segment| segment.get() * u64::from(self.waiter.segment));
        (begin + self.position, self.left)
    }

    /// A chunk has been granted.
    pub(super) fn take_in(&mut self, bytes: u64) {
        self.stage = Stage::Reading;
        self.position += bytes;
        self.granted += bytes;
        self.left = self.left.map(|left| left.saturating_sub(bytes));
        self.retries = 0;
    }

    /// Back to the last checkpoint; how many bytes that loses.
    pub(super) fn lose(&mut self, checkpoint: u64) -> u64 {
        let lost = self.position % checkpoint.max(1);
        self.position -= lost;
        self.left = self.left.map(|left| left + lost);
        lost
    }
}

impl DownloadConfig {
    /// From a grant, or from the beginning, until the client is ready for a chunk of this size.
    pub(super) fn pause(&self, chunk: u64) -> Nanos {
        let trickle = self.trickle.map_or(Nanos::ZERO, |rate| {
            let ns = u128::from(chunk) * 1_000_000_000 / u128::from(rate.get());
            Nanos::new(u64::try_from(ns).unwrap_or(u64::MAX))
        });
        self.turnaround.max(trickle)
    }
}
