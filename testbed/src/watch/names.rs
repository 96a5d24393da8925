//! The names of all metrics. No other file knows one.
//!
//! Conventions: base units, `_total` on counters, a bounded set of values for every label. Values
//! of `arm`, `phase` and `fault` are the names in the experiment file.

mod kind;

pub use kind::Kind;

/// What a scrape is told of a metric.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Metric {
    /// The full name.
    pub name: &'static str,
    /// One line for people: what it is, with the unit if the name has none.
    pub help: &'static str,
    /// Its type, and with it the shape of its values.
    pub kind: Kind,
    /// The names of its labels.
    pub labels: &'static [&'static str],
}

/// One constant for each row, and the list of all rows.
macro_rules! metrics {
    ($($NAME:ident: $kind:ident $name:literal [$($label:literal),*] $help:literal;)+) => {
        $(
            #[doc = $help]
            pub const $NAME: Metric =
                Metric { name: $name, help: $help, kind: Kind::$kind, labels: &[$($label),*] };
        )+

        /// Every metric, in the order of this file.
        pub const ALL: &[Metric] = &[$($NAME),+];
    };
}

metrics! {
    BUILD_INFO: Gauge "windtunnel_build_info" ["version"]
        "Always 1; the label holds the version of windtunnel.";
    RUN_INFO: Gauge "windtunnel_run_info" ["experiment", "mode", "seed"]
        "Always 1; the labels say what runs.";
    PHASE_ACTIVE: Gauge "windtunnel_phase_active" ["phase"]
        "1 while the phase lasts, else 0.";
    PHASE_START: Gauge "windtunnel_phase_start_timestamp_seconds" ["phase"]
        "Wall-clock time in Unix seconds at which the phase began; absent before.";
    FAULT_ACTIVE: Gauge "windtunnel_fault_active" ["fault"]
        "1 while the fault is on, else 0.";
    FAULT_TRANSITIONS: Counter "windtunnel_fault_transitions_total" ["fault", "to"]
        "How often the fault was switched; to is on or off.";

    WINDOW: Gauge "windtunnel_controller_window_requests" ["arm"]
        "The window as the law computes it, fractions included.";
    LIMIT: Gauge "windtunnel_controller_limit_requests" ["arm"]
        "How many requests the controller lets be in flight.";
    GRADIENT: Gauge "windtunnel_controller_gradient_ratio" ["arm"]
        "The gradient that the law last used; below 1 when round trips take longer than its baseline.";
    CONTROLLER_RTT: Gauge "windtunnel_controller_rtt_seconds" ["arm", "kind"]
        "Round-trip times that the law last used; kind is baseline or observed.";
    VITAL: Gauge "windtunnel_controller_vital" ["arm", "name"]
        "The law's inner numbers, each in its own unit.";
    UPDATES: Counter "windtunnel_controller_updates_total" ["arm", "direction", "reason"]
        "Recomputations of the window; direction is up, down or hold, reason is the law's.";
    UPDATE_WINDOW: Windows "windtunnel_controller_update_window_requests" ["arm"]
        "The window after each recomputation, whether or not it moved.";
    UPDATE_GRADIENT: Ratios "windtunnel_controller_update_gradient_ratio" ["arm"]
        "The gradient that the law had last used, at each recomputation; may exceed 1.";

    REGIME: Gauge "windtunnel_regime" ["arm", "regime"]
        "1 for the regime that the arm is in, 0 for all others, sampled; docs/regimes.md says what they are.";

    IN_FLIGHT: Gauge "windtunnel_in_flight_requests" ["arm"]
        "Requests sent and not yet ended.";
    IN_FLIGHT_PEAK: Gauge "windtunnel_in_flight_peak_requests" ["arm"]
        "The most requests in flight at one time of the last sampling interval.";
    SATURATED: Counter "windtunnel_saturated_seconds_total" ["arm"]
        "Run time during which no slot was free: in flight at or above the limit.";
    WAITING: Gauge "windtunnel_waiting_requests" ["arm"]
        "Requests that wait for admission, or asks that wait for tokens.";
    ARRIVALS: Counter "windtunnel_arrivals_total" ["arm"]
        "Requests that the load offered, and retries.";
    ADMITTED: Counter "windtunnel_admitted_total" ["arm"]
        "Requests sent to the backend.";
    REJECTED: Counter "windtunnel_rejected_total" ["arm"]
        "Requests turned away: the queue was full, the law did not accept them, or they waited too long.";
    QUEUE_DROPS: Counter "windtunnel_queue_drops_total" ["arm", "reason"]
        "Rejected requests that had waited; reason is codel, or max_wait.";
    QUEUE_LOOKS: Counter "windtunnel_queue_looks_total" ["arm"]
        "Looks of waiting requests at the gate, sampled: one for each grant, or as many as race for it.";
    PERMITS_LOST: Counter "windtunnel_permits_lost_total" ["arm"]
        "Places at the gate that nobody will ever give back, sampled.";
    ABANDONED: Counter "windtunnel_abandoned_total" ["arm"]
        "Requests that still waited when the run ended.";
    REQUESTS: Counter "windtunnel_requests_total" ["arm", "outcome"]
        "Requests that ended; outcome is ok, overload, error, timeout or cancelled.";
    RETRIES: Counter "windtunnel_retries_total" ["arm"]
        "Attempts that failed and are tried again.";
    TOXIC: Counter "windtunnel_toxic_requests_total" ["arm", "hit"]
        "Ended attempts by whether a toxic acted on their connection, where the engine can tell.";
    WAIT: HistogramFromZero "windtunnel_wait_seconds" ["arm"]
        "From planned arrival to admission, or from ask to grant or cancel; zero for no wait.";
    RTT: Histogram "windtunnel_rtt_seconds" ["arm", "outcome"]
        "From a request's admission to its end.";
    SCHEDULE_LAG: HistogramFromZero "windtunnel_schedule_lag_seconds" ["arm"]
        "How late the load offered requests against its plan; a high value discredits the run.";
    MAKESPAN: Gauge "windtunnel_makespan_seconds" ["arm"]
        "From the first planned arrival to the last end of the finite input last done; 0 before.";

    UTILISATION: Gauge "windtunnel_backend_utilisation_ratio" ["arm"]
        "Mean share of busy servers over the last sampling interval, 0 to 1.";
    IN_SYSTEM: Gauge "windtunnel_backend_in_system_requests" ["arm"]
        "Requests inside the backend: in service, queued and held.";
    QUEUED: Gauge "windtunnel_backend_queued_requests" ["arm"]
        "Requests inside the backend that wait for a server.";
    FEED_LAG: Histogram "windtunnel_backend_feed_lag_seconds" ["arm"]
        "From an answer until a backend elsewhere has what its gradient hold goes by; it waits 2 ms for that.";

    INJECTED: Counter "windtunnel_fault_injected_total" ["arm", "fault"]
        "Requests that an HTTP fault has hit.";
    OVERFLOW: Counter "windtunnel_fault_overflow_total" ["arm", "fault"]
        "Requests that an HTTP fault let pass because max_active others were under it.";
    UNDER_FAULT: Gauge "windtunnel_fault_active_requests" ["arm", "fault"]
        "Requests that are under an HTTP fault now: arrived, and their answers not over.";
    LINKS: Counter "windtunnel_network_links_total" ["arm"]
        "Links that were opened, one for each direction of a connection.";
    LINKS_HIT: Counter "windtunnel_network_links_hit_total" ["arm"]
        "Links that a toxic has acted on.";
    DROPPED: Counter "windtunnel_network_dropped_bytes_total" ["arm"]
        "Bytes that came into the network and were not passed on.";
    ABORTS: Counter "windtunnel_network_aborts_total" ["arm"]
        "Links that a toxic closed.";
    RESETS: Counter "windtunnel_network_resets_total" ["arm"]
        "Links that a toxic reset.";

    ASKS: Counter "windtunnel_asks_total" ["arm"]
        "Asks for tokens; each has ended, or waits.";
    WAIT_ENDS: Counter "windtunnel_wait_ends_total" ["arm", "outcome"]
        "Waits for tokens that ended; outcome is granted, cancelled, or cut_off by the run's end.";
    OVERTAKES: Counter "windtunnel_overtakes_total" ["arm"]
        "Waits that were overtaken by a grant to one who had asked later, summed over grants.";
    GRANTED: Counter "windtunnel_granted_bytes_total" ["arm"]
        "Bytes that the limiter granted.";
    ZERO_PROGRESS: Gauge "windtunnel_zero_progress_waiters" ["arm"]
        "Waiters that wait and have seen 20 rounds of grants go by since they asked.";
    OLDEST_AGE: Gauge "windtunnel_waiter_oldest_age_seconds" ["arm"]
        "Run time that the oldest wait under way has lasted, sampled; 0 if nobody waits.";
    WAITER_AGE: Gauge "windtunnel_waiter_age_seconds" ["arm", "rank"]
        "Run time that the ten oldest waits under way have lasted, sampled; rank 01 is the oldest.";
    WAITER_WAIT: Counter "windtunnel_waiter_wait_seconds_total" ["arm", "waiter"]
        "Waits of one waiter that were granted or cancelled, summed; other is all that are folded.";
    WAITER_DECISIONS: Counter "windtunnel_waiter_decisions_total" ["arm", "waiter"]
        "Waits of one waiter that were granted or cancelled.";
    WAITER_GRANTED: Counter "windtunnel_waiter_granted_bytes_total" ["arm", "waiter"]
        "Bytes that one waiter was granted.";
    WAITER_LAST_WAIT: Gauge "windtunnel_waiter_last_wait_seconds" ["arm", "waiter"]
        "The last wait of one waiter that was granted or cancelled.";
    WAITERS_FOLDED: Gauge "windtunnel_waiters_folded" ["arm"]
        "Waiters without series of their own: all but the 64 that asked first.";

    LIMITER_VITAL: Gauge "windtunnel_limiter_vital" ["arm", "name"]
        "The limiter's inner numbers, each in its own unit, sampled.";
    LIMITER_TOKENS: Gauge "windtunnel_limiter_tokens_bytes" ["arm"]
        "Tokens of the global bucket, sampled; below 0 in debt.";
    TOKENS_START: Gauge "windtunnel_limiter_tokens_start_bytes" ["arm", "level"]
        "Tokens that the buckets of a level began with, those that came into being later included.";
    TOKENS_AVAILABLE: Gauge "windtunnel_limiter_tokens_available_bytes" ["arm", "level"]
        "Tokens of a level, sampled: start + refilled + returned - taken - discarded; below 0 in debt.";
    TOKENS_REFILLED: Counter "windtunnel_limiter_tokens_refilled_bytes_total" ["arm", "level"]
        "Tokens that came in with time, sampled.";
    TOKENS_TAKEN: Counter "windtunnel_limiter_tokens_taken_bytes_total" ["arm", "level"]
        "Tokens that were taken, sampled.";
    TOKENS_RETURNED: Counter "windtunnel_limiter_tokens_returned_bytes_total" ["arm", "level"]
        "Tokens that were taken and given back, sampled.";
    TOKENS_DISCARDED: Counter "windtunnel_limiter_tokens_discarded_bytes_total" ["arm", "level"]
        "Tokens that were lost over the brim of a bucket, sampled.";
    WAKES_PER_GRANT: Gauge "windtunnel_limiter_wakes_per_grant_ratio" ["arm"]
        "Wake-ups for each grant since the run began, sampled; may exceed 1.";

    TRANSFERS: Gauge "windtunnel_transfers_active" ["arm"]
        "Transfers with a slot: at work, waiting or backing off.";
    TRANSFER_ENDS: Counter "windtunnel_transfer_ends_total" ["arm", "how"]
        "Ends of attempts: done, low_speed or broken; failed if the segment is then given up.";
    TASKS_DONE: Counter "windtunnel_tasks_done_total" ["arm"]
        "Downloads of which all segments are done.";
    LOST: Counter "windtunnel_lost_bytes_total" ["arm"]
        "Bytes granted to transfers that were aborted before the next checkpoint.";

    SPANS: Counter "windtunnel_spans_total" ["result"]
        "Spans of traces; result is ended, and each of those is exported, failed, dropped, or on its way.";
    SERVER_RUNS: Counter "windtunnel_server_runs_total" ["verdict"]
        "Runs of this server that are over; verdict is pass, fail, inconclusive, interrupted or broken.";
    SERVER_REFUSED: Counter "windtunnel_server_refused_runs_total" []
        "Orders for runs that were refused.";
    SERVER_READERS: Counter "windtunnel_server_readers_dropped_total" []
        "Readers of runs that were too slow and were let go.";
    SERVER_REQUESTS: Counter "windtunnel_server_requests_total" ["route", "status"]
        "HTTP requests by route, other for what is none, and class of their status, such as 2xx.";
    RUNTIME_LAG: HistogramFromZero "windtunnel_runtime_lag_seconds" []
        "How late the testbed's own runtime runs a task that is ready (live); the machine's part in all times.";
}

