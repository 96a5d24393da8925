use super::*;

fn bucket(rate: u64, capacity: u64, initial: u64, refill: Refill) -> Bucket {
    let config = BucketConfig {
        rate: ByteRate::per_second(rate).unwrap(),
        capacity: Some(Bytes::new(capacity)),
        initial: Some(Bytes::new(initial)),
        refill,
    };
    Bucket::new(&config, Time::ZERO)
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
