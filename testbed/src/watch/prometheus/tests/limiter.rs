//! Scripted waits and transfers, and the text that a scrape gets after them.

use super::*;
use std::collections::BTreeSet;
use testbed_core::bucket::BucketConfig;
use testbed_core::download::{Change, Reason};
use testbed_core::limit::quantity::{ByteRate, Bytes};
use testbed_core::limit::{Level, Levels, LevelsConfig, Waiter};
use testbed_core::rng::Streams;
use testbed_core::wait::{Wait, WaitEnd};

fn at(ms: u64) -> Time {
    Time::ZERO.after(Nanos::from_millis(ms))
}

/// A wait for 1000 bytes; the waiters of a task are its segments, ten each.
fn wait(id: u32, asked_ms: u64) -> Wait {
    let waiter = Waiter { id, task: id / 10, queue: 0, segment: id % 10 };
    let (quoted, fifo_at) = (None, Time::ZERO);
    Wait { waiter, cost: 1000, asked_at: at(asked_ms), quoted, fifo_at }
}

pub(super) fn asked(id: u32, at_ms: u64) -> Event<'static> {
    Event::Asked { arm: PACED, wait: wait(id, at_ms), waiting: 1 }
}

/// The wait of one who asked at that instant ended; one still waits, and four are active.
fn ended(id: u32, asked_ms: u64, end: WaitEnd, overtook: u32) -> Event<'static> {
    let (wait, lag) = (wait(id, asked_ms), Nanos::ZERO);
    Event::WaitEnded { arm: PACED, wait, end, overtook, lag, waiting: 1, active: 4 }
}

fn granted(id: u32, asked_ms: u64) -> Event<'static> {
    ended(id, asked_ms, WaitEnd::Granted, 0)
}

