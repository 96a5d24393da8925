//! What a scrape tells of those that were turned away after a wait.

use super::*;

#[test]
fn who_had_waited_counts_as_rejected_and_by_reason() {
    let rejected = |why| Event::Rejected { arm: ARM, arrival: ARRIVAL, why };
    let looked = |oldest_ms, looks, lost| {
        let oldest = Nanos::from_millis(oldest_ms);
        Event::Queue { arm: ARM, oldest, looks, lost }
    };
    let events = [
        looked(200, 3, 0),
        rejected(Rejection::Full),
        rejected(Rejection::Law),
        rejected(Rejection::Codel),
        rejected(Rejection::MaxWait),
        rejected(Rejection::MaxWait),
        looked(300, 7, 1),
    ];
    assert_lines(
        &text_after(&events),
        r#"
        windtunnel_rejected_total{arm="double"} 5
        windtunnel_queue_drops_total{arm="double",reason="codel"} 1
        windtunnel_queue_drops_total{arm="double",reason="max_wait"} 2
        windtunnel_queue_looks_total{arm="double"} 7
        windtunnel_permits_lost_total{arm="double"} 1
        windtunnel_waiter_oldest_age_seconds{arm="double"} 0.3
        "#,
    );
}
