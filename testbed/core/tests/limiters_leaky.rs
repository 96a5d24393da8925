//! The policy `leaky_bucket` against the crate of that name, which sleeps on tokio's clock. That clock
//! is paused here: it goes from one timer to the next, and no test waits.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use leaky_bucket::RateLimiter;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};
use std::time::Duration;
use testbed_core::bucket::BucketConfig;
use testbed_core::limit::leaky_bucket::{Config, LeakyBucket};
use testbed_core::limit::quantity::{ByteRate, Bytes};
use testbed_core::limit::{Ask, LevelsConfig, Limiter, Policy, Waiter};
use testbed_core::rng::Streams;
use testbed_core::time::Time;

const INTERVAL_MS: u64 = 100;
/// How long is looked at.
const END_MS: u64 = 5000;

/// Milliseconds of a grant, and whose it was.
type Grants = Vec<(u64, u32)>;

/// A limiter, and who asks it.
#[derive(Clone, Debug)]
struct Case {
    fair: bool,
    /// Bytes each [`INTERVAL_MS`].
    lump: u64,
    capacity: u64,
    initial: u64,
    waiters: Vec<Asks>,
}

/// One who asks again and again.
#[derive(Clone, Debug)]
struct Asks {
    first_ms: u64,
    cost: u64,
    /// From a grant to the next ask; at 0 it asks without giving way to anybody.
    turnaround_ms: u64,
    /// After which it gives up for good; `u64::MAX` for never.
    patience_ms: u64,
}

#[expect(
    clippy::disallowed_methods,
    reason = "a clock that stands still, and goes when it is told"
)]
async fn sleep_until(ms: u64, start: tokio::time::Instant) {
    tokio::time::sleep_until(start + Duration::from_millis(ms)).await;
}

/// What the crate does.
fn theirs(case: &Case) -> Grants {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_time().start_paused(true).build().unwrap();
    let grants = Arc::new(Mutex::new(Vec::new()));
    runtime.block_on(async {
        let start = tokio::time::Instant::now();
        let limiter = RateLimiter::builder()
            .fair(case.fair)
            .refill(case.lump as usize)
            .max(case.capacity as usize)
            .initial(case.initial as usize)
            .interval(Duration::from_millis(INTERVAL_MS))
            .build();
        let limiter = Arc::new(limiter);
        for (id, asks) in (0..).zip(case.waiters.clone()) {
            tokio::spawn(waiter(start, Arc::clone(&limiter), id, asks, Arc::clone(&grants)));
        }
        sleep_until(END_MS, start).await;
    });
    let grants = grants.lock().unwrap();
    grants.clone()
}

#[expect(
    clippy::disallowed_methods,
    reason = "a clock that stands still, and goes when it is told"
)]
async fn waiter(
    start: tokio::time::Instant,
    limiter: Arc<RateLimiter>,
    id: u32,
    asks: Asks,
    grants: Arc<Mutex<Grants>>,
) {
    let now_ms = || start.elapsed().as_millis() as u64;
    sleep_until(asks.first_ms, start).await;
    // Far beyond the end, and not beyond what tokio's clock can count.
    let patience = Duration::from_millis(asks.patience_ms.min(1_000_000));
    while tokio::time::timeout(patience, limiter.acquire(asks.cost as usize)).await.is_ok() {
        grants.lock().unwrap().push((now_ms(), id));
        if asks.turnaround_ms > 0 {
            sleep_until(now_ms() + asks.turnaround_ms, start).await;
        }
    }
}

/// What the policy does with the same.
struct Ours<'a> {
    case: &'a Case,
    limiter: LeakyBucket,
    /// Asks to come.
    asks: BTreeMap<(u64, u64), u32>,
    /// When those who wait lose patience.
    ends: BTreeSet<(u64, u32)>,
    asked: u64,
    grants: Grants,
    /// Whether two things happened at an instant whose order is tokio's.
    tied: bool,
}

fn at(ms: u64) -> Time {
    Time::from_nanos(ms * 1_000_000)
}

impl<'a> Ours<'a> {
    fn new(case: &'a Case) -> Self {
        let bucket = BucketConfig {
            capacity: Some(Bytes::new(case.capacity)),
            initial: Some(Bytes::new(case.initial)),
            ..BucketConfig::new(ByteRate::per_second(case.lump * 1000 / INTERVAL_MS).unwrap())
        };
        let config = Config { fair: case.fair, ..Config::over(&LevelsConfig::global(bucket)) };
        assert_eq!(config.invalid(), []);
        let limiter = config.build(&Streams::new(1));
        let firsts = (0..).zip(&case.waiters);
        let asks = firsts.map(|(id, asks)| ((asks.first_ms, u64::from(id)), id)).collect();
        let (ends, asked) = (BTreeSet::new(), case.waiters.len() as u64);
        Self { case, limiter, asks, ends, asked, grants: Vec::new(), tied: false }
    }

    /// The grants, and whether there were ties.
    fn run(mut self) -> (Grants, bool) {
        while self.step() {}
        (self.grants, self.tied)
    }

    fn step(&mut self) -> bool {
        let ask = self.asks.first_key_value().map_or(u64::MAX, |((ms, _), _)| *ms);
        let end = self.ends.first().map_or(u64::MAX, |(ms, _)| *ms);
        let wake = self.limiter.next_wake().map_or(u64::MAX, |at| at.as_nanos() / 1_000_000);
        let ms = ask.min(end).min(wake);
        if ms > END_MS {
            return false;
        }
        self.tied |= [ask, end, wake].iter().filter(|time| **time == ms).count() > 1;
        if ask == ms {
            let (_, id) = self.asks.pop_first().unwrap();
            // Only the first asks, at 0 ms, come in an order that is known.
            self.tied |= ms > 0 && self.asks.keys().next().is_some_and(|(next, _)| *next == ms);
            self.ask(ms, id);
        } else if end == ms {
            let (_, id) = self.ends.pop_first().unwrap();
            self.tied |= self.ends.first().is_some_and(|(next, _)| *next == ms);
            assert!(self.limiter.cancel(at(ms), id));
        }
        self.drain(ms);
        true
    }

