//! The FIFO twin against the policies. Over one level it is `fifo`; over several it is
//! `reservation`, which takes the tokens of all levels at the ask, too.

use crate::loads::{bucket, fifo, load, ms, secs, single_chunks};
use crate::policies::policies;
use crate::properties::broken;
use crate::random::{Case, case, plain_load};
use crate::world::World;
use proptest::prelude::*;
use std::collections::BTreeMap;
use testbed_core::bucket::BucketConfig;
use testbed_core::download::DownloadConfig;
use testbed_core::download::chunk::{ByTask, ChunkConfig};
use testbed_core::limit::quantity::Bytes;
use testbed_core::limit::{Level, LevelsConfig, LimiterConfig, Policy, fifo, reservation};
use testbed_core::time::{Nanos, Time};
use testbed_core::wait::WaitEnd;

/// The first level with a limit, alone.
fn one_level(levels: &LevelsConfig) -> (Level, LevelsConfig) {
    let level = Level::ALL.into_iter().find(|level| levels.bucket(*level).is_some()).unwrap();
    let only = |which| levels.bucket(which).filter(|_| which == level).cloned();
    let [task, queue, global] = Level::ALL.map(only);
    (level, LevelsConfig { global, queue, task })
}

/// The last grant of each bucket of a level, and the last instant that the twin gave.
fn lasts(world: &World, level: Level) -> BTreeMap<u32, (Time, Time)> {
    let mut lasts: BTreeMap<u32, (Time, Time)> = BTreeMap::new();
    for ended in world.ledger.granted() {
        let last = lasts.entry(level.key(ended.wait.waiter)).or_default();
        *last = (last.0.max(ended.at), last.1.max(ended.wait.fifo_at));
    }
    lasts
}

/// The same limits, with room for so many bytes more in each bucket and none more in it at first.
fn roomier(levels: &LevelsConfig, bytes: u64) -> LevelsConfig {
    let [task, queue, global] = Level::ALL.map(|level| {
        levels.bucket(level).map(|bucket| BucketConfig {
            capacity: Some(Bytes::new(bucket.capacity() + bytes)),
            initial: Some(Bytes::new(bucket.initial())),
            ..bucket.clone()
        })
    });
    LevelsConfig { global, queue, task }
}

/// Whether somebody who had asked before this wait, of the same bucket, gave up during it.
fn somebody_ahead_gave_up(world: &World, level: Level, number: usize) -> bool {
    let wait = &world.ledger.ended[number].wait;
    let key = |waiter| level.key(waiter);
    let before = world.ledger.ended[..number].iter();
    let mut gave_up = before.filter(|ended| ended.end == WaitEnd::Cancelled);
    gave_up.any(|ended| {
        key(ended.wait.waiter) == key(wait.waiter)
            && ended.wait.asked_at <= wait.asked_at
            && ended.at >= wait.asked_at
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn over_one_level_fifo_is_its_twin_but_for_those_behind_one_who_gave_up(
        case in case(plain_load()),
    ) {
        let (level, levels) = one_level(&case.levels);
        let mut world = broken(&case, &LimiterConfig::Fifo(fifo::Config::over(&levels)));
        world.run_to_the_end(secs(1000));
        for (number, ended) in world.ledger.ended.iter().enumerate() {
            if ended.end != WaitEnd::Granted {
                continue;
            }
            prop_assert!(ended.at <= ended.wait.fifo_at);
            if !somebody_ahead_gave_up(&world, level, number) {
                prop_assert_eq!(ended.at, ended.wait.fifo_at);
            }
        }
    }

    #[test]
    fn over_any_levels_the_twin_is_reservation_whoever_gives_up(case in case(plain_load())) {
        let policy = reservation::Config::over(&case.levels);
        let mut world = broken(&case, &LimiterConfig::Reservation(policy));
        world.run_to_the_end(secs(1000));
        for ended in world.ledger.granted() {
            prop_assert_eq!(ended.at, ended.wait.fifo_at);
        }
    }

    #[test]
    fn no_policy_that_keeps_the_rate_is_through_before_the_twin(case in case(plain_load())) {
        let (level, levels) = one_level(&case.levels);
        let case = Case { breaks: Vec::new(), ..case };
        // One whose settings let go what is not there yet is through before anybody.
        let keeps = |limiter: &LimiterConfig| {
            limiter.levels().is_none() || limiter.guarantees().rate
        };
        for limiter in policies(&levels).into_iter().filter(keeps) {
            // A policy that has one bucket made it the global one.
            let level = limiter.levels().map_or(level, |levels| one_level(levels).0);
            // Where tokens come in lumps, the twin holds one more.
            let twin = limiter.levels().map(|levels| roomier(levels, limiter.lump()));
            let twin = twin.map(|levels| LimiterConfig::Fifo(fifo::Config::over(&levels)));
            let mut world = broken(&case, &twin.unwrap_or_else(|| limiter.clone())).behind(&limiter);
            world.run_to_the_end(secs(1000));
            for (key, (granted, fifo)) in lasts(&world, level) {
                prop_assert!(fifo <= granted, "{} {:?} {}", limiter.name(), level, key);
            }
        }
    }
}

/// 100 B each at 100 B/s: the twin promised 1 s, 2 s and 3 s. The first gives up at 0.5 s, and asks
/// again at 1.501 s, behind the others.
#[test]
fn who_stands_behind_one_who_gives_up_goes_before_the_twin_said() {
    let mut world = World::new(&single_chunks(3, 1), &fifo(100));
    world.run(ms(500));
    world.break_connection(0);
    world.run_to_the_end(secs(4));
    let ended = world.ledger.ended.iter();
    let waits: Vec<_> = ended.map(|ended| (ended.at, ended.wait.fifo_at)).collect();
    let expected = [(500, 1000), (1000, 2000), (2000, 3000), (3000, 3000)];
    assert_eq!(waits, expected.map(|(at, fifo)| (ms(at), ms(fifo))));
}

/// Task 0 needs 10 s of its own bucket for 100 B, task 1 needs 1 s for 10 B. The twin takes the
/// global tokens of task 0 at its ask, so that task 1 is behind 100 B at 100 B/s; `fifo` leaves
/// them until task 0 can use them.
#[test]
fn over_several_levels_fifo_can_be_faster_than_the_twin() {
    let global = LevelsConfig::global(bucket(100, 1000, 0));
    let levels = LevelsConfig { task: Some(bucket(10, 100, 0)), ..global };
    let by_task = ByTask { chunk: Bytes::new(100), tasks: vec![0], others: Bytes::new(10) };
    let chunk = ChunkConfig::ByTask(by_task);
    let config = DownloadConfig { chunk, turnaround: Nanos::ZERO, ..load(2, 1) };
    let mut world = World::new(&config, &LimiterConfig::Fifo(fifo::Config::over(&levels)));
    world.run_to_the_end(secs(10));
    let first = world.ledger.ended[0];
    assert_eq!((first.wait.waiter.task, first.at, first.wait.fifo_at), (1, secs(1), ms(1100)));
}
