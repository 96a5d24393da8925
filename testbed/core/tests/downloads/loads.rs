//! Loads and limits of round numbers.

use testbed_core::bucket::BucketConfig;
use testbed_core::download::chunk::ChunkConfig;
use testbed_core::download::speed::{LowSpeed, Paused};
use testbed_core::download::{DownloadConfig, Order, Retry};
use testbed_core::limit::lateness::Lateness;
use testbed_core::limit::quantity::{ByteRate, Bytes};
use testbed_core::limit::{
    LevelsConfig, LimiterConfig, Policy, drr, fifo, none, peek, reservation,
};
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

/// Every policy with its defaults, and the settings that change most of what it does.
pub(crate) fn policies(levels: &LevelsConfig) -> Vec<LimiterConfig> {
    use peek::Ties::{ById, Lifo, Random};
    let lateness = Lateness::Jitter(Nanos::from_millis(4));
    let late = |ties| peek::Config { levels: levels.clone(), ties, lateness: lateness.clone() };
    let mut all = LimiterConfig::all(levels);
    all.extend([ById, Lifo, Random].map(|ties| LimiterConfig::Peek(late(ties))));
    all.push(LimiterConfig::Fifo(fifo::Config {
        oversize: fifo::Oversize::Instalments,
        on_cancel: fifo::OnCancel::KeepTicket,
        lateness: lateness.clone(),
        levels: levels.clone(),
    }));
    let ghosts = reservation::Config { refund: false, ..reservation::Config::over(levels) };
    all.push(LimiterConfig::Reservation(ghosts));
    let quantum = Bytes::new(7);
    all.push(LimiterConfig::Drr(drr::Config { quantum, ..drr::Config::over(levels) }));
    all
}
