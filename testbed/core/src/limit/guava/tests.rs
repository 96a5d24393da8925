use super::*;
use crate::limit::quantity::Bytes;
use crate::limit::{Ask, Limiter, Waiter};
use crate::time::Time;
use proptest::prelude::*;

const SECOND: u64 = 1_000_000_000;

fn bucket(rate: u64, initial: u64) -> BucketConfig {
    let initial = Some(Bytes::new(initial));
    BucketConfig { initial, ..BucketConfig::new(ByteRate::per_second(rate).unwrap()) }
}

fn build(rate: u64, initial: u64) -> Reservation {
    Config::over(&LevelsConfig::global(bucket(rate, initial))).build(&Streams::new(1))
}

fn at(ms: u64) -> Time {
    Time::from_nanos(ms * 1_000_000)
}

/// The millisecond at which an ask is told to go.
fn goes_at(limiter: &mut Reservation, ms: u64, id: u32, cost: u64) -> u64 {
    match limiter.ask(at(ms), Waiter { id, ..Waiter::default() }, cost) {
        Ask::Granted => ms,
        Ask::Waiting { quoted: Some(at) } => at.as_nanos() / 1_000_000,
        other => panic!("{other:?}"),
    }
}

/// Rows of (ms of the ask, cost, ms at which it goes), by hand from the law.
fn assert_rows(rate: u64, initial: u64, rows: &[(u64, u64, u64)]) {
    let mut limiter = build(rate, initial);
    for (id, (ms, cost, expected)) in (0..).zip(rows) {
        assert_eq!(goes_at(&mut limiter, *ms, id, *cost), *expected, "row {id} of {rows:?}");
    }
}

#[test]
fn a_large_ask_goes_at_once_and_delays_everyone_after() {
    assert_rows(1, 0, &[(0, 100, 0), (0, 1, 100_000), (0, 1, 101_000), (50_000, 1, 102_000)]);
}

#[test]
fn tokens_are_what_is_stored_less_what_is_still_to_be_paid() {
    let mut limiter = build(2, 1);
    let tell = |limiter: &Reservation, rows: &[(u64, f64)]| {
        for (ms, tokens) in rows {
            assert_eq!(limiter.tokens(at(*ms)), Some(*tokens), "at {ms} ms");
        }
    };
    tell(&limiter, &[(0, 1.0), (250, 1.5), (500, 2.0), (1000, 2.0)]);
    // 2 B of 10 are there, and the other 8 are paid for 4 s.
    assert_eq!(goes_at(&mut limiter, 1000, 0, 10), 1000);
    tell(&limiter, &[(1000, -8.0), (3000, -4.0), (5000, 0.0), (5500, 1.0), (9000, 2.0)]);
    // Twice the rate: the instant at which the next may go stays, so twice as much is owed.
    limiter.set_rate(at(3000), Level::Global, ByteRate::per_second(4).unwrap());
    tell(&limiter, &[(3000, -8.0)]);
}

#[test]
fn idle_time_is_saved_up_to_a_second() {
    // 5 a second. 3 s idle after the debt of 200 ms: 5 are kept. Of 8, 3 are fresh: 600 ms.
    assert_rows(5, 0, &[(0, 1, 0), (3200, 8, 3200), (3200, 1, 3800), (3800, 1, 4000)]);
    // Less than a second: from 200 ms to 600 ms it saves 2, so 2 of 3 are free.
    assert_rows(5, 0, &[(0, 1, 0), (600, 3, 600), (600, 1, 800)]);
    // One of 4 s is saved at 1 a second: two go at once, the third a second later.
    assert_rows(1, 0, &[(4000, 1, 4000), (4000, 1, 4000), (4000, 1, 5000)]);
}

#[test]
fn what_is_there_at_the_beginning_is_spent_first() {
    assert_rows(10, 10, &[(0, 10, 0), (0, 1, 0), (0, 1, 100)]);
}

#[test]
fn rounding_up_gives_nothing_away() {
    // 3 B/s: a byte takes 333,333,333.3 ns. Three of them take a second and not a nanosecond more.
    let mut bursty = Bursty::new(&bucket(3, 0));
    let due = [1, 1, 1, 1].map(|cost| bursty.reserve(Time::ZERO, cost).as_nanos());
    assert_eq!(due, [0, 333_333_334, 666_666_667, SECOND]);
}

#[test]
fn another_rate_moves_nobody_and_the_next_pays_at_the_old_one() {
    let mut limiter = build(10, 0);
    assert_eq!(goes_at(&mut limiter, 0, 0, 20), 0);
    assert_eq!(goes_at(&mut limiter, 0, 1, 10), 2000);
    limiter.set_rate(at(0), Level::Global, ByteRate::per_second(1).unwrap());
    assert_eq!(limiter.next_wake(), Some(at(2000)), "asleep");
    assert_eq!(goes_at(&mut limiter, 0, 2, 1), 3000, "10 at 10 B/s");
    assert_eq!(goes_at(&mut limiter, 0, 3, 1), 4000, "1 at 1 B/s");
}

#[test]
fn another_rate_scales_what_is_stored() {
    let mut limiter = build(10, 5);
    limiter.set_rate(at(0), Level::Global, ByteRate::per_second(4).unwrap());
    assert_eq!(goes_at(&mut limiter, 0, 0, 4), 0, "half of 10 is 5, half of 4 is 2");
    assert_eq!(goes_at(&mut limiter, 0, 1, 1), 500);
}

#[test]
fn who_gives_up_leaves_his_debt() {
    let mut limiter = build(1, 0);
    assert_eq!((goes_at(&mut limiter, 0, 0, 3), goes_at(&mut limiter, 0, 1, 4)), (0, 3000));
    assert!(limiter.cancel(at(0), 1));
    assert_eq!(goes_at(&mut limiter, 0, 2, 1), 7000);
    assert!(!limiter.try_ask(at(7999), Waiter::default(), 1), "the debt of the one before");
    assert!(limiter.try_ask(at(8000), Waiter::default(), 1));
}

proptest! {
    /// Whatever is asked for: without its last ask, no more goes than was there and came in.
    #[test]
    fn all_but_the_last_have_paid(
        asks in prop::collection::vec((0u64..3 * SECOND, 1u64..5000), 1..60),
        rate in 1u64..2000,
    ) {
        let mut bursty = Bursty::new(&bucket(rate, 0));
        let (mut now, mut before) = (0, 0u128);
        for (pause, cost) in asks {
            now += pause;
            let goes_at = bursty.reserve(Time::from_nanos(now), cost).as_nanos();
            prop_assert!(before * u128::from(SECOND) <= u128::from(goes_at) * u128::from(rate));
            before += u128::from(cost);
        }
    }
}