    fn drain(&mut self, ms: u64) {
        while let Some(grant) = self.limiter.on_wake(at(ms)) {
            let id = grant.waiter.id;
            self.ends.retain(|(_, who)| *who != id);
            self.granted(ms, id);
        }
    }

    fn ask(&mut self, ms: u64, id: u32) {
        let asks = &self.case.waiters[id as usize];
        match self.limiter.ask(at(ms), Waiter { id, ..Waiter::default() }, asks.cost) {
            Ask::Granted => self.granted(ms, id),
            Ask::Waiting { .. } => _ = self.ends.insert((ms.saturating_add(asks.patience_ms), id)),
            Ask::Refused => panic!("every cost is paid in instalments"),
        }
    }

    fn granted(&mut self, ms: u64, id: u32) {
        self.grants.push((ms, id));
        let turnaround_ms = self.case.waiters[id as usize].turnaround_ms;
        if turnaround_ms == 0 {
            return self.ask(ms, id);
        }
        self.asked += 1;
        self.asks.insert((ms + turnaround_ms, self.asked), id);
    }
}

/// Five who ask for one byte each of one a lump, at once and again after a grant.
fn five(fair: bool, turnaround_ms: u64) -> Case {
    let asks = |id: u64| Asks {
        first_ms: 0,
        cost: 1,
        turnaround_ms: turnaround_ms * (1 + id),
        patience_ms: u64::MAX,
    };
    let waiters = (0..5).map(asks).collect();
    Case { fair, lump: 1, capacity: 10, initial: 0, waiters }
}

fn count(grants: &Grants, id: u32) -> usize {
    grants.iter().filter(|(_, who)| *who == id).count()
}

#[test]
fn five_who_come_back_have_what_the_crate_gives_them() {
    for (fair, turnaround_ms, first, last) in
        [(true, 7, 10, 10), (false, 7, 0, 12), (true, 0, 50, 0), (false, 0, 0, 12)]
    {
        let case = five(fair, turnaround_ms);
        let theirs = theirs(&case);
        let (ours, tied) = Ours::new(&case).run();
        assert!(!tied);
        let until = theirs.len().min(ours.len());
        assert!(until >= 49, "{until}");
        assert_eq!(theirs[..until], ours[..until], "fair: {fair}, after {turnaround_ms} ms");
        assert_eq!((count(&ours, 0), count(&ours, 4)), (first, last), "{ours:?}");
    }
}

fn asks() -> impl Strategy<Value = Asks> {
    let turnaround_ms = prop_oneof![1 => Just(0u64), 4 => 1u64..200];
    let patience_ms = prop_oneof![3 => Just(u64::MAX), 1 => 1u64..1000];
    (0u64..1000, 1u64..12, turnaround_ms, patience_ms).prop_map(
        |(first_ms, cost, turnaround_ms, patience_ms)| Asks {
            first_ms,
            cost,
            turnaround_ms,
            patience_ms,
        },
    )
}

fn case() -> impl Strategy<Value = Case> {
    let waiters = prop::collection::vec(asks(), 1..6);
    (any::<bool>(), 1u64..6, 1u64..20, 0u64..20, waiters).prop_map(
        |(fair, lump, capacity, initial, waiters)| {
            let initial = initial.min(capacity);
            Case { fair, lump, capacity, initial, waiters }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn the_grants_are_those_of_the_crate(case in case()) {
        let (ours, tied) = Ours::new(&case).run();
        prop_assume!(!tied);
        // At the end itself the order is tokio's.
        let before_the_end = |grants: Grants| {
            grants.into_iter().filter(|(ms, _)| *ms < END_MS).collect::<Vec<_>>()
        };
        prop_assert_eq!(before_the_end(theirs(&case)), before_the_end(ours));
    }
}

/// The core is dropped and wakes the last of the line, which is dropped before it runs. Nobody wakes
/// the one that is left. The policy makes that one the core.
#[test]
fn an_heir_that_is_dropped_leaves_the_line_of_the_crate_asleep() {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let start = tokio::time::Instant::now();
        let limiter = Arc::new(RateLimiter::builder().build());
        let mut waiters = [0, 1, 2].map(|_| Box::pin(Arc::clone(&limiter).acquire_owned(1)));
        let mut context = Context::from_waker(Waker::noop());
        for waiter in &mut waiters {
            assert!(waiter.as_mut().poll(&mut context).is_pending());
        }
        let [core, middle, last] = waiters;
        let middle = tokio::spawn(middle);
        sleep_until(1, start).await;
        drop(core);
        drop(last);
        sleep_until(END_MS, start).await;
        assert!(!middle.is_finished());
    });
    let mut limiter = Config::over(&LevelsConfig::global(BucketConfig {
        initial: Some(Bytes::new(0)),
        ..BucketConfig::new(ByteRate::per_second(10).unwrap())
    }))
    .build(&Streams::new(1));
    for id in 0..3 {
        assert_ne!(limiter.ask(at(0), Waiter { id, ..Waiter::default() }, 1), Ask::Granted);
    }
    assert!(limiter.cancel(at(1), 0) && limiter.cancel(at(1), 2));
    assert_eq!(limiter.on_wake(at(1)), None);
    assert_eq!(limiter.next_wake(), Some(at(100)));
    assert_eq!(limiter.on_wake(at(100)).unwrap().waiter.id, 1);
}
