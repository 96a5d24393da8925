use super::*;
use crate::bucket::BucketConfig;
use crate::limit::quantity::{ByteRate, Bytes};
use crate::limit::{Ask, Limiter, Waiter};
use crate::time::Time;

/// A lump of one byte each 100 ms, and none at the beginning.
fn build(fair: bool, lateness: Lateness) -> LeakyBucket {
    let bucket = BucketConfig {
        initial: Some(Bytes::new(0)),
        ..BucketConfig::new(ByteRate::per_second(10).unwrap())
    };
    let levels = LevelsConfig::global(bucket);
    Config { fair, lateness, ..Config::over(&levels) }.build(&Streams::new(1))
}

fn ms(ms: u64) -> Time {
    Time::from_nanos(ms * NANOS_PER_MILLI)
}

fn ask(limiter: &mut LeakyBucket, now: Time, id: u32, cost: u64) -> Ask {
    limiter.ask(now, Waiter { id, ..Waiter::default() }, cost)
}

/// (ms, id) of every grant before `until`; who is granted asks for a byte again at once if `back`.
fn grants(limiter: &mut LeakyBucket, until: u64, back: bool) -> Vec<(u64, u32)> {
    let mut grants = Vec::new();
    while let Some(now) = limiter.next_wake().filter(|at| *at < ms(until)) {
        while let Some(grant) = limiter.on_wake(now) {
            grants.push((now.as_nanos() / NANOS_PER_MILLI, grant.waiter.id));
            if back {
                assert_ne!(ask(limiter, now, grant.waiter.id, 1), Ask::Granted);
            }
        }
    }
    grants
}

fn five(fair: bool) -> LeakyBucket {
    let mut limiter = build(fair, Lateness::None);
    for id in 0..5 {
        assert_ne!(ask(&mut limiter, ms(0), id, 1), Ask::Granted);
    }
    limiter
}

#[test]
fn tokens_are_those_of_lumps_that_nobody_has_taken() {
    let mut limiter = build(true, Lateness::None);
    assert_eq!(limiter.tokens(ms(0)), Some(0.0));
    // Eleven lumps are there by then: ten fit, four are taken.
    assert_eq!(ask(&mut limiter, ms(1100), 0, 4), Ask::Granted);
    assert_eq!(limiter.tokens(ms(1100)), Some(6.0));
    // An instalment of 6 B is its waiter's, until he gives up.
    assert_ne!(ask(&mut limiter, ms(1100), 0, 7), Ask::Granted);
    assert_eq!(limiter.tokens(ms(1100)), Some(0.0));
    assert!(limiter.cancel(ms(1100), 0));
    assert_eq!(limiter.tokens(ms(1100)), Some(6.0));
}

#[test]
fn fair_goes_in_order_and_unfair_lets_the_first_sleep_for_all() {
    let fair = [(100, 0), (200, 1), (300, 2), (400, 3), (500, 4)];
    let unfair = [(100, 1), (200, 2), (300, 3), (400, 4), (500, 0)];
    assert_eq!(grants(&mut five(true), 1000, false), fair);
    assert_eq!(grants(&mut five(false), 1000, false), unfair);
}

#[test]
fn an_unfair_core_never_goes_while_others_come_back() {
    let grants = grants(&mut five(false), 60_050, true);
    assert_eq!(grants.len(), 600);
    assert!(grants.iter().all(|(_, id)| *id != 0), "{grants:?}");
}

#[test]
fn a_fair_core_that_asks_again_at_once_has_every_lump() {
    let grants = grants(&mut five(true), 60_050, true);
    assert_eq!(grants.len(), 600);
    assert!(grants.iter().all(|(_, id)| *id == 0), "{grants:?}");
}

#[test]
fn a_late_core_is_a_lump_lost() {
    let mut limiter = build(true, Lateness::Constant(Nanos::from_millis(10)));
    assert_ne!(ask(&mut limiter, ms(0), 0, 3), Ask::Granted);
    assert_eq!(grants(&mut limiter, 1000, false), [(330, 0)], "110 ms each");
}

#[test]
fn idle_time_counts_in_whole_milliseconds() {
    let mut limiter = build(true, Lateness::None);
    // Two lumps at 250.9 ms. The next comes 100 - 50 ms later: 0.9 ms are forgotten.
    let now = Time::from_nanos(250_900_000);
    assert_eq!(ask(&mut limiter, now, 0, 2), Ask::Granted);
    assert_ne!(ask(&mut limiter, now, 0, 1), Ask::Granted);
    assert_eq!(limiter.next_wake(), Some(Time::from_nanos(300_900_000)));
}

#[test]
fn what_a_waiter_held_goes_to_the_others_when_it_gives_up() {
    let mut limiter = build(true, Lateness::None);
    for (id, cost) in [(0, 3), (1, 2), (2, 5)] {
        assert_ne!(ask(&mut limiter, ms(0), id, cost), Ask::Granted);
    }
    assert_eq!(grants(&mut limiter, 250, false), [], "the first holds 2 of 3");
    assert!(limiter.cancel(ms(250), 0));
    assert_eq!(grants(&mut limiter, 2000, false), [(250, 1), (700, 2)]);
}

#[test]
fn parts_of_a_byte_are_kept_and_a_higher_rate_counts_from_the_next_lump_on() {
    let mut limiter = build(true, Lateness::None);
    limiter.set_rate(ms(0), Level::Global, ByteRate::per_second(4).unwrap());
    assert_ne!(ask(&mut limiter, ms(0), 0, 2), Ask::Granted);
    assert_eq!(grants(&mut limiter, 1000, false), [(500, 0)], "0.4 B a lump");
    limiter.set_rate(ms(550), Level::Global, ByteRate::per_second(100).unwrap());
    assert_ne!(ask(&mut limiter, ms(550), 0, 10), Ask::Granted);
    assert_eq!(grants(&mut limiter, 1000, false), [(700, 0)], "0.4 B at 600 ms, 10 B at 700 ms");
}

#[test]
fn the_crate_takes_whole_bytes_only() {
    let refused = |rate: u64, interval_ms: u64, live: Live| {
        let levels = LevelsConfig::global(BucketConfig::new(ByteRate::per_second(rate).unwrap()));
        let interval = Nanos::from_millis(interval_ms);
        let config = Config { interval, live, ..Config::over(&levels) };
        let fields: Vec<_> = config.invalid().iter().map(|invalid| invalid.field).collect();
        (config.whole_lump(), fields)
    };
    for (rate, interval_ms, lump) in
        [(10, 100, Some(1)), (1_000_000, 100, Some(100_000)), (3, 1000, Some(3)), (3, 100, None)]
    {
        let wrong = if lump.is_none() { vec!["live"] } else { vec![] };
        assert_eq!(refused(rate, interval_ms, Live::Crate), (lump, wrong), "{rate} B/s");
        assert_eq!(refused(rate, interval_ms, Live::Law), (lump, vec![]), "{rate} B/s");
    }
    assert_eq!(refused(1000, 0, Live::Crate), (None, vec!["interval", "live"]));
}
