//! Runs in miniature: what an arm does from second to second, and what that is called.

use super::*;
use Regime::{Collapse, Healthy, Oscillation, Saturated, Stall, Starvation};
use testbed_core::control::Update;
use testbed_core::download::Change;
use testbed_core::limit::Waiter;
use testbed_core::request::{Arrival, Outcome, Sample};
use testbed_core::time::Nanos;
use testbed_core::vitals::Vitals;
use testbed_core::wait::{Wait, WaitEnd};

const ARM: Arm = Arm(0);
const ARRIVAL: Arrival = Arrival::new(0, 0, Time::ZERO);

/// A second of an arm whose law has a ceiling of 64.
#[derive(Clone, Copy)]
struct Second {
    /// The window that the law computes at its beginning, if it computes one.
    window: Option<f64>,
    in_flight: u32,
    waiting: u32,
    /// The share of the backend that is busy.
    busy: f64,
    ok: u32,
    failed: u32,
}

/// A second at a full window of which clients would like more, and of which all succeeds.
const fn full(window: f64, busy: f64, ok: u32) -> Second {
    let in_flight = window as u32;
    Second { window: Some(window), in_flight, waiting: 50, busy, ok, failed: 0 }
}

fn finished(now: Time, outcome: Outcome, in_flight: u32) -> Event<'static> {
    let sample = Sample {
        start: now,
        sent: now,
        end: now,
        in_flight_at_start: 1,
        in_flight_at_end: 1,
        limit_at_start: 1,
        outcome,
        bytes: 0,
    };
    let (served, hit, again) = (None, None, None);
    Event::Finished { arm: ARM, arrival: ARRIVAL, sample, served, hit, again, in_flight }
}

fn watch(kind: ArmKind) -> Regimes {
    Regimes::new(&[ArmLabel { name: "one".into(), kind, has_window: true, ceiling: Some(64.0) }])
}

/// What the arm is in after the second that begins at `from`.
fn live_through(regimes: &mut Regimes, from: Time, second: &Second) -> Regime {
    let Second { window, in_flight, waiting, busy, ok, failed } = *second;
    let vitals = Vitals::new();
    if let Some(new) = window {
        let update = Update { old: new, new, limit: new as u64, reason: "test" };
        regimes.follow(from, &Event::Updated { arm: ARM, update, vitals: &vitals });
    }
    let limit = window.unwrap_or(64.0) as u64;
    let (wait, gated) = (Nanos::ZERO, true);
    let arrival = ARRIVAL;
    let admitted = Event::Admitted { arm: ARM, arrival, wait, in_flight, waiting, limit, gated };
    regimes.follow(from, &admitted);
    for tenth in 1..=10_u32 {
        let now = from.after(Nanos::from_millis(u64::from(tenth) * 100));
        for (outcome, count) in [(Outcome::Success, ok), (Outcome::Timeout, failed)] {
            let share = count * tenth / 10 - count * (tenth - 1) / 10;
            (0..share).for_each(|_| {
                regimes.follow(now, &finished(now, outcome, in_flight));
            });
        }
        let backend = Event::Backend { arm: ARM, in_system: 0, queued: 0, utilisation: busy };
        regimes.follow(now, &backend);
        regimes.follow(now, &Event::Tick);
    }
    regimes.arms[0].1
}

fn assert_lives(about: &str, seconds: &[Second], expected: &[Regime]) {
    let mut regimes = watch(ArmKind::Calls);
    let at = |second| Time::ZERO.after(Nanos::from_secs(second));
    let seen: Vec<_> = (0..)
        .zip(seconds)
        .map(|(from, second)| live_through(&mut regimes, at(from), second))
        .collect();
    assert_eq!(seen, expected, "{about}");
}

#[test]
fn a_window_that_does_not_climb_from_its_lowest_while_there_is_room_is_a_stall() {
    let calm = Second { waiting: 0, ..full(2.0, 0.1, 50) };
    let fallen = [full(64.0, 0.1, 900), full(64.0, 0.1, 900), full(2.0, 0.01, 40)];
    let h = Healthy;
    for (about, then, expected) in [
        ("stuck", &[full(2.0, 0.01, 40); 3][..], &[h, Stall, Stall, Stall][..]),
        ("stuck, and freed", &[full(2.0, 0.0, 40), full(3.0, 0.0, 60)], &[h, Stall, h]),
        ("climbs", &[full(3.0, 0.0, 60), full(5.0, 0.0, 99), full(5.0, 0.0, 99)], &[h, h, h, h]),
        ("nobody waits", &[calm; 3], &[h, h, h, h]),
        ("backend busy", &[full(2.0, 0.99, 40); 3], &[h, Stall, Saturated, Saturated]),
    ] {
        let expected = [&[h, h], expected].concat();
        assert_lives(about, &[&fallen[..], then].concat(), &expected);
    }
}

