//! Scripted events, and the text that a scrape gets after them.

mod controller;
mod limiter;
mod queue;
mod runs;

use super::*;
use crate::watch::server::ServerMetrics;
use testbed_clock::unix_now;
use testbed_core::admission::Admission;
use testbed_core::control::{ControllerConfig, Update};
use testbed_core::event::Network;
use testbed_core::feedback::FeedbackConfig;
use testbed_core::limit::levels::Stock;
use testbed_core::queue::{Queue, Rejection};
use testbed_core::request::{Answer, Arrival, Outcome, Sample};
use testbed_core::rng::Streams;
use testbed_core::service::Counts;
use testbed_core::time::Nanos;
use testbed_core::vitals::Vitals;

const ARM: Arm = Arm(1);
const PACED: Arm = Arm(2);
const ARRIVAL: Arrival = Arrival::new(0, 0, Time::ZERO);

fn label(name: &str, kind: ArmKind) -> ArmLabel {
    ArmLabel { name: name.into(), kind, has_window: true, ceiling: None }
}

fn labels() -> RunLabels {
    let list = |names: &[&str]| names.iter().map(ToString::to_string).collect();
    RunLabels {
        experiment: "overload".into(),
        mode: "virtual".into(),
        seed: 7,
        arms: vec![
            label("integer", ArmKind::Calls),
            label("double", ArmKind::Calls),
            label("paced", ArmKind::Downloads),
        ],
        phases: list(&["healthy", "storm"]),
        faults: list(&["held"]),
        deadlines: vec![Nanos::from_millis(300)],
    }
}

fn prometheus() -> Prometheus {
    Prometheus::new(&labels())
}

fn text_after(events: &[Event<'_>]) -> String {
    let mut prometheus = prometheus();
    events.iter().for_each(|event| prometheus.on_event(Time::ZERO, event));
    render(&prometheus.registry())
}

fn assert_lines(text: &str, expected: &str) {
    for line in expected.lines().map(str::trim).filter(|line| !line.is_empty()) {
        assert!(text.lines().any(|got| got == line), "{line} is missing in\n{text}");
    }
}

fn finished(outcome: Outcome, rtt: Nanos) -> Event<'static> {
    let sample = Sample {
        start: Time::ZERO,
        sent: Time::ZERO,
        end: Time::ZERO.after(rtt),
        in_flight_at_start: 1,
        in_flight_at_end: 1,
        limit_at_start: 2,
        outcome,
        bytes: 0,
    };
    let (served, hit, again) = (None, Some(true), Some(Nanos::ZERO));
    Event::Finished { arm: ARM, arrival: ARRIVAL, sample, served, hit, again, in_flight: 3 }
}

fn admitted(wait: Nanos, waiting: u32) -> Event<'static> {
    Event::Admitted {
        arm: ARM,
        arrival: ARRIVAL,
        wait,
        in_flight: 4,
        waiting,
        limit: 9,
        gated: true,
    }
}

fn updated<'a>(old: f64, new: f64, reason: &'static str, vitals: &'a Vitals) -> Event<'a> {
    Event::Updated { arm: ARM, update: Update { old, new, limit: new as u64, reason }, vitals }
}

#[test]
fn a_run_that_has_not_started_shows_its_names_and_zeros() {
    assert_lines(
        &text_after(&[]),
        r#"
        # HELP windtunnel_run_info Always 1; the labels say what runs.
        # TYPE windtunnel_run_info gauge
        windtunnel_run_info{experiment="overload",mode="virtual",seed="7"} 1
        windtunnel_phase_active{phase="healthy"} 0
        windtunnel_phase_active{phase="storm"} 0
        windtunnel_fault_active{fault="held"} 0
        windtunnel_fault_transitions_total{fault="held",to="off"} 0
        windtunnel_fault_transitions_total{fault="held",to="on"} 0
        # TYPE windtunnel_requests_total counter
        windtunnel_requests_total{arm="integer",outcome="cancelled"} 0
        windtunnel_requests_total{arm="double",outcome="ok"} 0
        # TYPE windtunnel_wait_seconds histogram
        windtunnel_wait_seconds_count{arm="double"} 0
        "#,
    );
}

