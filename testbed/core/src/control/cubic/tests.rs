//! The law against a client that sends all that the window lets go.

use super::*;

fn at(ms: u64) -> Time {
    Time::from_nanos(ms * 1_000_000)
}

/// A law with a client that sends and is answered.
struct Client {
    law: Cubic,
    now_ms: u64,
}

impl Client {
    fn new(config: &Config) -> Self {
        Self { law: config.build(&Streams::new(1)), now_ms: 0 }
    }

    /// All that the window lets go is sent at once, and ends `rtt_ms` later.
    fn round(&mut self, rtt_ms: u64, outcome: Outcome) {
        let (start, limit) = (at(self.now_ms), self.law.limit() as u32);
        for id in 0..limit {
            assert!(self.law.releases(start, &Arrival::new(id.into(), 0, start)));
        }
        self.now_ms += rtt_ms;
        for nth in 1..=limit {
            let sample = Sample {
                start,
                sent: start,
                end: at(self.now_ms),
                in_flight_at_start: nth,
                in_flight_at_end: limit + 1 - nth,
                limit_at_start: limit.into(),
                outcome,
                bytes: 0,
            };
            let _ = self.law.on_sample(sample.end, &sample);
        }
    }

    fn until(&mut self, ms: u64, rtt_ms: u64) {
        while self.now_ms < ms {
            self.round(rtt_ms, Outcome::Success);
        }
    }
}

#[test]
fn slow_start_adds_one_for_each_success_of_a_window_in_use() {
    let mut client = Client::new(&Config { initial: 8, ..Config::default() });
    client.round(10, Outcome::Success);
    // The 4th is the first that had half of 8 in flight; it and the four after it add one each.
    assert_eq!(client.law.limit(), 13);
}

#[test]
fn a_round_of_drops_is_one_cut_and_after_k_the_window_is_back() {
    for (initial, k_s) in [(10, 1.957), (100, 4.217)] {
        let mut client = Client::new(&Config { initial, ..Config::default() });
        client.round(200, Outcome::Overload);
        let (window, epoch) = (client.law.window(), client.law.epoch.unwrap());
        assert!((window / f64::from(initial) - 0.7).abs() < 1e-9, "{window}");
        assert!((epoch.k - k_s).abs() < 5e-4, "{}", epoch.k);
        client.until(200 + (k_s * 1000.0) as u64, 200);
        let regained = client.law.window() / f64::from(initial);
        assert!((0.97..=1.03).contains(&regained), "{regained} of {initial}");
    }
}

#[test]
fn a_second_cut_before_the_window_is_back_leaves_room_for_others() {
    let mut client = Client::new(&Config { initial: 100, ..Config::default() });
    client.round(10, Outcome::Overload);
    client.round(10, Outcome::Success);
    client.round(10, Outcome::Timeout);
    let (window, w_max) = (client.law.window(), client.law.epoch.unwrap().w_max);
    assert!((w_max / (window / 0.7) - 0.85).abs() < 1e-9, "{w_max}, {window}");
}

#[test]
fn where_round_trips_are_short_it_is_no_slower_than_reno() {
    let mut client = Client::new(&Config { initial: 10, ..Config::default() });
    client.round(1, Outcome::Overload);
    client.until(100, 1);
    // 7 + 0.53 a round trip up to 10, in 6 of them, and then one; but only answers that found half of the
    // window in flight count, here the later half.
    assert!(client.law.window() > 40.0, "{}", client.law.window());
}

/// A window of one after a loss, and then 800 answers, one at a time.
fn after_a_loss(idle: Idle) -> Client {
    let mut client = Client::new(&Config { initial: 1, min: 1, idle, ..Config::default() });
    client.round(25, Outcome::Timeout);
    for _ in 0..800 {
        client.round(10, Outcome::Success);
    }
    client
}

#[test]
fn an_idle_time_that_is_counted_from_the_last_sending_pins_the_window() {
    assert_eq!(after_a_loss(Idle::SinceSent).law.window(), 1.0);
    for idle in [Idle::SinceAnswer, Idle::Never] {
        let window = after_a_loss(idle).law.window();
        assert!(window > 100.0, "{idle:?}: {window}");
    }
}

#[test]
fn where_it_is_pinned_recovery_begins_and_ends_in_each_round_trip() {
    let config = Config { initial: 2, min: 1, idle: Idle::SinceSent, ..Config::default() };
    let mut client = Client::new(&config);
    // Sent at 0 ms and lost; the other of the two is under way from 20 ms to 30 ms, so recovery begins 5 ms
    // after its sending, and each later one moves that by what has passed.
    client.law.releases(at(20), &Arrival::new(0, 0, at(20)));
    let lost = Sample {
        start: at(0),
        sent: at(0),
        end: at(25),
        in_flight_at_start: 1,
        in_flight_at_end: 2,
        limit_at_start: 2,
        outcome: Outcome::Timeout,
        bytes: 0,
    };
    let _ = client.law.on_sample(at(25), &lost);
    let answer = Sample {
        start: at(20),
        sent: at(20),
        end: at(30),
        in_flight_at_end: 1,
        outcome: Outcome::Success,
        ..lost
    };
    let _ = client.law.on_sample(at(30), &answer);
    client.now_ms = 30;
    let before = client.law.flips;
    for _ in 0..100 {
        client.round(10, Outcome::Success);
    }
    assert_eq!((client.law.flips - before, client.law.limit()), (200, 1));
}

#[test]
fn a_pause_is_a_licence_to_send_only_if_it_moves_nothing() {
    for (idle, curve) in [(Idle::Never, 78_227.0), (Idle::SinceAnswer, 7.05)] {
        let mut client = Client::new(&Config { initial: 10, idle, ..Config::default() });
        client.round(10, Outcome::Overload);
        client.until(20, 10);
        client.now_ms = 60_000;
        client.round(10, Outcome::Success);
        let shown = client.law.curve.unwrap();
        assert!((shown / curve - 1.0).abs() < 0.01, "{idle:?}: {shown}");
    }
}

#[test]
fn an_end_that_is_heard_of_after_the_next_sending_is_no_idle_time() {
    for (sent_ms, is_idle) in [(0, true), (10, false)] {
        let mut client = Client::new(&Config { initial: 1, min: 1, ..Config::default() });
        client.law.releases(at(sent_ms), &Arrival::new(0, 0, at(sent_ms)));
        let ended = Sample {
            start: at(0),
            sent: at(0),
            end: at(10),
            in_flight_at_start: 1,
            in_flight_at_end: 1,
            limit_at_start: 1,
            outcome: Outcome::Success,
            bytes: 0,
        };
        let _ = client.law.on_sample(at(11), &ended);
        assert_eq!(client.law.is_idle, is_idle, "sent at {sent_ms} ms");
    }
}
