use super::go::GoBucket;
use super::*;
use crate::bucket::BucketConfig;
use crate::limit::quantity::{ByteRate, Bytes};
use crate::limit::{Ask, Limiter, Waiter};
use crate::time::{Nanos, Time};

const MS: u64 = 1_000_000;

/// 1000 B/s: a byte each millisecond.
fn bucket(capacity: u64, initial: u64) -> BucketConfig {
    BucketConfig {
        capacity: Some(Bytes::new(capacity)),
        initial: Some(Bytes::new(initial)),
        ..BucketConfig::new(ByteRate::per_second(1000).unwrap())
    }
}

fn build(refund: bool) -> Reservation {
    let levels = LevelsConfig::global(bucket(10, 0));
    Config { refund, ..Config::over(&levels) }.build(&Streams::new(1))
}

fn ms(ms: u64) -> Time {
    Time::from_nanos(ms * MS)
}

fn ask(limiter: &mut Reservation, now: u64, id: u32, cost: u64) -> u64 {
    match limiter.ask(ms(now), Waiter { id, ..Waiter::default() }, cost) {
        Ask::Waiting { quoted: Some(at) } => at.as_nanos() / MS,
        Ask::Granted => now,
        other => panic!("{other:?}"),
    }
}

#[test]
fn everybody_is_told_his_instant_and_gets_it() {
    let mut limiter = build(true);
    assert_eq!((ask(&mut limiter, 0, 0, 10), ask(&mut limiter, 0, 1, 5)), (10, 15));
    assert_eq!(ask(&mut limiter, 0, 2, 100), 115, "beyond the capacity just waits longer");
    assert_eq!(limiter.on_wake(ms(9)), None);
    for (id, at) in [(0, 10), (1, 15), (2, 115)] {
        assert_eq!(limiter.next_wake(), Some(ms(at)));
        assert_eq!(limiter.on_wake(ms(at)).unwrap().waiter.id, id);
    }
    assert_eq!(ask(&mut limiter, 200, 0, 10), 200, "no more than the capacity was saved");
    assert_eq!(ask(&mut limiter, 200, 0, 1), 201);
}

#[test]
fn a_cancel_refunds_or_leaves_a_ghost() {
    for (refund, next) in [(true, 20), (false, 30)] {
        let mut limiter = build(refund);
        assert_eq!((ask(&mut limiter, 0, 0, 10), ask(&mut limiter, 0, 1, 10)), (10, 20));
        assert!(limiter.cancel(ms(0), 0));
        assert_eq!(ask(&mut limiter, 0, 2, 10), next);
        assert!(!limiter.cancel(ms(0), 0));
    }
}

#[test]
fn a_change_of_rate_stretches_what_is_left() {
    let mut limiter = build(true);
    assert_eq!(ask(&mut limiter, 0, 0, 100), 100);
    limiter.set_rate(ms(40), Level::Global, ByteRate::per_second(500).unwrap());
    assert_eq!(limiter.next_wake(), Some(ms(160)));
    assert_eq!(ask(&mut limiter, 40, 1, 10), 180);
    limiter.set_rate(ms(40), Level::Global, ByteRate::per_second(2000).unwrap());
    assert_eq!(limiter.next_wake(), Some(ms(70)));
}

#[test]
fn the_strictest_level_decides() {
    let levels = LevelsConfig { task: Some(bucket(10, 0)), ..LevelsConfig::global(bucket(10, 10)) };
    let mut limiter = Config::over(&levels).build(&Streams::new(1));
    assert_eq!(ask(&mut limiter, 0, 0, 10), 10, "its task's bucket is empty");
    assert_eq!(ask(&mut limiter, 0, 1, 10), 20);
}

#[test]
fn a_second_cancel_gives_nothing_back_in_either_arithmetic() {
    for arithmetic in [Arithmetic::Exact, Arithmetic::Go] {
        let levels = LevelsConfig::global(bucket(10, 0));
        let mut limiter = Config { arithmetic, ..Config::over(&levels) }.build(&Streams::new(1));
        assert_eq!((ask(&mut limiter, 0, 0, 5), ask(&mut limiter, 0, 1, 10)), (5, 15));
        assert_eq!([0, 1].map(|_| limiter.cancel(ms(0), 1)), [true, false]);
        assert_eq!(ask(&mut limiter, 0, 1, 10), 15, "{arithmetic:?}");
    }
}

