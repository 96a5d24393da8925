//! What a law shows of itself.

use super::*;
use testbed_core::control::UNBOUNDED;

#[test]
fn a_controller_shows_its_window_its_reasons_and_all_its_vitals() {
    let mut vitals = Vitals::new();
    vitals.push("gradient", 0.7);
    vitals.push("baseline_rtt", 0.01);
    vitals.push("observed_rtt", 0.0143);
    vitals.push("shrinks", 3.0);
    let text = text_after(&[
        updated(2.0, 2.0, "start", &Vitals::new()),
        updated(2.0, 3.5, "gradient", &vitals),
        updated(3.5, 4.25, "gradient", &vitals),
    ]);
    assert_lines(
        &text,
        r#"
        windtunnel_controller_window_requests{arm="double"} 4.25
        windtunnel_controller_limit_requests{arm="double"} 4
        windtunnel_controller_gradient_ratio{arm="double"} 0.7
        windtunnel_controller_rtt_seconds{arm="double",kind="baseline"} 0.01
        windtunnel_controller_rtt_seconds{arm="double",kind="observed"} 0.0143
        windtunnel_controller_vital{arm="double",name="gradient"} 0.7
        windtunnel_controller_vital{arm="double",name="shrinks"} 3
        windtunnel_controller_updates_total{arm="double",direction="hold",reason="start"} 1
        windtunnel_controller_updates_total{arm="double",direction="up",reason="gradient"} 2
        "#,
    );
    assert!(!text.contains(r#"gradient_ratio{arm="integer"}"#), "it has none yet");
}

#[test]
fn each_update_is_counted_by_the_window_and_the_gradient_that_it_found() {
    let mut vitals = Vitals::new();
    vitals.push("gradient", 0.7);
    let text = text_after(&[
        updated(2.0, 2.0, "start", &Vitals::new()),
        updated(2.0, 2.0, "gradient", &vitals),
        updated(2.0, 3.5, "gradient", &vitals),
    ]);
    assert_lines(
        &text,
        r#"
        windtunnel_controller_update_window_requests_bucket{arm="double",le="1.414214"} 0
        windtunnel_controller_update_window_requests_bucket{arm="double",le="2"} 2
        windtunnel_controller_update_window_requests_bucket{arm="double",le="4"} 3
        windtunnel_controller_update_window_requests_sum{arm="double"} 7.5
        windtunnel_controller_update_window_requests_count{arm="integer"} 0
        windtunnel_controller_update_gradient_ratio_bucket{arm="double",le="0.65"} 0
        windtunnel_controller_update_gradient_ratio_bucket{arm="double",le="0.7"} 2
        windtunnel_controller_update_gradient_ratio_count{arm="double"} 2
        "#,
    );
    assert!(!text.contains(r#"update_gradient_ratio_count{arm="integer"}"#), "it has none yet");
}

#[test]
fn a_law_without_a_window_shows_none() {
    let open = ArmLabel { has_window: false, ..label("open", ArmKind::Calls) };
    let mut prometheus = Prometheus::new(&RunLabels { arms: vec![open], ..labels() });
    let update = Update { old: 0.0, new: 0.0, limit: UNBOUNDED, reason: "start" };
    let vitals = &Vitals::new();
    prometheus.on_event(Time::ZERO, &Event::Updated { arm: Arm(0), update, vitals });
    let text = render(&prometheus.registry());
    assert!(text.contains(r#"controller_updates_total{arm="open""#));
    for metric in ["window_requests", "limit_requests", "update_window_requests"] {
        assert!(!text.contains(&format!("windtunnel_controller_{metric}")), "{metric}");
    }
}
