use super::*;
use crate::bucket::BucketConfig;
use crate::limit::quantity::ByteRate;
use crate::limit::{Level, Limiter, Waiter};
use crate::time::{Nanos, Time};

/// 1000 B/s, empty at the beginning: a byte each millisecond.
fn bucket(initial: u64) -> BucketConfig {
    let rate = ByteRate::per_second(1000).unwrap();
    BucketConfig { initial: Some(Bytes::new(initial)), ..BucketConfig::new(rate) }
}

fn build(levels: &LevelsConfig, quantum: u64) -> Drr {
    Config { quantum: Bytes::new(quantum), ..Config::over(levels) }.build(&Streams::new(1))
}

fn waiter(id: u32, task: u32) -> Waiter {
    Waiter { id, task, queue: 0, segment: 0 }
}

/// Bytes by task when waiters (task, cost) ask again as soon as they are granted.
fn shares(limiter: &mut Drr, waiters: &[(u32, u64)], seconds: u64) -> Vec<u64> {
    let tasks = waiters.iter().map(|(task, _)| *task).max().unwrap_or(0);
    let mut bytes = vec![0; tasks as usize + 1];
    for (id, (task, cost)) in waiters.iter().enumerate() {
        let _ = limiter.ask(Time::ZERO, waiter(id as u32, *task), *cost);
    }
    while let Some(now) = limiter.next_wake().filter(|now| now.as_secs_f64() <= seconds as f64) {
        while let Some(grant) = limiter.on_wake(now) {
            bytes[grant.waiter.task as usize] += grant.cost;
            let _ = limiter.ask(now, grant.waiter, grant.cost);
        }
    }
    bytes
}

#[test]
fn tasks_share_bytes_not_grants() {
    let global = LevelsConfig::global(bucket(0));
    for quantum in [1, 16, 64, 100] {
        let waiters = [(0, 64), (0, 64), (1, 16), (1, 16)];
        let shares = shares(&mut build(&global, quantum), &waiters, 1000);
        assert!(shares.iter().all(|bytes| bytes.abs_diff(500_000) <= 200), "{quantum}: {shares:?}");
    }
}

#[test]
fn a_lone_waiter_gets_one_grant_a_turn() {
    let global = LevelsConfig::global(bucket(0));
    let shares = shares(&mut build(&global, 64), &[(0, 64), (1, 16)], 1000);
    assert_eq!(shares, [800_000, 200_000]);
}

#[test]
fn a_task_with_many_waiters_gets_no_more() {
    let global = LevelsConfig::global(bucket(0));
    let waiters = [(0, 10), (0, 10), (0, 10), (0, 10), (1, 10)];
    assert_eq!(shares(&mut build(&global, 10), &waiters, 100), [50_000, 50_000]);
}

#[test]
fn what_a_task_held_back_cannot_use_goes_to_the_others() {
    let slow = BucketConfig::new(ByteRate::per_second(100).unwrap());
    let task = Some(BucketConfig { initial: Some(Bytes::new(0)), ..slow });
    let levels = LevelsConfig { task, ..LevelsConfig::global(bucket(0)) };
    let shares = shares(&mut build(&levels, 10), &[(0, 10), (1, 10)], 100);
    assert_eq!(shares, [10_000, 10_000], "each by its own limit");
}

#[test]
fn who_was_held_back_for_long_has_not_saved_up_turns() {
    let slow = BucketConfig { capacity: Some(Bytes::new(1000)), ..bucket(0) };
    let rate = |rate| ByteRate::per_second(rate).unwrap();
    let task = Some(BucketConfig { rate: rate(100), ..slow });
    let levels = LevelsConfig { task, ..LevelsConfig::global(bucket(0)) };
    let mut limiter = build(&levels, 100);
    shares(&mut limiter, &[(0, 10), (0, 10)], 100);
    let now = Time::from_nanos(100_000_000_000);
    limiter.set_rate(now, Level::Task, rate(100_000));
    for id in [2, 3] {
        let _ = limiter.ask(now, waiter(id, 1), 10);
    }
    let mut bytes = [0; 2];
    for step in 1..=1000 {
        let now = now.after(Nanos::from_millis(step * 10));
        while let Some(grant) = limiter.on_wake(now) {
            bytes[grant.waiter.task as usize] += grant.cost;
            let _ = limiter.ask(now, grant.waiter, grant.cost);
        }
    }
    assert!(bytes[0].abs_diff(bytes[1]) <= 220, "{bytes:?}");
}

#[test]
fn a_head_that_its_task_holds_back_longer_blocks_nobody_until_the_global_tokens_are_there() {
    let task = Some(BucketConfig { rate: ByteRate::per_second(10).unwrap(), ..bucket(20) });
    let levels = LevelsConfig { task, ..LevelsConfig::global(bucket(0)) };
    let mut limiter = build(&levels, 64);
    for (id, task, cost) in [(0, 0, 30), (1, 1, 10)] {
        let _ = limiter.ask(Time::ZERO, waiter(id, task), cost);
    }
    assert_eq!(limiter.on_wake(Time::ZERO), None);
    let at = limiter.next_wake().unwrap();
    assert_eq!((at.as_nanos(), limiter.on_wake(at).unwrap().waiter.id), (10_000_000, 1));
}

#[test]
fn a_cost_that_fits_nowhere_stops_nobody_else() {
    let mut limiter = build(&LevelsConfig::global(bucket(0)), 64);
    let _ = limiter.ask(Time::ZERO, waiter(0, 0), 1001);
    let _ = limiter.ask(Time::ZERO, waiter(1, 0), 1);
    let _ = limiter.ask(Time::ZERO, waiter(2, 1), 10);
    assert_eq!(limiter.on_wake(Time::ZERO), None);
    let at = limiter.next_wake().unwrap();
    assert_eq!((at.as_nanos(), limiter.on_wake(at).unwrap().waiter.id), (10_000_000, 2));
    assert_eq!(limiter.on_wake(at), None);
    assert!(limiter.cancel(at, 0));
    assert_eq!(limiter.on_wake(at), None);
    let at = limiter.next_wake().unwrap();
    assert_eq!((at.as_nanos(), limiter.on_wake(at).unwrap().waiter.id), (11_000_000, 1));
    assert_eq!((limiter.next_wake(), limiter.waiting()), (None, 0));
}
