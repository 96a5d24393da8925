use super::timer::FillTest;
use super::*;
use crate::rng::Streams;

fn bucket(rate: u64, capacity: u64, initial: u64, refill: Refill) -> Bucket {
    build(BucketConfig {
        capacity: Some(Bytes::new(capacity)),
        initial: Some(Bytes::new(initial)),
        refill,
        ..BucketConfig::new(ByteRate::per_second(rate).unwrap())
    })
}

fn build(config: BucketConfig) -> Bucket {
    Bucket::new(&config, Time::ZERO, || Streams::new(1).stream("refill"))
}

fn at(ns: u64) -> Time {
    Time::from_nanos(ns)
}

#[test]
fn tokens_are_there_at_the_promised_nanosecond_and_not_before() {
    for (rate, n, ns) in [
        (4 << 20, 16_384, 3_906_250),
        (3, 1, 333_333_334),
        (1_000_000_007, 1, 1),
        (7, 1_000_000, 142_857_142_857_143),
    ] {
        let mut bucket = bucket(rate, u64::MAX, 0, Refill::Exact);
        assert_eq!(bucket.ready_at(Time::ZERO, n), Some(at(ns)), "{rate} {n}");
        assert_eq!(bucket.ready_at(at(ns - 1), n), Some(at(ns)));
        assert_eq!(bucket.ready_at(at(ns), n), Some(at(ns)));
    }
}

#[test]
fn looking_often_loses_nothing_if_refill_is_exact() {
    let mut bucket = bucket(1000, 1 << 20, 0, Refill::Exact);
    (1..=1_000_000).for_each(|step| bucket.refill(at(step * 1_000)));
    assert_eq!(bucket.tokens(), 1000.0);
}

#[test]
fn a_refill_cut_to_milliseconds_loses_what_is_below_one() {
    let mut seldom = bucket(1000, 1 << 20, 0, Refill::Milliseconds);
    (1..=100).for_each(|step| seldom.refill(at(step * 10_999_999)));
    assert_eq!(seldom.tokens(), 1000.0, "100 looks of 10 ms each");
    let mut often = bucket(1000, 1 << 20, 0, Refill::Milliseconds);
    (1..=100_000).for_each(|step| often.refill(at(step * 999_999)));
    assert_eq!(often.tokens(), 0.0);
}

#[test]
fn ticks_bring_tokens_in_lumps() {
    let mut bucket = bucket(1000, 50, 0, Refill::Tick(Nanos::from_millis(20)));
    bucket.refill(at(19_999_999));
    assert_eq!(bucket.tokens(), 0.0);
    assert_eq!(bucket.ready_at(at(19_999_999), 20), Some(at(20_000_000)));
    assert_eq!(bucket.ready_at(at(21_000_000), 21), Some(at(40_000_000)));
    assert_eq!(bucket.ready_at(at(65_000_000), 50), Some(at(65_000_000)), "60, of which 50 fit");
    assert_eq!(bucket.ledger().discarded, 10 * PER_BYTE);
}

#[test]
fn a_debt_is_paid_off_by_the_refill() {
    let mut bucket = bucket(1000, 10, 10, Refill::Exact);
    bucket.take(Time::ZERO, 110);
    assert_eq!(bucket.due(Time::ZERO, 0), at(100_000_000));
    assert_eq!(bucket.ready_at(Time::ZERO, 11), None, "it holds no more than 10");
    assert_eq!(bucket.due(Time::ZERO, 11), at(111_000_000), "but 11 will have come in");
    bucket.give_back(at(50_000_000), 60);
    assert_eq!(bucket.tokens(), 10.0);
    assert_eq!(bucket.level(), bucket.ledger().balance());
}

#[test]
fn what_comes_in_before_a_taking_does_not_outlast_the_brim() {
    let mut bucket = bucket(1000, 10, 10, Refill::Exact);
    bucket.take(at(1_000_000_000), 10);
    assert_eq!(bucket.due(at(1_000_000_000), 1), at(1_001_000_000));
}

#[test]
fn rate_and_capacity_change_while_tokens_are_in_it() {
    let mut bucket = bucket(1000, 100, 0, Refill::Exact);
    bucket.set_rate(at(50_000_000), ByteRate::per_second(100).unwrap());
    assert_eq!(bucket.tokens(), 50.0);
    assert_eq!(bucket.ready_at(at(50_000_000), 60), Some(at(150_000_000)));
    bucket.set_capacity(at(50_000_000), Bytes::new(20));
    assert_eq!((bucket.tokens(), bucket.ledger().discarded), (20.0, 30 * PER_BYTE));
    assert_eq!(bucket.level(), bucket.ledger().balance());
}

#[test]
fn the_longest_time_overflows_nothing() {
    let mut fast = bucket(ByteRate::MAX.get(), u64::MAX, 0, Refill::Exact);
    fast.refill(Time::NEVER);
    assert_eq!(fast.tokens(), u64::MAX as f64);
    let mut slow = bucket(1, u64::MAX, 0, Refill::Exact);
    assert_eq!(slow.ready_at(Time::ZERO, u64::MAX), Some(Time::NEVER));
}

