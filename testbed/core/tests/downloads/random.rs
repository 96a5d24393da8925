//! Random loads, limits and worlds.

use crate::loads::{bucket, load, rate};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use testbed_core::download::chunk::{ByTask, ChunkConfig, Kind, Sizes};
use testbed_core::download::speed::{LowSpeed, Paused};
use testbed_core::download::{DownloadConfig, Order, Retry};
use testbed_core::limit::LevelsConfig;
use testbed_core::limit::quantity::Bytes;
use testbed_core::quantity::Share;
use testbed_core::time::{Nanos, Time};

/// The largest chunk.
pub(crate) const CHUNK_MAX: u64 = 150;
/// The smallest.
pub(crate) const CHUNK_MIN: u64 = 10;

/// A load, its limits, and what the world does to it.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) load: DownloadConfig,
    pub(crate) levels: LevelsConfig,
    /// How long reads take, in turn.
    pub(crate) delays: Vec<Nanos>,
    /// Which segments' connections break, and when.
    pub(crate) breaks: Vec<(Time, u32)>,
}

fn millis(most: u64) -> impl Strategy<Value = Nanos> {
    (0..=most).prop_map(Nanos::from_millis)
}

fn size() -> impl Strategy<Value = Bytes> {
    (CHUNK_MIN..=CHUNK_MAX).prop_map(Bytes::new)
}

fn sizes() -> impl Strategy<Value = Sizes> {
    (size(), size()).prop_map(|(a, b)| Sizes { min: a.min(b), max: a.max(b) })
}

fn chunk() -> impl Strategy<Value = ChunkConfig> {
    let kind = |sizes: Sizes| {
        let share = Share::new(0.5).expect("half of them");
        Kind { share, min: sizes.min, max: sizes.max }
    };
    prop_oneof![
        size().prop_map(ChunkConfig::Fixed),
        sizes().prop_map(ChunkConfig::Uniform),
        [sizes(), sizes()].prop_map(move |both| ChunkConfig::Mixed(both.map(kind).to_vec())),
        [size(), size()].prop_map(|[chunk, others]| {
            ChunkConfig::ByTask(ByTask { chunk, tasks: vec![0], others })
        }),
    ]
}

fn low_speed() -> impl Strategy<Value = LowSpeed> {
    let paused = prop_oneof![Just(Paused::Counts), Just(Paused::Exempt)];
    (50u64..2000, 1u64..4, paused).prop_map(|(below, length, paused)| LowSpeed {
        below: rate(below),
        length: Nanos::from_secs(length),
        paused,
    })
}

fn retry() -> impl Strategy<Value = Retry> {
    let times = option::of(0u32..4);
    (100u64..2000, 100u64..5000, times).prop_map(|(first, at_most, times)| Retry {
        first: Nanos::from_millis(first),
        at_most: Nanos::from_millis(at_most),
        times,
    })
}

/// Finite loads of up to 12 segments without a low-speed abort.
pub(crate) fn plain_load() -> impl Strategy<Value = DownloadConfig> {
    let shape = (1u32..=4, 1u32..=3, option::of(1u32..=6), any::<bool>(), 1u32..=3);
    let pace = (millis(30), option::of(1000u64..20_000), 1u64..=200);
    (shape, 1u64..=1500, chunk(), pace, retry()).prop_map(|(shape, segment, chunk, pace, retry)| {
        let (tasks, segments, slots, round, queues) = shape;
        let (turnaround, trickle, checkpoint) = pace;
        DownloadConfig {
            segment: Some(Bytes::new(segment)),
            chunk,
            slots,
            order: if round { Order::RoundRobin } else { Order::TaskByTask },
            queues,
            turnaround,
            trickle: trickle.map(rate),
            retry,
            checkpoint: Bytes::new(checkpoint),
            ..load(tasks, segments)
        }
    })
}

/// Loads that end although transfers may be too slow: retries do, and no byte is lost.
pub(crate) fn slow_load() -> impl Strategy<Value = DownloadConfig> {
    (plain_load(), low_speed(), 0u32..4).prop_map(|(load, low_speed, times)| {
        let retry = Retry { times: Some(times), ..load.retry };
        let checkpoint = Bytes::new(1);
        DownloadConfig { low_speed: Some(low_speed), retry, checkpoint, ..load }
    })
}

/// Loads that may never end: they have no end, or begin again and again.
pub(crate) fn endless_load() -> impl Strategy<Value = DownloadConfig> {
    (plain_load(), option::of(low_speed()), any::<bool>()).prop_map(|(load, low_speed, ends)| {
        let turnaround = load.turnaround.max(Nanos::from_millis(5));
        let segment = load.segment.filter(|_| ends);
        DownloadConfig { low_speed, segment, turnaround, ..load }
    })
}

/// Limits that every chunk fits into, at one level at least.
fn levels() -> impl Strategy<Value = LevelsConfig> {
    let bucket = || {
        let initial = 0..=CHUNK_MAX;
        (200u64..1500, CHUNK_MAX..600, initial)
            .prop_map(|(rate, capacity, initial)| bucket(rate, capacity, initial))
    };
    let of = move || option::of(bucket());
    (of(), of(), of(), bucket()).prop_map(|(global, queue, task, instead)| {
        let global = if queue.is_none() && task.is_none() {
            Some(global.unwrap_or(instead))
        } else {
            global
        };
        LevelsConfig { global, queue, task }
    })
}

/// A load under limits in a world with delays and breaks.
pub(crate) fn case(load: impl Strategy<Value = DownloadConfig>) -> impl Strategy<Value = Case> {
    let breaks = vec(((0u64..5_000_000_000).prop_map(Time::from_nanos), 0u32..12), 0..12);
    (load, levels(), vec(millis(80), 0..4), breaks).prop_map(|(load, levels, delays, breaks)| {
        let mut breaks: Vec<_> = breaks;
        breaks.sort_unstable();
        Case { load, levels, delays, breaks }
    })
}