/// Each asks for 10 B, four at 0 ms and one at 10 ms, when 20 or 40 of them are owed.
#[test]
fn beyond_the_bound_an_ask_is_refused_or_goes_at_it() {
    for arithmetic in [Arithmetic::Exact, Arithmetic::Go] {
        for (beyond, told) in [
            (Beyond::Refuse, [Some(10), Some(20), None, None, Some(30)]),
            (Beyond::Go, [Some(10), Some(20), Some(25), Some(25), Some(35)]),
        ] {
            let at_most = Some(Nanos::from_millis(25));
            let config = Config::over(&LevelsConfig::global(bucket(10, 0)));
            let config = Config { arithmetic, at_most, beyond, ..config };
            let mut limiter = config.build(&Streams::new(1));
            let asks = [(0, 0), (0, 1), (0, 2), (0, 3), (10, 4)];
            assert_eq!(asks.map(|(at, id)| tells(&mut limiter, at, id)), told, "{arithmetic:?}");
        }
    }
}

/// What a waiter is told in milliseconds who asks for 10 B; `None` if it is refused.
fn tells(limiter: &mut Reservation, now: u64, id: u32) -> Option<u64> {
    match limiter.ask(ms(now), Waiter { id, ..Waiter::default() }, 10) {
        Ask::Waiting { quoted } => quoted.map(|at| at.as_nanos() / MS),
        Ask::Granted => Some(now),
        Ask::Refused => None,
    }
}

#[test]
fn either_arithmetic_tells_its_tokens() {
    for arithmetic in [Arithmetic::Exact, Arithmetic::Go] {
        let levels = LevelsConfig::global(bucket(10, 5));
        let mut limiter = Config { arithmetic, ..Config::over(&levels) }.build(&Streams::new(1));
        assert_eq!(limiter.tokens(ms(0)), Some(5.0));
        for (now, cost, tokens) in [(0, 2, 3.0), (4, 10, -3.0), (7, 0, 0.0), (100, 3, 7.0)] {
            ask(&mut limiter, now, now as u32, cost);
            assert_eq!(limiter.tokens(ms(now)), Some(tokens), "{arithmetic:?} at {now} ms");
        }
    }
}

/// From `rate_test.go`: `TestSimultaneousRequests` and the cancel tests of the library, whose
/// limiter has 10 tokens a second and a burst of 2.
#[test]
fn go_restores_what_was_not_reserved_after() {
    let rate = BucketConfig::new(ByteRate::per_second(10).unwrap());
    let burst_of_2 = BucketConfig { capacity: Some(Bytes::new(2)), ..rate };
    let d = ms(100).as_nanos();
    let at = |steps: u64| Time::from_nanos(steps * d);
    let reserve = |go: &mut GoBucket, t, n| go.reserve(at(t), n, i64::MAX).unwrap();

    // testReserveCancelLast: the last reservation is restored in full.
    let mut go = GoBucket::new(&burst_of_2);
    assert_eq!(reserve(&mut go, 0, 2).due(), at(0));
    let last = reserve(&mut go, 0, 2);
    assert_eq!(last.due(), at(2));
    go.cancel(at(1), &last);
    assert_eq!(reserve(&mut go, 1, 2).due(), at(2));

    // testReserveCancel2: two tokens were reserved after it, so none is restored.
    let mut go = GoBucket::new(&burst_of_2);
    reserve(&mut go, 0, 2);
    let first = reserve(&mut go, 0, 1);
    assert_eq!((first.due(), reserve(&mut go, 0, 1).due()), (at(1), at(2)));
    go.cancel(at(0), &first);
    assert_eq!(reserve(&mut go, 0, 1).due(), at(3));
    assert_eq!(go.reserve(at(0), 3, i64::MAX), None, "beyond the burst");
}
