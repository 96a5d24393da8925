//! What a million waiters weigh. A file of its own, because its allocator counts for the whole
//! process.

use peak_alloc::PeakAlloc;
use testbed_core::bucket::BucketConfig;
use testbed_core::limit::quantity::{ByteRate, Bytes};
use testbed_core::limit::{Ask, LevelsConfig, LimiterConfig, Waiter};
use testbed_core::rng::Streams;
use testbed_core::time::Time;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

const WAITERS: u32 = 1_000_000;
/// Bytes of heap for each waiter.
const BUDGET: usize = 250;

/// Bytes a waiter at the worst moment on the way to a million.
fn bytes_each(config: &LimiterConfig) -> usize {
    ALLOCATOR.reset_peak_usage();
    let before = ALLOCATOR.current_usage();
    let mut limiter = config.build(&Streams::new(1));
    let waiter = |id| Waiter { id, task: id / 8, queue: id / 160, segment: 0 };
    // Whom nobody is ahead of may go at once.
    assert_ne!(limiter.ask(Time::ZERO, waiter(WAITERS), 16_384), Ask::Refused);
    for id in 0..WAITERS {
        let waiter = waiter(id);
        assert!(matches!(limiter.ask(Time::ZERO, waiter, 16_384), Ask::Waiting { .. }));
    }
    assert!(limiter.waiting() >= WAITERS as usize);
    (ALLOCATOR.peak_usage() - before) / WAITERS as usize
}

#[test]
fn a_million_waiters_weigh_at_most_250_bytes_each() {
    let rate = ByteRate::per_second(4 << 20).unwrap();
    let bucket = BucketConfig { initial: Some(Bytes::new(0)), ..BucketConfig::new(rate) };
    let (task, queue) = (Some(bucket.clone()), Some(bucket.clone()));
    let levels = LevelsConfig { task, queue, global: Some(bucket) };
    for config in LimiterConfig::all(&levels) {
        if config.levels().is_some() {
            let each = bytes_each(&config);
            println!("{}: {each} B each", config.name());
            assert!(each <= BUDGET, "{}: {each} B each", config.name());
        }
    }
}