#[test]
fn what_cannot_climb_does_not_stall() {
    let deaf = Second { window: None, ..full(64.0, 0.1, 900) };
    let slots_free = Second { in_flight: 1, ..full(2.0, 0.0, 40) };
    for (about, second) in [
        ("at its ceiling", full(64.0, 0.1, 900)),
        ("without an update", deaf),
        ("room", slots_free),
    ] {
        assert_lives(about, &[second; 5], &[Healthy; 5]);
    }
    // The same from the first second on: a law that never leaves its first window.
    assert_lives("never left", &[full(2.0, 0.0, 40); 3], &[Healthy, Stall, Stall]);
}

#[test]
fn a_busy_backend_behind_a_full_window_is_saturated() {
    for (about, second, expected) in [
        ("busy", full(32.0, 0.9, 900), [Healthy, Saturated, Saturated]),
        ("nobody waits", Second { waiting: 0, ..full(32.0, 1.0, 900) }, [Healthy; 3]),
        ("slots are free", Second { in_flight: 31, ..full(32.0, 1.0, 900) }, [Healthy; 3]),
    ] {
        assert_lives(about, &[second; 3], &expected);
    }
}

#[test]
fn less_than_half_of_the_best_goodput_while_most_fails_is_a_collapse() {
    let calm = |ok, failed| Second { waiting: 0, failed, ..full(64.0, 0.5, ok) };
    for (about, then, expected) in [
        ("nearly all fails", calm(40, 60), Collapse),
        ("most fails, but as much succeeds as ever", calm(50, 60), Healthy),
        ("little succeeds, but less fails", calm(40, 40), Healthy),
        ("nothing comes", calm(0, 0), Healthy),
        ("nothing succeeds", calm(0, 1), Collapse),
    ] {
        let seconds = [calm(100, 0), calm(20, 0), then, calm(100, 0)];
        assert_lives(about, &seconds, &[Healthy, Healthy, expected, Healthy]);
    }
    let never = [calm(0, 60); 3];
    assert_lives("it was never better", &never, &[Healthy; 3]);
}

#[test]
fn a_window_that_swings_oscillates_and_the_worst_of_all_is_said() {
    let calm = |window, ok, failed| Second { waiting: 0, failed, ..full(window, 0.5, ok) };
    let swing = |second: usize| calm([10.0, 20.0][second % 2], 100, 0);
    let mut seconds: Vec<_> = (0..6).map(swing).collect();
    let mut expected = vec![Healthy; 5];
    expected.push(Oscillation);
    assert_lives("swings", &seconds, &expected);
    seconds.push(calm(10.0, 0, 100));
    expected.push(Collapse);
    assert_lives("and collapses", &seconds, &expected);
}

#[test]
fn a_change_is_said_once_and_to_the_instant() {
    let mut regimes = watch(ArmKind::Calls);
    let second = full(2.0, 0.0, 40);
    live_through(&mut regimes, Time::ZERO, &second);
    let vitals = Vitals::new();
    let update = Update { old: 2.0, new: 2.0, limit: 2, reason: "test" };
    let mut changes = Vec::new();
    for tenth in 11..=25 {
        let now = Time::ZERO.after(Nanos::from_millis(tenth * 100));
        regimes.follow(now, &Event::Updated { arm: ARM, update, vitals: &vitals });
        let changed = regimes.follow(now, &Event::Tick);
        changes.extend(changed.into_iter().map(|(_, regime)| (tenth, regime)));
    }
    assert_eq!(changes, [(20, Stall)]);
}

#[test]
fn a_waiter_that_is_passed_over_for_twenty_rounds_starves() {
    let mut regimes = watch(ArmKind::Downloads);
    let waiter = |id| Waiter { id, ..Waiter::default() };
    let transfer = |id| {
        let (waiter, change) = (waiter(id), Change::Opened { attempt: 0 });
        Event::Transfer { arm: ARM, waiter, change, active: 2 }
    };
    let ended = |id, end| {
        let (quoted, fifo_at, asked_at) = (None, Time::ZERO, Time::ZERO);
        let wait = Wait { waiter: waiter(id), cost: 1, asked_at, quoted, fifo_at };
        let (overtook, lag) = (0, Nanos::ZERO);
        Event::WaitEnded { arm: ARM, wait, end, overtook, lag, waiting: 1, active: 2 }
    };
    for id in [0, 1] {
        assert_eq!(regimes.follow(Time::ZERO, &transfer(id)), []);
    }
    let mut after = |events: usize, id, end| {
        (0..events).for_each(|_| drop(regimes.follow(Time::ZERO, &ended(id, end))));
        regimes.follow(Time::ZERO, &Event::Tick)
    };
    // Two transfers: a round is two grants.
    assert_eq!(after(39, 1, WaitEnd::Granted), []);
    assert_eq!(after(99, 1, WaitEnd::Cancelled), [], "who gives up takes nothing");
    assert_eq!(after(1, 1, WaitEnd::Granted), [(ARM, Starvation)]);
    assert_eq!(after(1, 0, WaitEnd::Granted), [(ARM, Healthy)]);
}
