//! Makes the single time series that observers hold on to, so that none is looked up per request.

use super::names::Metric;
use prometheus::core::Collector;
use prometheus::{Counter, Gauge, Histogram, HistogramOpts, IntCounter, Opts, Registry};
use testbed_core::time::Nanos;

/// Makes series in one registry. A series is asked for once.
#[derive(Clone, Debug)]
pub(super) struct Children {
    registry: Registry,
    deadlines: Vec<Nanos>,
}

impl Children {
    pub(super) fn new(registry: &Registry, deadlines: &[Nanos]) -> Self {
        Self { registry: registry.clone(), deadlines: deadlines.to_vec() }
    }

    pub(super) fn gauge(&self, metric: &Metric, values: &[&str]) -> Gauge {
        self.register(Gauge::with_opts(opts(metric, values)))
    }

    pub(super) fn counter(&self, metric: &Metric, values: &[&str]) -> IntCounter {
        self.register(IntCounter::with_opts(opts(metric, values)))
    }

    /// A counter of what is no whole number.
    pub(super) fn sum(&self, metric: &Metric, values: &[&str]) -> Counter {
        self.register(Counter::with_opts(opts(metric, values)))
    }

    pub(super) fn histogram(&self, metric: &Metric, values: &[&str]) -> Histogram {
        let buckets = metric.kind.bounds(&self.deadlines);
        self.register(Histogram::with_opts(HistogramOpts {
            common_opts: opts(metric, values),
            buckets,
        }))
    }

    fn register<C: Collector + Clone + 'static>(&self, made: prometheus::Result<C>) -> C {
        let series = made.expect("names.rs holds valid names");
        self.collect(series.clone());
        series
    }

    /// Has series asked for at every scrape.
    pub(super) fn collect(&self, collector: impl Collector + 'static) {
        self.registry
            .register(Box::new(collector))
            .expect("a series is asked for once, its labels as names.rs says");
    }
}

/// The labels go in as constant ones: series of one name with unlike values merge when gathered.
fn opts(metric: &Metric, values: &[&str]) -> Opts {
    labelled(metric, values).fold(Opts::new(metric.name, metric.help), |opts, (label, value)| {
        opts.const_label(label, value)
    })
}

/// The labels of a metric with their values.
pub(super) fn labelled<'a>(
    metric: &Metric,
    values: &'a [&'a str],
) -> impl Iterator<Item = (&'static str, &'a str)> {
    assert_eq!(metric.labels.len(), values.len(), "labels of {}", metric.name);
    metric.labels.iter().copied().zip(values.iter().copied())
}