/// The metric with a unit that shows an inner number of laws, beside [`VITAL`], and its label after the
/// arm. Only the common ones have one.
pub fn of_vital(vital: &str) -> Option<(Metric, Option<&'static str>)> {
    match vital {
        "gradient" => Some((GRADIENT, None)),
        "baseline_rtt" => Some((CONTROLLER_RTT, Some("baseline"))),
        "observed_rtt" => Some((CONTROLLER_RTT, Some("observed"))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_distinct_and_carry_the_prefix() {
        let names: BTreeSet<_> = ALL.iter().map(|metric| metric.name).collect();
        assert_eq!(names.len(), ALL.len());
        assert!(names.iter().all(|name| name.starts_with("windtunnel_")));
    }

    #[test]
    fn counters_and_only_counters_end_in_total() {
        for metric in ALL {
            let counter = metric.kind == Kind::Counter;
            assert_eq!(metric.name.ends_with("_total"), counter, "{}", metric.name);
        }
    }

    #[test]
    fn histograms_have_bounds_and_a_unit_at_the_end_of_their_name() {
        for metric in ALL {
            let unit = match metric.kind {
                Kind::Gauge | Kind::Counter => "",
                Kind::Histogram | Kind::HistogramFromZero => "_seconds",
                Kind::Windows => "_requests",
                Kind::Ratios => "_ratio",
            };
            assert!(metric.name.ends_with(unit), "{}", metric.name);
            assert_eq!(metric.kind.bounds(&[]).is_empty(), unit.is_empty(), "{}", metric.name);
        }
    }
}
