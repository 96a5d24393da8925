//! Random loads under every policy. The ledger and the world check each event and each command;
//! what is left is that a load ends, and that no limit is passed.

use crate::loads::secs;
use crate::policies::policies;
use crate::random::{CHUNK_MAX, CHUNK_MIN, Case, case, endless_load, plain_load, slow_load};
use crate::world::World;
use proptest::prelude::*;
use std::collections::BTreeMap;
use testbed_core::limit::{Level, LevelsConfig, LimiterConfig};
use testbed_core::time::{Nanos, Time};

/// A world in which everything that is to break has broken.
pub(crate) fn broken(case: &Case, limiter: &LimiterConfig) -> World {
    let mut world = World::new(&case.load, limiter).delayed(case.delays.clone());
    for (at, segment) in &case.breaks {
        world.run(*at);
        world.break_connection(*segment);
    }
    world
}

/// By when a load has ended if one thing happens after the other: every chunk of the least size is
/// read, and every byte waits for its tokens at each level. A break costs the longest back-off, the
/// bytes since the checkpoint, and a chunk that waits, whose tokens may be gone.
fn bound(case: &Case) -> Time {
    let (load, breaks) = (&case.load, case.breaks.len() as u64);
    let bytes = load.total().unwrap() + breaks * (load.checkpoint.get() + CHUNK_MAX);
    let limits = Level::ALL.into_iter().filter_map(|level| case.levels.bucket(level));
    let tokens_ms: u64 = limits.map(|bucket| bytes * 1000 / bucket.rate.get() + 1).sum();
    let chunks = bytes / CHUNK_MIN + load.all_segments() + breaks;
    // 80 ms of delay, 150 ms of trickle for the largest chunk, 4 ms of lateness.
    secs(5).after(Nanos::from_millis(tokens_ms + chunks * 234 + breaks * 5000))
}

/// Nothing is granted at any level before it has come in.
fn assert_no_limit_is_passed(world: &World, levels: &LevelsConfig) {
    let mut granted: BTreeMap<(Level, u32), u128> = BTreeMap::new();
    for ended in world.ledger.granted() {
        let limits =
            Level::ALL.into_iter().filter_map(|level| Some((level, levels.bucket(level)?)));
        for (level, bucket) in limits {
            let sum = granted.entry((level, level.key(ended.wait.waiter))).or_default();
            *sum += u128::from(ended.wait.cost) * 1_000_000_000;
            let initial = u128::from(bucket.initial()) * 1_000_000_000;
            let came = u128::from(bucket.rate.get()) * u128::from(ended.at.as_nanos());
            assert!(*sum <= initial + came, "{level:?} at {}", ended.at);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_load_ends_in_time_whatever_breaks(case in case(plain_load())) {
        for limiter in policies(&case.levels) {
            let mut world = broken(&case, &limiter);
            world.run_to_the_end(bound(&case));
            let gave_up = case.load.retry.times.is_some();
            prop_assert!(world.ledger.makespan.is_some() || gave_up, "{}", limiter.name());
        }
    }

    #[test]
    fn no_limit_is_passed_and_every_wait_ends(case in case(endless_load())) {
        for limiter in policies(&case.levels) {
            let mut world = broken(&case, &limiter);
            world.run(secs(15));
            world.downloads.cut_off(world.now, &mut world.ledger);
            prop_assert_eq!(world.ledger.waiting(), 0);
            if let Some(levels) = limiter.levels().filter(|_| limiter.guarantees().rate) {
                assert_no_limit_is_passed(&world, levels);
            }
        }
    }

    #[test]
    fn low_speed_aborts_end_when_retries_do(case in case(slow_load())) {
        for limiter in policies(&case.levels) {
            broken(&case, &limiter).run_to_the_end(secs(10_000));
        }
    }
}
