use super::*;
use crate::bucket::BucketConfig;
use crate::limit::{Ask, Grant, Limiter, Waiter};
use crate::time::Time;
use proptest::prelude::*;

const SECONDS: u64 = 100;
const NANOS_PER_SEC: u64 = 1_000_000_000;
/// Waiters of a task: enough that one waits whenever it wants more than it gets.
const SEGMENTS: u32 = 4;

fn rate(per_second: u64) -> ByteRate {
    ByteRate::per_second(per_second).unwrap()
}

/// Empty at the beginning.
fn bucket(per_second: u64) -> BucketConfig {
    BucketConfig { initial: Some(Bytes::new(0)), ..BucketConfig::new(rate(per_second)) }
}

fn htb(parent: u64, assured: &[u64]) -> Config {
    let assured = assured.iter().map(|per_second| rate(*per_second)).collect();
    let config = Config::over(&LevelsConfig::global(bucket(parent)));
    Config { assured, quantum: Bytes::new(1), ..config }
}

/// Tasks that each want so many bytes a second, one byte at a time.
struct Tasks {
    limiter: Htb,
    /// By waiter.
    waits: Vec<bool>,
    /// By task.
    granted: Vec<u64>,
}

impl Tasks {
    /// Wants one byte more, unless all waiters of the task wait already: then it is not offered.
    fn want(&mut self, now: Time, task: u32) {
        let ids = task * SEGMENTS..(task + 1) * SEGMENTS;
        let Some(id) = ids.into_iter().find(|id| !self.waits[*id as usize]) else { return };
        let waiter = Waiter { id, task, queue: 0, segment: id % SEGMENTS };
        match self.limiter.ask(now, waiter, 1) {
            Ask::Granted => self.granted[task as usize] += 1,
            Ask::Waiting { .. } => self.waits[id as usize] = true,
            Ask::Refused => panic!("one byte fits"),
        }
    }

    fn wake_until(&mut self, until: Time) {
        while let Some(now) = self.limiter.next_wake().filter(|at| *at <= until) {
            while let Some(Grant { waiter, .. }) = self.limiter.on_wake(now) {
                self.granted[waiter.task as usize] += 1;
                self.waits[waiter.id as usize] = false;
            }
        }
    }
}

/// Bytes that tasks with these demands get in 100 s, by number.
fn granted(config: &Config, demands: &[u64]) -> Vec<u64> {
    let limiter = config.build(&Streams::new(1));
    let waits = vec![false; demands.len() * SEGMENTS as usize];
    let mut tasks = Tasks { limiter, waits, granted: vec![0; demands.len()] };
    let wants = |(task, demand): (usize, &u64)| {
        let at = |n| Time::from_nanos(n * NANOS_PER_SEC / demand);
        (1..=demand * SECONDS).map(|n| (at(n), task as u32)).collect::<Vec<_>>()
    };
    let mut wants: Vec<_> = demands.iter().enumerate().flat_map(wants).collect();
    wants.sort_unstable();
    for (at, task) in wants {
        tasks.wake_until(at);
        tasks.want(at, task);
    }
    tasks.granted
}

#[test]
fn what_nobody_is_assured_or_leaves_is_shared_alike() {
    let demands = [10, 50, 200];
    for (assured, ceiling, expected) in [
        (&[][..], None, [10, 45, 45]),
        (&[1, 1, 60], None, [10, 15, 75]),
        (&[40, 1, 59], None, [10, 15, 75]),
        (&[10, 50, 40], None, [10, 50, 40]),
        (&[], Some(30), [10, 30, 30]),
        (&[1, 1, 60], Some(70), [10, 20, 70]),
    ] {
        let mut config = htb(100, assured);
        config.levels.task = ceiling.map(bucket);
        let granted = granted(&config, &demands);
        for (granted, expected) in granted.iter().zip(expected) {
            // A second's worth of an own bucket that was full comes on top.
            let off = granted.abs_diff(expected * SECONDS);
            assert!(off <= 80, "{assured:?}, {ceiling:?}: {granted} for {expected}/s");
        }
    }
}

#[test]
fn what_is_assured_goes_first_and_what_is_borrowed_waits() {
    let mut limiter = htb(1000, &[1, 999]).build(&Streams::new(1));
    let waiter = |id, task| Waiter { id, task, queue: 0, segment: 0 };
    let ask = |limiter: &mut Htb, id, task| limiter.ask(Time::ZERO, waiter(id, task), 10);
    // The first of task 0 takes it into debt, so that the others borrow.
    for (id, task) in [(0, 0), (1, 0), (2, 0), (3, 1), (4, 1)] {
        assert!(matches!(ask(&mut limiter, id, task), Ask::Waiting { .. }));
    }
    let mut order = Vec::new();
    while let Some(now) = limiter.next_wake().filter(|at| *at <= Time::from_nanos(NANOS_PER_SEC)) {
        order.extend(std::iter::from_fn(|| limiter.on_wake(now)).map(|grant| grant.waiter.id));
    }
    assert_eq!(order, [0, 3, 4, 1, 2]);
}

proptest! {
    #[test]
    fn a_leaf_gets_what_it_is_assured_and_all_together_no_more_than_the_parent(
        leaves in prop::collection::vec((1_u64..60, 1_u64..120), 1..6),
        spare in 0_u64..100,
        ceiling in prop::option::of(60_u64..100),
    ) {
        let (assured, demands): (Vec<u64>, Vec<u64>) = leaves.into_iter().unzip();
        let parent = assured.iter().sum::<u64>() + spare;
        let mut config = htb(parent, &assured);
        config.levels.task = ceiling.map(bucket);
        let granted = granted(&config, &demands);
        for ((granted, assured), demand) in granted.iter().zip(&assured).zip(&demands) {
            let least = assured.min(demand) * SECONDS;
            // The bursts of the others, a second's worth of what they are assured, may go before.
            prop_assert!(granted + parent + 10 >= least, "{granted} of {least}: {assured}, {demand}");
            prop_assert!(ceiling.is_none_or(|ceiling| *granted <= ceiling * SECONDS));
        }
        prop_assert!(granted.iter().sum::<u64>() <= parent * SECONDS);
    }
}
