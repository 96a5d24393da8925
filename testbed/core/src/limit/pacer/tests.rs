use super::*;

fn pacer(per_second: u64) -> Config {
    let rate = ByteRate::per_second(per_second).unwrap();
    Config { rate, ..Config::over(&LevelsConfig::default()) }
}

fn by_the_ms(per_second: u64) -> Config {
    Config { interval: Interval::Round(Nanos::from_millis(1)), ..pacer(per_second) }
}

fn at_ms(ms: u64) -> Time {
    Time::from_nanos(ms * 1_000_000)
}

/// When each of these asks, (milliseconds, cost), goes.
fn instants(config: &Config, asks: &[(u64, u64)]) -> Vec<f64> {
    let mut pacer = config.build(&Streams::new(1));
    let instant = |(id, (ms, cost)): (usize, &(u64, u64))| {
        let waiter = Waiter { id: id as u32, ..Waiter::default() };
        match pacer.ask(at_ms(*ms), waiter, *cost) {
            Ask::Waiting { quoted: Some(at) } => at.as_secs_f64() * 1e3,
            Ask::Granted => *ms as f64,
            other => panic!("{other:?}"),
        }
    };
    asks.iter().enumerate().map(instant).collect()
}

#[test]
fn a_cost_of_n_goes_n_intervals_after_the_last() {
    let asks = [(0, 5), (0, 1), (0, 3), (1, 1)];
    assert_eq!(instants(&pacer(1000), &asks), [0.0, 1.0, 4.0, 5.0]);
    assert_eq!(instants(&pacer(160), &[(0, 1), (0, 1)]), [0.0, 6.25]);
}

#[test]
fn an_interval_in_whole_milliseconds_is_rounded_half_up() {
    for (set, interval_ms) in
        [(160, 6), (170, 6), (666, 2), (667, 1), (700, 1), (1500, 1), (2000, 1), (2001, 0)]
    {
        let expected = Nanos::from_millis(interval_ms);
        let config = by_the_ms(set);
        assert_eq!(config.interval.of(1, config.rate), expected, "{set} B/s");
    }
    let thousand = [(0, 1); 1000];
    assert_eq!(instants(&by_the_ms(2001), &thousand), [0.0; 1000], "0 holds nobody back");
}

#[test]
fn without_slack_idle_time_is_lost_and_with_it_some_is_made_up_for() {
    let asks = [(0, 1), (10, 1), (10, 1), (10, 1), (10, 1)];
    for (slack, expected) in [
        (0, [0.0, 10.0, 11.0, 12.0, 13.0]),
        (1, [0.0, 10.0, 10.0, 11.0, 12.0]),
        (3, [0.0, 10.0, 10.0, 10.0, 10.0]),
    ] {
        let config = Config { slack: Bytes::new(slack), ..pacer(1000) };
        assert_eq!(instants(&config, &asks), expected, "slack {slack}");
    }
}

/// uber-go/ratelimit#119: at 1 B/s, idle for 2 s, then an ask each millisecond.
#[test]
fn idle_time_that_counts_from_the_last_grant_never_ends() {
    let asks: Vec<_> = [(0, 1)].into_iter().chain((0..6).map(|n| (2000 + n, 1))).collect();
    for (idle_from, expected) in [
        (IdleFrom::Next, [0.0, 2000.0, 2001.0, 3000.0, 4000.0, 5000.0, 6000.0]),
        (IdleFrom::Last, [0.0, 2000.0, 2001.0, 2002.0, 2003.0, 2004.0, 2005.0]),
    ] {
        let config = Config { slack: Bytes::new(1), idle_from, ..pacer(1) };
        assert_eq!(instants(&config, &asks), expected, "{idle_from:?}");
    }
}

#[test]
fn who_asks_without_waiting_takes_an_interval_only_if_it_goes() {
    let mut limiter = pacer(1000).build(&Streams::new(1));
    let goes = [0, 0, 0, 1, 1, 2].map(|ms| limiter.try_ask(at_ms(ms), Waiter::default(), 1));
    assert_eq!(goes, [true, false, false, true, false, true]);
}
