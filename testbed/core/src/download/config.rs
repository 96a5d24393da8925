//! A download load as a file writes it.

use super::chunk::ChunkConfig;
use super::speed::LowSpeed;
use crate::back_off::doubled;
use crate::control::Invalid;
use crate::limit::quantity::{ByteRate, Bytes};
use crate::time::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The largest file, and the largest chunk: 1 TiB.
pub const MAX_FILE: Bytes = Bytes::new(1 << 40);

/// The most segments of all tasks together.
pub const MAX_SEGMENTS: u64 = 1_000_000;

/// Downloads: tasks of segments, each a transfer that asks the limiter for every chunk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DownloadConfig {
    /// Files to download, 1 or more.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub tasks: u32,
    /// Segments of each file, 1 or more: parts that are transferred side by side.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 10_000))]
    pub segments: u32,
    /// The size of each segment. Left out: endless, a standing backlog.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segment: Option<Bytes>,
    /// What a transfer asks the limiter for at a time.
    pub chunk: ChunkConfig,
    /// Transfers at a time, 1 or more; as many as there are segments, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub slots: Option<u32>,
    /// Who gets a slot next.
    #[serde(default)]
    pub order: Order,
    /// Queues that the tasks are spread over, in turn: a queue's limit is per queue.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub queues: u32,
    /// From a grant, or a transfer's beginning, until it is ready for the next chunk.
    #[serde(default = "turnaround")]
    pub turnaround: Nanos,
    /// The most that the client itself can take in, each transfer for itself: a slow CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trickle: Option<ByteRate>,
    /// When a transfer is given up for being slow; never, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low_speed: Option<LowSpeed>,
    /// What follows an abort or a broken connection.
    #[serde(default)]
    pub retry: Retry,
    /// Bytes between two checkpoints: what came since the last one is lost by an abort.
    #[serde(default = "byte")]
    pub checkpoint: Bytes,
}

/// Who gets a slot next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// The first segment of every task, then the second of every task, and so on.
    #[default]
    RoundRobin,
    /// All segments of a task, then the next task.
    TaskByTask,
}

/// A transfer that ended too early keeps its slot, backs off, and begins again at its checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Retry {
    /// The first back-off; the next ones double.
    pub first: Nanos,
    /// The longest back-off.
    pub at_most: Nanos,
    /// Retries without a byte in between, after which the segment fails for good; without end, if
    /// left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times: Option<u32>,
}

impl Default for Retry {
    fn default() -> Self {
        Self { first: Nanos::from_secs(1), at_most: Nanos::from_secs(60), times: None }
    }
}

impl Retry {
    /// The back-off before a retry, the first of which is 0; `None` when there is none any more.
    pub fn back_off(&self, retries: u32) -> Option<Nanos> {
        if self.times.is_some_and(|times| retries >= times) {
            return None;
        }
        Some(doubled(self.first, self.at_most, retries))
    }
}

const fn one() -> u32 {
    1
}

const fn turnaround() -> Nanos {
    Nanos::from_micros(20)
}

const fn byte() -> Bytes {
    Bytes::new(1)
}

impl DownloadConfig {
    /// Segments of all tasks together.
    pub const fn all_segments(&self) -> u64 {
        self.tasks as u64 * self.segments as u64
    }

    /// Transfers at a time.
    pub fn slots(&self) -> u64 {
        self.slots.map_or(u64::MAX, u64::from).min(self.all_segments())
    }

    /// Bytes of all tasks together; `None` if they are endless.
    pub fn total(&self) -> Option<u64> {
        Some(self.segment?.get().saturating_mul(self.all_segments()))
    }

    /// Settings that an experiment file should not contain.
    pub fn invalid(&self) -> Vec<Invalid> {
        let mut invalid = self.chunk.invalid(self.tasks);
        let mut refuse = |wrong: bool, field, message: String| {
            if wrong {
                invalid.push(Invalid { field, message });
            }
        };
        let segments = self.all_segments();
        let message = format!("{segments} segments are too many; {MAX_SEGMENTS} may be in all");
        refuse(segments > MAX_SEGMENTS, "segments", message);
        let size = self.segment.map_or(1, Bytes::get);
        let cure = "a segment of 0B is done before it begins; write 1B or more";
        refuse(size == 0, "segment", cure.to_owned());
        let beyond = size.saturating_mul(u64::from(self.segments)) > MAX_FILE.get();
        let cure = "a file has 1TiB at most; write smaller or fewer segments";
        refuse(beyond, "segment", cure.to_owned());
        let none = self.checkpoint.get() == 0;
        refuse(none, "checkpoint", "write 1B, which loses nothing, or more".into());
        let low = self.low_speed.is_some_and(|low| low.length == Nanos::ZERO);
        refuse(low, "low_speed", "slow for 0s is every transfer; write 30s or so".into());
        if let (Some(_), Some(rate)) = (self.low_speed, self.trickle) {
            let slow = (0..self.tasks).any(|task| self.chunk.largest(task) > rate.get());
            let cure = "at this trickle a chunk takes more than 1s, and the low-speed abort sees bytes \
                        chunk by chunk: it would be blind; write chunks of half a second or less";
            refuse(slow, "chunk", cure.to_owned());
        }
        let spins = self.retry.back_off(0) == Some(Nanos::ZERO);
        refuse(spins, "retry", "a back-off of 0s would spin; write 1s or so".into());
        invalid
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn back_offs_double_up_to_the_longest_and_end_when_told_to() {
        let secs = |retry: &Retry, retries| retry.back_off(retries).map(|back| back.as_secs_f64());
        let retry = Retry::default();
        let expected = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0];
        for (retries, back_off) in (0..).zip(expected) {
            assert_eq!(secs(&retry, retries), Some(back_off));
        }
        assert_eq!(secs(&retry, u32::MAX), Some(60.0));
        let twice = Retry { times: Some(2), ..retry };
        assert_eq!([1, 2].map(|retries| secs(&twice, retries)), [Some(2.0), None]);
    }
}
