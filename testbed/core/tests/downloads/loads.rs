//! Loads and limits of round numbers.

use testbed_core::bucket::BucketConfig;
use testbed_core::download::chunk::ChunkConfig;
use testbed_core::download::speed::{LowSpeed, Paused};
use testbed_core::download::{DownloadConfig, Order, Retry};
use testbed_core::limit::quantity::{ByteRate, Bytes};
use testbed_core::limit::{LevelsConfig, LimiterConfig, Policy, fifo, none};
use testbed_core::time::{Nanos, Time};

pub(crate) const NONE: LimiterConfig = LimiterConfig::None(none::Config {});

/// Segments of 100 B in chunks of 40 B, with 1 ms from a grant to the next read.
pub(crate) fn load(tasks: u32, segments: u32) -> DownloadConfig {
    DownloadConfig {
        tasks,
        segments,
        segment: Some(Bytes::new(100)),
        chunk: ChunkConfig::Fixed(Bytes::new(40)),
        slots: None,
        order: Order::RoundRobin,
        queues: 1,
        turnaround: Nanos::from_millis(1),
        trickle: None,
        low_speed: None,
        retry: Retry::default(),
        checkpoint: Bytes::new(1),
    }
}

/// Segments of a single chunk.
pub(crate) fn single_chunks(tasks: u32, segments: u32) -> DownloadConfig {
    DownloadConfig { chunk: ChunkConfig::Fixed(Bytes::new(100)), ..load(tasks, segments) }
}

pub(crate) fn rate(bytes: u64) -> ByteRate {
    ByteRate::per_second(bytes).unwrap()
}

/// 1 kB/s for 30 s.
pub(crate) fn low_speed(paused: Paused) -> Option<LowSpeed> {
    Some(LowSpeed { below: rate(1000), length: Nanos::from_secs(30), paused })
}

pub(crate) fn bucket(per_second: u64, capacity: u64, initial: u64) -> BucketConfig {
    let (capacity, initial) = (Some(Bytes::new(capacity)), Some(Bytes::new(initial)));
    BucketConfig { capacity, initial, ..BucketConfig::new(rate(per_second)) }
}

/// `fifo` over one global bucket that is empty at the beginning and holds a lot.
pub(crate) fn fifo(per_second: u64) -> LimiterConfig {
    LimiterConfig::Fifo(fifo::Config::over(&LevelsConfig::global(bucket(per_second, 1 << 20, 0))))
}

pub(crate) fn ms(ms: u64) -> Time {
    Time::ZERO.after(Nanos::from_millis(ms))
}

pub(crate) fn secs(secs: u64) -> Time {
    ms(secs * 1000)
}
