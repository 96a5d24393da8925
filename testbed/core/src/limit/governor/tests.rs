use super::*;
use crate::limit::quantity::Bytes;

const MS: u64 = 1_000_000;

fn build(rate: u64, capacity: u64, initial: u64) -> Governor {
    let bucket = BucketConfig {
        capacity: Some(Bytes::new(capacity)),
        initial: Some(Bytes::new(initial)),
        ..BucketConfig::new(ByteRate::per_second(rate).unwrap())
    };
    Config::over(&LevelsConfig::global(bucket)).build(&Streams::new(1))
}

fn ms(ms: u64) -> Time {
    Time::from_nanos(ms * MS)
}

/// What an ask is told, in nanoseconds after it; `None` if it is refused.
fn told(limiter: &mut Governor, now: Time, id: u32, cost: u64) -> Option<u64> {
    match limiter.ask(now, Waiter { id, ..Waiter::default() }, cost) {
        Ask::Granted => Some(0),
        Ask::Waiting { quoted } => quoted.map(|at| at.since(now).get()),
        Ask::Refused => None,
    }
}

/// Everybody who is granted until nobody waits, with the milliseconds.
fn grants(limiter: &mut Governor) -> Vec<(u64, u32)> {
    let mut grants = Vec::new();
    while let Some(now) = limiter.next_wake() {
        while let Some(grant) = limiter.on_wake(now) {
            grants.push((now.as_nanos() / MS, grant.waiter.id));
        }
    }
    grants
}

#[test]
fn everybody_is_told_the_same_instant_and_one_goes() {
    let mut limiter = build(1000, 10, 0);
    assert_eq!(told(&mut limiter, ms(0), 0, 10), Some(10 * MS));
    assert_eq!(told(&mut limiter, ms(0), 1, 10), Some(10 * MS));
    assert_eq!(told(&mut limiter, ms(4), 2, 5), Some(MS), "less is there sooner");
    assert_eq!(grants(&mut limiter), [(5, 2), (15, 0), (25, 1)]);
}

#[test]
fn what_is_saved_is_at_most_the_capacity() {
    let mut limiter = build(1000, 10, 4);
    assert_eq!(told(&mut limiter, ms(0), 0, 4), Some(0));
    assert_eq!(told(&mut limiter, ms(100), 0, 10), Some(0));
    assert_eq!(told(&mut limiter, ms(100), 1, 1), Some(MS));
}

#[test]
fn a_hundred_waiters_look_5050_times() {
    let mut limiter = build(10, 1, 0);
    for id in 0..100 {
        assert_eq!(told(&mut limiter, ms(0), id, 1), Some(100 * MS));
    }
    let grants = grants(&mut limiter);
    assert_eq!((grants.len(), grants[99].0), (100, 10_000));
    assert_eq!(limiter.counters().wakes, 5050);
}

#[test]
fn a_byte_takes_whole_nanoseconds() {
    for (rate, ns) in [(4 << 20, 238), (64 << 20, 14), (1000, MS), (MAX_RATE, 1)] {
        let mut limiter = build(rate, 16_384, 0);
        assert_eq!(told(&mut limiter, ms(0), 0, 16_384), Some(16_384 * ns), "{rate} B/s");
    }
}

#[test]
fn a_cost_beyond_the_capacity_is_refused_and_nobody_hears_of_it() {
    let mut limiter = build(1000, 10, 10);
    assert_eq!(told(&mut limiter, ms(0), 0, 11), None);
    assert_eq!(told(&mut limiter, ms(0), 0, 1 << 40), None);
    assert_eq!(told(&mut limiter, ms(0), 0, 10), Some(0));
    assert_eq!((limiter.counters().asks, limiter.waiting()), (3, 0));
}

#[test]
fn another_rate_is_a_full_limiter_that_sleepers_find_when_they_wake() {
    let mut limiter = build(1000, 10, 0);
    assert_eq!(told(&mut limiter, ms(0), 0, 10), Some(10 * MS));
    limiter.set_rate(ms(5), Level::Global, ByteRate::per_second(100).unwrap());
    assert_eq!(told(&mut limiter, ms(5), 1, 10), Some(0));
    assert_eq!(told(&mut limiter, ms(5), 2, 1), Some(10 * MS));
    assert_eq!(grants(&mut limiter), [(15, 2), (115, 0)], "asked at 0, looked at 10");
}
