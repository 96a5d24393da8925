//! What limiters cost: `cargo bench -p testbed-core --bench limit`, a few seconds.
//!
//! Budgets: 50 ns for an ask that is granted at once, with what others take for it beside it; no
//! more than O(log n) for an ask and a grant while n wait; 2 s for the race of [`peek_race`].

use divan::{Bencher, black_box};
use governor::clock::FakeRelativeClock;
use governor::{Quota, RateLimiter};
use std::collections::VecDeque;
use std::num::NonZeroU32;
use std::time::Duration;
use testbed_core::bucket::BucketConfig;
use testbed_core::limit::quantity::{ByteRate, Bytes};
use testbed_core::limit::{Ask, LevelsConfig, Limiter, LimiterConfig, Waiter};
use testbed_core::rng::Streams;
use testbed_core::time::{Nanos, Time};

const CHUNK: u64 = 16 << 10;
const RATE: u64 = 4 << 20;
/// In which [`CHUNK`] comes in at [`RATE`].
const STEP: Nanos = Nanos::new(3_906_250);
/// More than a bench takes: `leaky_bucket` has its lumps when it is woken, and here nobody waits.
const ENOUGH: Bytes = Bytes::new(1 << 40);

fn main() {
    divan::main();
}

fn policies() -> Vec<&'static str> {
    LimiterConfig::LIST.iter().map(|(name, _)| *name).collect()
}

fn build(name: &str, levels: &LevelsConfig) -> Box<dyn Limiter> {
    let known = LimiterConfig::all(levels).into_iter().find(|config| config.name() == name);
    known.expect("names come from the registry").build(&Streams::new(1))
}

fn bucket() -> BucketConfig {
    let rate = ByteRate::per_second(RATE).expect("above zero");
    BucketConfig { capacity: Some(ENOUGH), ..BucketConfig::new(rate) }
}

fn waiter(id: u32) -> Waiter {
    Waiter { id, task: id / 8, queue: id / 64, segment: 0 }
}

/// An ask that is granted at once, each after a refill.
fn decide(bencher: Bencher<'_, '_>, mut limiter: Box<dyn Limiter>) {
    let mut now = Time::ZERO;
    bencher.bench_local(|| {
        now = now.after(STEP);
        let answer = limiter.ask(now, waiter(0), black_box(CHUNK));
        assert_eq!(answer, Ask::Granted);
    });
}

#[divan::bench(args = policies(), sample_size = 10_000)]
fn decision_of(bencher: Bencher<'_, '_>, name: &str) {
    decide(bencher, build(name, &LevelsConfig::global(bucket())));
}

#[divan::bench(args = policies(), sample_size = 10_000)]
fn decision_through_three_levels(bencher: Bencher<'_, '_>, name: &str) {
    let levels =
        LevelsConfig { task: Some(bucket()), queue: Some(bucket()), global: Some(bucket()) };
    decide(bencher, build(name, &levels));
}

/// The crate `governor`: the same law as `reservation`, without waiters. It is told the time too, by
/// a clock that the bench moves on.
#[divan::bench(sample_size = 10_000)]
fn decision_of_governor(bencher: Bencher<'_, '_>) {
    let per_second = |n: u64| NonZeroU32::new(n as u32).expect("above zero");
    let quota = Quota::per_second(per_second(RATE));
    let clock = FakeRelativeClock::default();
    let limiter = RateLimiter::direct_with_clock(quota, clock.clone());
    let chunk = per_second(CHUNK);
    bencher.bench_local(|| {
        clock.advance(STEP.as_std());
        assert!(matches!(limiter.check_n(black_box(chunk)), Ok(Ok(()))));
    });
}

/// The crate `leaky-bucket`. It reads the clock by itself.
#[divan::bench(sample_size = 10_000)]
fn decision_of_leaky_bucket(bencher: Bencher<'_, '_>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let runtime = runtime.expect("a runtime without input and output");
    let _inside = runtime.enter();
    let limiter = leaky_bucket::RateLimiter::builder()
        .initial(usize::MAX >> 1)
        .max(usize::MAX >> 1)
        .refill(RATE as usize)
        .interval(Duration::from_secs(1))
        .build();
    bencher.bench_local(|| assert!(limiter.try_acquire(black_box(CHUNK as usize))));
}

/// tokio's semaphore: taken and given back. It knows neither rates nor time.
#[divan::bench(sample_size = 10_000)]
fn decision_of_tokio_semaphore(bencher: Bencher<'_, '_>) {
    let semaphore = tokio::sync::Semaphore::new(1 << 20);
    bencher.bench_local(|| {
        let permit = semaphore.try_acquire_many(black_box(CHUNK as u32));
        drop(black_box(permit.expect("there are enough")));
    });
}

/// One is granted and asks again while `n` wait.
fn ask_and_grant(bencher: Bencher<'_, '_>, name: &str, n: u32) {
    let empty = BucketConfig { initial: Some(Bytes::new(0)), ..bucket() };
    let mut limiter = build(name, &LevelsConfig::global(empty));
    for id in 0..n {
        assert_ne!(limiter.ask(Time::ZERO, waiter(id), CHUNK), Ask::Granted);
    }
    bencher.bench_local(|| {
        let now = limiter.next_wake().expect("somebody waits");
        let grant = limiter.on_wake(now).expect("its tokens are there");
        black_box(limiter.ask(now, grant.waiter, CHUNK))
    });
}

#[divan::bench(args = [1_000, 100_000, 1_000_000], sample_size = 1_000)]
fn ask_and_grant_of_fifo_while_wait(bencher: Bencher<'_, '_>, n: u32) {
    ask_and_grant(bencher, "fifo", n);
}

#[divan::bench(args = [1_000, 100_000, 1_000_000], sample_size = 1_000)]
fn ask_and_grant_of_reservation_while_wait(bencher: Bencher<'_, '_>, n: u32) {
    ask_and_grant(bencher, "reservation", n);
}

/// 600 simulated seconds of 32 who retry by themselves, 153,600 grants and 31 looks for each.
#[divan::bench(sample_count = 3, sample_size = 1)]
fn peek_race() -> u64 {
    let empty = BucketConfig { initial: Some(Bytes::new(0)), ..bucket() };
    let mut limiter = build("peek", &LevelsConfig::global(empty));
    let end = Time::ZERO.after(Nanos::from_secs(600));
    let mut asks: VecDeque<(Time, u32)> = (0..32).map(|id| (Time::ZERO, id)).collect();
    loop {
        let ask = asks.front().map_or(Time::NEVER, |(at, _)| *at);
        let wake = limiter.next_wake().unwrap_or(Time::NEVER);
        let now = ask.min(wake);
        if now > end {
            return limiter.counters().wakes;
        }
        let granted = if wake <= ask {
            limiter.on_wake(now).map(|grant| grant.waiter.id)
        } else {
            let id = asks.pop_front().map(|(_, id)| id);
            id.filter(|id| limiter.ask(now, waiter(*id), CHUNK) == Ask::Granted)
        };
        asks.extend(granted.map(|id| (now.after(Nanos::from_micros(20)), id)));
    }
}