fn after(events: &[(u64, Event<'_>)]) -> String {
    let mut prometheus = prometheus();
    events.iter().for_each(|(ms, event)| prometheus.on_event(at(*ms), event));
    render(&prometheus.registry())
}

/// Lines with values, without the comments before them.
fn series(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.starts_with('#'))
}

#[test]
fn waits_are_counted_by_how_they_ended() {
    let text = after(&[
        (0, asked(0, 0)),
        (0, granted(0, 0)),
        (0, asked(1, 0)),
        (100, asked(2, 100)),
        (400, ended(2, 100, WaitEnd::Granted, 1)),
        (500, ended(1, 0, WaitEnd::Cancelled, 0)),
        (500, asked(3, 500)),
        (900, ended(3, 500, WaitEnd::CutOff, 0)),
    ]);
    assert_lines(
        &text,
        r#"
        windtunnel_waiting_requests{arm="paced"} 1
        windtunnel_wait_seconds_bucket{arm="paced",le="0"} 1
        windtunnel_wait_seconds_sum{arm="paced"} 0.8
        windtunnel_wait_seconds_count{arm="paced"} 3
        windtunnel_wait_ends_total{arm="paced",outcome="granted"} 2
        windtunnel_wait_ends_total{arm="paced",outcome="cancelled"} 1
        windtunnel_wait_ends_total{arm="paced",outcome="cut_off"} 1
        windtunnel_overtakes_total{arm="paced"} 1
        windtunnel_granted_bytes_total{arm="paced"} 2000
        "#,
    );
}

#[test]
fn a_waiter_shows_its_waits_under_its_name() {
    let text = after(&[
        (0, asked(35, 0)),
        (250, granted(35, 0)),
        (250, asked(35, 250)),
        (750, granted(35, 250)),
        (750, asked(35, 750)),
        (875, ended(35, 750, WaitEnd::Cancelled, 0)),
        (875, asked(35, 875)),
        (900, ended(35, 875, WaitEnd::CutOff, 0)),
    ]);
    assert_lines(
        &text,
        r#"
        windtunnel_waiter_wait_seconds_total{arm="paced",waiter="task3/seg5"} 0.875
        windtunnel_waiter_decisions_total{arm="paced",waiter="task3/seg5"} 3
        windtunnel_waiter_granted_bytes_total{arm="paced",waiter="task3/seg5"} 2000
        windtunnel_waiter_last_wait_seconds{arm="paced",waiter="task3/seg5"} 0.125
        windtunnel_waiters_folded{arm="paced"} 0
        "#,
    );
}

#[test]
fn however_many_waiters_there_are_the_series_stay_as_many() {
    let text_with = |waiters: u32| {
        // From the last on, so that the order of the asks is not the order of the numbers.
        let asks = (0..waiters).rev().flat_map(|id| [(0, asked(id, 0)), (2_000, granted(id, 0))]);
        after(&asks.chain([(3_000, asked(0, 3_000)), (4_000, Event::Tick)]).collect::<Vec<_>>())
    };
    let (few, many) = (text_with(65), text_with(10_000));
    assert_eq!(series(&many).count(), series(&few).count());
    let name = |line: &str| line.split("waiter=\"").nth(1).map(|rest| rest.to_owned());
    let waiters: BTreeSet<_> = series(&many)
        .filter_map(name)
        .filter_map(|rest| rest.split('"').next().map(str::to_owned))
        .collect();
    assert_eq!(waiters.len(), 65);
    assert_lines(
        &many,
        r#"
        windtunnel_waiters_folded{arm="paced"} 9936
        windtunnel_waiter_decisions_total{arm="paced",waiter="task999/seg9"} 1
        windtunnel_waiter_decisions_total{arm="paced",waiter="task993/seg6"} 1
        windtunnel_waiter_decisions_total{arm="paced",waiter="other"} 9936
        windtunnel_waiter_wait_seconds_total{arm="paced",waiter="other"} 19872
        windtunnel_waiter_granted_bytes_total{arm="paced",waiter="other"} 9936000
        windtunnel_wait_ends_total{arm="paced",outcome="granted"} 10000
        "#,
    );
}

#[test]
fn the_ten_oldest_waits_are_shown_by_rank_until_they_end() {
    let asks = (0..12).map(|id| (u64::from(id) * 500, asked(id, u64::from(id) * 500)));
    let mut events: Vec<_> = asks.chain([(8_000, Event::Tick)]).collect();
    assert_lines(
        &after(&events),
        r#"
        windtunnel_waiter_oldest_age_seconds{arm="paced"} 8
        windtunnel_waiter_age_seconds{arm="paced",rank="01"} 8
        windtunnel_waiter_age_seconds{arm="paced",rank="02"} 7.5
        windtunnel_waiter_age_seconds{arm="paced",rank="10"} 3.5
        "#,
    );
    events.extend((0..11).map(|id| (9_000, granted(id, u64::from(id) * 500))));
    events.push((10_000, Event::Tick));
    let one_left = r#"
        windtunnel_waiter_oldest_age_seconds{arm="paced"} 4.5
        windtunnel_waiter_age_seconds{arm="paced",rank="01"} 4.5
        windtunnel_waiter_age_seconds{arm="paced",rank="02"} 0
        windtunnel_waiter_age_seconds{arm="paced",rank="10"} 0
        "#;
    assert_lines(&after(&events), one_left);
    events.extend([(11_000, ended(11, 5_500, WaitEnd::CutOff, 0)), (11_000, Event::End)]);
    let none_left = r#"
        windtunnel_waiter_oldest_age_seconds{arm="paced"} 0
        windtunnel_waiter_age_seconds{arm="paced",rank="01"} 0
        "#;
    assert_lines(&after(&events), none_left);
}

#[test]
fn a_waiter_makes_no_progress_after_twenty_rounds_of_grants_to_others() {
    // With four active transfers, a round is four grants.
    for (grants, expected) in [(0, 0), (79, 0), (80, 1), (200, 1)] {
        let race = (0..grants).flat_map(|at| [(at, asked(1, at)), (at, granted(1, at))]);
        let (waiter, change) = (Waiter::default(), Change::Opened { attempt: 0 });
        let opened = Event::Transfer { arm: PACED, waiter, change, active: 4 };
        let events =
            [(0, opened), (0, asked(0, 0))].into_iter().chain(race).chain([(500, Event::Tick)]);
        let text = after(&events.collect::<Vec<_>>());
        let line = format!(r#"windtunnel_zero_progress_waiters{{arm="paced"}} {expected}"#);
        assert_lines(&text, &line);
    }
}

const fn looked(vitals: &Vitals, tokens: Option<f64>) -> Event<'_> {
    Event::Limiter { arm: PACED, vitals, tokens, stocks: &[None; 3] }
}

#[test]
fn a_limiter_shows_its_vitals_and_its_tokens() {
    let mut vitals = Vitals::new();
    vitals.push("wakes", 30.0);
    vitals.push("grants", 12.0);
    let text = after(&[(0, looked(&vitals, Some(5.0))), (100, looked(&vitals, Some(-2.5)))]);
    assert_lines(
        &text,
        r#"
        windtunnel_limiter_vital{arm="paced",name="wakes"} 30
        windtunnel_limiter_vital{arm="paced",name="grants"} 12
        windtunnel_limiter_tokens_bytes{arm="paced"} -2.5
        windtunnel_limiter_wakes_per_grant_ratio{arm="paced"} 2.5
        "#,
    );
    let mut vitals = Vitals::new();
    let text = after(&[(0, looked(&vitals, None))]);
    assert!(!text.contains("windtunnel_limiter_tokens_bytes"), "it has no global bucket");
    assert!(!text.contains("windtunnel_limiter_wakes_per_grant_ratio"), "it counts no looks");
    vitals.push("wakes", 0.0);
    let text = after(&[(0, looked(&vitals, None))]);
    assert_lines(&text, r#"windtunnel_limiter_wakes_per_grant_ratio{arm="paced"} 0"#);
}

#[test]
fn a_limiter_shows_where_its_tokens_came_from_and_went() {
    let bytes = |n| Some(Bytes::new(n));
    let (capacity, initial) = (bytes(1000), bytes(500));
    let bucket = BucketConfig {
        capacity,
        initial,
        ..BucketConfig::new(ByteRate::per_second(1000).unwrap())
    };
    let mut levels = Levels::new(&LevelsConfig::global(bucket), &Streams::new(1));
    let waiter = Waiter::default();
    levels.take(at(0), waiter, 400);
    levels.give_back(at(250), waiter, 100);
    // It is full after 550 ms more, and runs over for 1.2 s.
    levels.ready_at(at(2_000), waiter, 1);
    let (vitals, stocks) = (Vitals::new(), levels.stocks());
    let tokens = levels.tokens(Level::Global);
    let looked = Event::Limiter { arm: PACED, vitals: &vitals, tokens, stocks: &stocks };
    let text = after(&[(2_000, looked)]);
    assert_lines(
        &text,
        r#"
        windtunnel_limiter_tokens_start_bytes{arm="paced",level="global"} 500
        windtunnel_limiter_tokens_refilled_bytes_total{arm="paced",level="global"} 2000
        windtunnel_limiter_tokens_returned_bytes_total{arm="paced",level="global"} 100
        windtunnel_limiter_tokens_taken_bytes_total{arm="paced",level="global"} 400
        windtunnel_limiter_tokens_discarded_bytes_total{arm="paced",level="global"} 1200
        windtunnel_limiter_tokens_available_bytes{arm="paced",level="global"} 1000
        windtunnel_limiter_tokens_bytes{arm="paced"} 1000
        "#,
    );
    assert!(!text.contains(r#"level="task""#), "it has no limit there");
}

#[test]
fn transfers_are_counted_by_how_they_ended() {
    let transfer = |change, active| {
        (0, Event::Transfer { arm: PACED, waiter: Waiter::default(), change, active })
    };
    let aborted = |reason, lost| Change::Aborted { reason, lost };
    let text = after(&[
        transfer(Change::Opened { attempt: 0 }, 1),
        transfer(Change::Opened { attempt: 0 }, 2),
        transfer(aborted(Reason::LowSpeed, 700), 2),
        transfer(Change::Opened { attempt: 1 }, 2),
        transfer(aborted(Reason::Broken, 50), 2),
        transfer(Change::Failed, 1),
        transfer(Change::Done { task_done: false }, 1),
        transfer(Change::Done { task_done: true }, 0),
    ]);
    assert_lines(
        &text,
        r#"
        windtunnel_transfers_active{arm="paced"} 0
        windtunnel_transfer_ends_total{arm="paced",how="done"} 2
        windtunnel_transfer_ends_total{arm="paced",how="failed"} 1
        windtunnel_transfer_ends_total{arm="paced",how="low_speed"} 1
        windtunnel_transfer_ends_total{arm="paced",how="broken"} 1
        windtunnel_tasks_done_total{arm="paced"} 1
        windtunnel_lost_bytes_total{arm="paced"} 750
        "#,
    );
}

/// The names of the metrics that have a series of this arm.
fn names_of(text: &str, arm: &str) -> BTreeSet<String> {
    let label = format!(r#"arm="{arm}""#);
    let of_arm = series(text).filter(|line| line.contains(&label));
    of_arm.filter_map(|line| line.split('{').next().map(str::to_owned)).collect()
}

#[test]
fn an_arm_shows_what_belongs_to_its_kind_only() {
    let text = after(&[(0, asked(0, 0)), (0, Event::Tick)]);
    let (calls, paced) = (names_of(&text, "double"), names_of(&text, "paced"));
    let shared: Vec<_> = calls.intersection(&paced).map(String::as_str).collect();
    assert_eq!(
        shared,
        [
            "windtunnel_backend_in_system_requests",
            "windtunnel_backend_queued_requests",
            "windtunnel_backend_utilisation_ratio",
            "windtunnel_makespan_seconds",
            "windtunnel_network_aborts_total",
            "windtunnel_network_dropped_bytes_total",
            "windtunnel_network_links_hit_total",
            "windtunnel_network_links_total",
            "windtunnel_network_resets_total",
            "windtunnel_regime",
            "windtunnel_wait_seconds_bucket",
            "windtunnel_wait_seconds_count",
            "windtunnel_wait_seconds_sum",
            "windtunnel_waiter_oldest_age_seconds",
            "windtunnel_waiting_requests",
        ]
    );
    assert!(calls.contains("windtunnel_requests_total"));
    assert!(paced.contains("windtunnel_wait_ends_total"));
}