/// juju/ratelimit#30: 20 each second, 100 saved; some are taken after 5 s, and then what is there. The
/// first take starts the clock, so one more is there if it takes one, and all again if it takes all.
#[test]
fn a_clock_that_stands_while_the_bucket_is_full_gives_idle_time_twice() {
    use WhenFull::{Discard, StopClock};
    for (when_full, taken, left, full_again) in [
        (Discard, 100, 0.0, 10),
        (Discard, 1, 99.0, 6),
        (StopClock, 100, 100.0, 5),
        (StopClock, 1, 100.0, 5),
    ] {
        let mut bucket = build(BucketConfig {
            capacity: Some(Bytes::new(100)),
            refill: Refill::Tick(Nanos::from_secs(1)),
            when_full,
            ..BucketConfig::new(ByteRate::per_second(20).unwrap())
        });
        let now = at(5_000_000_000);
        bucket.take(now, taken);
        bucket.refill(now);
        assert_eq!(bucket.tokens(), left, "{when_full:?}, {taken}");
        assert_eq!(bucket.ready_at(now, 100), Some(at(full_again * 1_000_000_000)));
        assert_eq!(bucket.level(), bucket.ledger().balance());
    }
}

fn by_timer(jitter_ms: u64, test: FillTest) -> Bucket {
    let (every, jitter) = (Nanos::from_secs(1), Nanos::from_millis(jitter_ms));
    bucket(1000, 1 << 40, 0, Refill::Timer(TimerConfig { every, jitter, test }))
}

#[test]
fn a_timer_without_jitter_is_a_tick() {
    for test in [FillTest::None, FillTest::Elapsed] {
        let mut timer = by_timer(0, test);
        let mut tick = bucket(1000, 1 << 40, 0, Refill::Tick(Nanos::from_secs(1)));
        for ms in (0..5000).step_by(7) {
            let now = at(ms * 1_000_000);
            assert_eq!(timer.ready_at(now, 2500), tick.ready_at(now, 2500), "at {ms} ms");
            assert_eq!(timer.tokens(), tick.tokens(), "at {ms} ms");
        }
    }
}

#[test]
fn a_timer_that_asks_the_clock_leaves_one_fill_in_e_out() {
    for (jitter_ms, test, share) in [
        (10, FillTest::None, 1.0),
        (10, FillTest::Elapsed, 1.0 - 1.0 / std::f64::consts::E),
        (1, FillTest::Elapsed, 1.0 - 1.0 / std::f64::consts::E),
    ] {
        let mut bucket = by_timer(jitter_ms, test);
        bucket.refill(at(100_000_500_000_000));
        let filled = bucket.tokens() / 1000.0 / 100_000.0;
        assert!((filled - share).abs() < 0.005, "{jitter_ms} ms, {test:?}: {filled}");
    }
}

#[test]
fn a_timer_says_beforehand_when_it_will_have_filled() {
    for test in [FillTest::None, FillTest::Elapsed] {
        let mut bucket = by_timer(100, test);
        let due = bucket.ready_at(Time::ZERO, 100_000).unwrap();
        bucket.refill(at(due.as_nanos() - 1));
        assert_eq!(bucket.tokens(), 99_000.0, "{test:?}");
        bucket.refill(due);
        assert_eq!(bucket.tokens(), 100_000.0, "{test:?}");
    }
}

/// nginx's `limit_req`, in thousandths of a request, with a clock of whole milliseconds:
/// `excess = max(0, excess - rate * ms / 1000 + 1)`, refused above the burst, and a request that is
/// refused leaves `excess` and `last` as they are. The first of all counts nothing.
fn limit_req(rate: u64, burst: u64, arrivals_ns: &[u64]) -> Vec<bool> {
    let (mut excess, mut last) = (0_i128, None);
    let passes = |ns: &u64| {
        let ms = ns / 1_000_000;
        let since = last.map(|last| i128::from(ms - last));
        let more = since.map_or(0, |ms| (excess - i128::from(rate) * ms + 1000).max(0));
        let passes = more <= i128::from(burst) * 1000;
        if passes {
            (excess, last) = (more, Some(ms));
        }
        passes
    };
    arrivals_ns.iter().map(passes).collect()
}

/// A tick of 1 ms and a capacity of the burst and one.
fn tick_of_1ms(rate: u64, burst: u64, arrivals_ns: &[u64]) -> Vec<bool> {
    let tick = Refill::Tick(Nanos::from_millis(1));
    let mut bucket = bucket(rate, burst + 1, burst + 1, tick);
    let passes = |ns: &u64| {
        let passes = bucket.ready_at(at(*ns), 1).is_some_and(|ready| ready <= at(*ns));
        if passes {
            bucket.take(at(*ns), 1);
        }
        passes
    };
    arrivals_ns.iter().map(passes).collect()
}

#[test]
fn a_tick_of_a_millisecond_refuses_whom_nginx_refuses() {
    // hatoo/oha#796: 200 200 429 200 429.
    let oha = [37_070, 37_570, 38_069, 38_569, 39_068].map(|ms| ms * 1_000_000);
    assert_eq!(tick_of_1ms(2, 0, &oha), [true, true, false, true, false]);
    assert_eq!(tick_of_1ms(100, 100, &[5_000_000; 154]).iter().filter(|ok| **ok).count(), 101);
    let mut ns = 0;
    let uneven: Vec<u64> = (0..5000_u64)
        .map(|n| {
            ns += n * n % 997 * 2_003;
            ns
        })
        .collect();
    for (rate, burst) in [(1, 0), (2, 0), (700, 0), (999, 3), (1000, 0), (5000, 0), (5000, 5)] {
        for arrivals in [&oha[..], &uneven] {
            let ours = tick_of_1ms(rate, burst, arrivals);
            assert_eq!(ours, limit_req(rate, burst, arrivals), "{rate}/s, burst {burst}");
        }
    }
}