#[test]
fn phases_follow_each_other_and_faults_leave_their_edges() {
    let phase = |index| Event::Phase { index, name: "" };
    let fault = |on| Event::Fault { index: 0, name: "held", on };
    let events = [phase(0), fault(true), phase(1), fault(false), fault(true)];
    assert_lines(
        &text_after(&events),
        r#"
        windtunnel_phase_active{phase="healthy"} 0
        windtunnel_phase_active{phase="storm"} 1
        windtunnel_fault_active{fault="held"} 1
        windtunnel_fault_transitions_total{fault="held",to="on"} 2
        windtunnel_fault_transitions_total{fault="held",to="off"} 1
        "#,
    );
    let ended = [phase(0), Event::Tick, Event::End];
    assert_lines(&text_after(&ended), r#"windtunnel_phase_active{phase="healthy"} 0"#);
}

#[test]
fn requests_are_counted_where_they_are_decided() {
    let arrived = Event::Arrived { arm: ARM, arrival: ARRIVAL, lag: Nanos::from_millis(1) };
    let events = [
        arrived,
        arrived,
        arrived,
        arrived,
        Event::Rejected { arm: ARM, arrival: ARRIVAL, why: Rejection::Full },
        admitted(Nanos::ZERO, 2),
        admitted(Nanos::from_millis(300), 1),
        finished(Outcome::Success, Nanos::from_micros(200)),
        finished(Outcome::Timeout, Nanos::from_secs(300)),
        Event::Abandoned { arm: ARM, arrival: ARRIVAL },
    ];
    assert_lines(
        &text_after(&events),
        r#"
        windtunnel_arrivals_total{arm="double"} 4
        windtunnel_arrivals_total{arm="integer"} 0
        windtunnel_rejected_total{arm="double"} 1
        windtunnel_admitted_total{arm="double"} 2
        windtunnel_abandoned_total{arm="double"} 1
        windtunnel_in_flight_requests{arm="double"} 3
        windtunnel_waiting_requests{arm="double"} 0
        windtunnel_schedule_lag_seconds_bucket{arm="double",le="0"} 0
        windtunnel_schedule_lag_seconds_count{arm="double"} 4
        windtunnel_wait_seconds_bucket{arm="double",le="0"} 1
        windtunnel_wait_seconds_bucket{arm="double",le="0.289630938"} 1
        windtunnel_wait_seconds_bucket{arm="double",le="0.3"} 2
        windtunnel_wait_seconds_bucket{arm="double",le="0.4096"} 2
        windtunnel_wait_seconds_sum{arm="double"} 0.3
        windtunnel_requests_total{arm="double",outcome="ok"} 1
        windtunnel_rtt_seconds_bucket{arm="double",outcome="ok",le="0.000141421"} 0
        windtunnel_rtt_seconds_bucket{arm="double",outcome="ok",le="0.0002"} 1
        windtunnel_rtt_seconds_bucket{arm="double",outcome="timeout",le="296.582080076"} 0
        windtunnel_rtt_seconds_bucket{arm="double",outcome="timeout",le="+Inf"} 1
        "#,
    );
}

#[test]
fn a_full_gate_counts_its_time_and_shows_its_peak_interval_by_interval() {
    let at = |ms| Time::ZERO.after(Nanos::from_millis(ms));
    let vitals = Vitals::new();
    let mut script = vec![
        (0, updated(4.0, 4.0, "start", &vitals)),
        (10, admitted(Nanos::ZERO, 0)),
        (90, finished(Outcome::Success, Nanos::ZERO)),
        (100, Event::Tick),
    ];
    let text = |script: &[(u64, Event<'_>)]| {
        let mut prometheus = prometheus();
        script.iter().for_each(|(ms, event)| prometheus.on_event(at(*ms), event));
        render(&prometheus.registry())
    };
    // The limit of an admission is 9; it takes four of them to be full.
    script.insert(2, (20, updated(9.0, 4.0, "test", &vitals)));
    assert_lines(
        &text(&script),
        r#"
        windtunnel_in_flight_peak_requests{arm="double"} 4
        windtunnel_saturated_seconds_total{arm="double"} 0.07
        windtunnel_saturated_seconds_total{arm="integer"} 0
        "#,
    );
    script.push((200, Event::Tick));
    assert_lines(&text(&script), r#"windtunnel_in_flight_peak_requests{arm="double"} 3"#);
}

#[test]
fn an_arm_is_in_one_regime_and_all_of_them_are_shown() {
    assert_lines(
        &text_after(&[Event::Tick]),
        r#"
        windtunnel_regime{arm="double",regime="healthy"} 1
        windtunnel_regime{arm="double",regime="saturated"} 0
        windtunnel_regime{arm="double",regime="stall"} 0
        windtunnel_regime{arm="double",regime="starvation"} 0
        windtunnel_regime{arm="double",regime="oscillation"} 0
        windtunnel_regime{arm="double",regime="collapse"} 0
        windtunnel_regime{arm="paced",regime="healthy"} 1
        "#,
    );
}

#[test]
fn a_phase_is_marked_with_the_wall_clock_when_it_begins() {
    let now = || unix_now().as_secs_f64();
    let before = now();
    let text = text_after(&[Event::Phase { index: 1, name: "" }]);
    let name = r#"windtunnel_phase_start_timestamp_seconds{phase="storm"} "#;
    let mark = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    let mark: f64 = mark.parse().unwrap();
    assert!((before..=now()).contains(&mark), "{mark}");
    assert!(!text.contains(r#"timestamp_seconds{phase="healthy"}"#), "it has not begun");
}

#[test]
fn the_process_shows_what_the_system_says_of_it() {
    let shown = text_after(&[]).contains("\nprocess_resident_memory_bytes ");
    assert_eq!(shown, cfg!(target_os = "linux"));
}

#[test]
fn reasons_beyond_the_bound_are_counted_together() {
    const REASONS: [&str; 18] =
        ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q", "r"];
    let vitals = Vitals::new();
    let text = text_after(&REASONS.map(|reason| updated(1.0, 1.0, reason, &vitals)));
    assert_lines(
        &text,
        r#"
        windtunnel_controller_updates_total{arm="double",direction="hold",reason="p"} 1
        windtunnel_controller_updates_total{arm="double",direction="hold",reason="other"} 2
        "#,
    );
    assert!(!text.contains(r#"reason="q""#));
}

#[test]
fn the_backend_shows_its_last_sample() {
    let events = [
        Event::Backend { arm: ARM, in_system: 9, queued: 4, utilisation: 0.85 },
        Event::InputDone { arm: ARM, makespan: Nanos::from_secs(12) },
    ];
    assert_lines(
        &text_after(&events),
        r#"
        windtunnel_backend_in_system_requests{arm="double"} 9
        windtunnel_backend_queued_requests{arm="double"} 4
        windtunnel_backend_utilisation_ratio{arm="double"} 0.85
        windtunnel_makespan_seconds{arm="double"} 12
        "#,
    );
}

#[test]
fn what_faults_have_done_is_counted_on_from_what_was_said_last() {
    let injected = |injected, active| {
        let counts = Counts { injected, overflow: 1, active };
        Event::Injected { arm: ARM, name: "held", counts }
    };
    let network = |links| {
        let network = Network { links, links_hit: 3, dropped: 70, aborts: 2, resets: 1 };
        Event::Network { arm: ARM, network }
    };
    assert_lines(
        &text_after(&[injected(4, 2), network(8), injected(9, 0), network(10)]),
        r#"
        windtunnel_fault_injected_total{arm="double",fault="held"} 9
        windtunnel_fault_overflow_total{arm="double",fault="held"} 1
        windtunnel_fault_active_requests{arm="double",fault="held"} 0
        windtunnel_network_links_total{arm="double"} 10
        windtunnel_network_links_hit_total{arm="double"} 3
        windtunnel_network_dropped_bytes_total{arm="double"} 70
        windtunnel_network_aborts_total{arm="double"} 2
        windtunnel_network_resets_total{arm="double"} 1
        "#,
    );
}

#[test]
fn every_name_is_used_with_its_type_and_help() {
    let mut vitals = Vitals::new();
    vitals.push("gradient", 1.0);
    vitals.push("baseline_rtt", 1.0);
    vitals.push("wakes", 0.0);
    let stocks = [None, None, Some(Stock::default())];
    let looked = Event::Limiter { arm: PACED, vitals: &vitals, tokens: Some(0.0), stocks: &stocks };
    let registry = Registry::new();
    let server = ServerMetrics::default();
    server.request("/metrics", 200);
    server.show_in(&registry);
    let of_a_server = render(&registry);
    let text = text_after(&[
        Event::Phase { index: 0, name: "healthy" },
        updated(1.0, 1.0, "start", &vitals),
        looked,
        limiter::asked(0, 0),
        Event::Injected { arm: ARM, name: "held", counts: Counts::default() },
        Event::Fed { arm: ARM, lag: Nanos::ZERO },
        Event::Runtime { lag: Nanos::ZERO },
    ]) + &of_a_server;
    for metric in names::ALL {
        let (name, help, kind) = (metric.name, metric.help, metric.kind.name());
        assert_lines(&text, &format!("# HELP {name} {help}\n# TYPE {name} {kind}"));
    }
}

/// The windows after each of 200 answers of a slow backend.
fn windows<O: Observer>(observer: &mut O) -> Vec<f64> {
    let velox = ControllerConfig::all().into_iter().find(|law| law.name() == "velox");
    let law = velox.expect("velox is registered").build(&Streams::new(1));
    let mut admission = Admission::new(Arm(0), law, Queue::new(10), &FeedbackConfig::default());
    let mut now = Time::ZERO;
    let mut windows = Vec::new();
    for id in 0..200 {
        let arrival = Arrival::new(id, 0, now);
        admission.arrive(now, arrival, observer).expect("one waits at a time");
        let ticket = admission.admit(now, observer).expect("none is in flight");
        let sent = now;
        now = now.after(Nanos::from_micros(10_000 + id * 100));
        let answer = Answer::without(Outcome::Success, sent, now);
        admission.finish(now, ticket, &answer, None, observer);
        windows.push(admission.controller().window());
    }
    windows
}

#[test]
fn watching_changes_nothing() {
    let watched = windows(&mut prometheus());
    assert_eq!(watched, windows(&mut ()));
    assert!(watched[0] < watched[199], "the window moved");
}
