//! What a server counts of itself, shown beside whatever run is current.

use super::names::{self, Metric};
use prometheus::{IntCounterVec, Opts, Registry};

/// How a run can end: with a verdict, or without one.
const ENDS: [&str; 5] = ["pass", "fail", "inconclusive", "interrupted", "broken"];

/// Counts of one server since it was started. Clones share them.
#[derive(Clone, Debug)]
pub struct ServerMetrics {
    runs: IntCounterVec,
    refused: IntCounterVec,
    readers_dropped: IntCounterVec,
    requests: IntCounterVec,
}

impl Default for ServerMetrics {
    /// Nothing has happened. Requests have no series until the first of their route and status.
    fn default() -> Self {
        let made = Self {
            runs: counter(&names::SERVER_RUNS),
            refused: counter(&names::SERVER_REFUSED),
            readers_dropped: counter(&names::SERVER_READERS),
            requests: counter(&names::SERVER_REQUESTS),
        };
        for verdict in ENDS {
            made.runs.with_label_values(&[verdict]);
        }
        made.refused.with_label_values::<&str>(&[]);
        made.readers_dropped.with_label_values::<&str>(&[]);
        made
    }
}

impl ServerMetrics {
    /// Has them asked for at every scrape of `registry`.
    ///
    /// # Panics
    /// When they are in it already.
    pub fn show_in(&self, registry: &Registry) {
        let Self { runs, refused, readers_dropped, requests } = self;
        for counts in [runs, refused, readers_dropped, requests] {
            registry.register(Box::new(counts.clone())).expect("a registry is given them once");
        }
    }

    /// A run is over: `verdict` is pass, fail, inconclusive, interrupted or broken.
    pub fn run_ended(&self, verdict: &str) {
        debug_assert!(ENDS.contains(&verdict), "{verdict}");
        self.runs.with_label_values(&[verdict]).inc();
    }

    /// An order for a run was refused.
    pub fn run_refused(&self) {
        self.refused.with_label_values::<&str>(&[]).inc();
    }

    /// So many readers were let go.
    pub fn readers_dropped(&self, readers: u64) {
        self.readers_dropped.with_label_values::<&str>(&[]).inc_by(readers);
    }

    /// A request was answered. `route` is one of a bounded set: never the path that was asked for.
    pub fn request(&self, route: &str, status: u16) {
        let class = format!("{}xx", status / 100);
        self.requests.with_label_values(&[route, &class]).inc();
    }
}

fn counter(metric: &Metric) -> IntCounterVec {
    let opts = Opts::new(metric.name, metric.help);
    IntCounterVec::new(opts, metric.labels).expect("names.rs holds valid names")
}
