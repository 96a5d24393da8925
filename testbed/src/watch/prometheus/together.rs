//! Series that belong together. A scrape comes at any time, between two steps of one event as well;
//! single counters would then tell of something that never was, such as more ends than admissions.
//! These are read all at one instant.

use super::children::{Children, labelled};
use super::names::{Kind, Metric};
use prometheus::core::{Collector, Desc};
use prometheus::proto::{self, MetricFamily, MetricType};
use std::fmt::{self, Debug, Formatter};
use std::sync::{Arc, Mutex, PoisonError};

/// Values that are changed and shown together.
pub(super) trait Together: Clone + Send + 'static {
    /// The values in the order of their series.
    fn values(&self) -> Vec<f64>;
}

/// The series of a [`Together`].
pub(super) struct Joint<T> {
    values: Arc<Mutex<T>>,
}

impl<T: Together> Joint<T> {
    /// Makes the series: a metric and the values of its labels for each of the values.
    pub(super) fn new(children: &Children, first: T, series: &[(Metric, &[&str])]) -> Self {
        debug_assert_eq!(first.values().len(), series.len(), "a series for each value");
        let values = Arc::new(Mutex::new(first));
        Self::shared(children, values, series)
    }

    /// Makes the series of values that are changed elsewhere too.
    pub(super) fn shared(
        children: &Children,
        values: Arc<Mutex<T>>,
        series: &[(Metric, &[&str])],
    ) -> Self {
        let series: Vec<_> =
            series.iter().map(|(metric, labels)| Series::new(metric, labels)).collect();
        // Two collectors without series would be one and the same to a registry.
        if !series.is_empty() {
            children.collect(JointCollector { values: Arc::clone(&values), series });
        }
        Self { values }
    }

    /// Changes the values as one. The lock is held for nanoseconds here, and for a copy by a scrape.
    pub(super) fn change(&self, change: impl FnOnce(&mut T)) {
        change(&mut self.values.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl<T> Debug for Joint<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Joint").finish_non_exhaustive()
    }
}

/// One of them.
struct Series {
    metric: Metric,
    desc: Desc,
}

impl Series {
    fn new(metric: &Metric, labels: &[&str]) -> Self {
        let labels = labelled(metric, labels).map(|(name, value)| (name.into(), value.into()));
        let (name, help) = (metric.name.to_owned(), metric.help.to_owned());
        let desc = Desc::new(name, help, Vec::new(), labels.collect());
        Self { metric: *metric, desc: desc.expect("names.rs holds valid names") }
    }

    fn family(&self, value: f64) -> MetricFamily {
        let mut sample = proto::Metric::from_label(self.desc.const_label_pairs.clone());
        let mut family = MetricFamily::default();
        if self.metric.kind == Kind::Counter {
            let mut counter = proto::Counter::default();
            counter.set_value(value);
            sample.set_counter(counter);
            family.set_field_type(MetricType::COUNTER);
        } else {
            let mut gauge = proto::Gauge::default();
            gauge.set_value(value);
            sample.set_gauge(gauge);
            family.set_field_type(MetricType::GAUGE);
        }
        family.set_name(self.metric.name.to_owned());
        family.set_help(self.metric.help.to_owned());
        family.set_metric(vec![sample]);
        family
    }
}

/// What a scrape asks.
struct JointCollector<T> {
    values: Arc<Mutex<T>>,
    series: Vec<Series>,
}

impl<T: Together> Collector for JointCollector<T> {
    fn desc(&self) -> Vec<&Desc> {
        self.series.iter().map(|series| &series.desc).collect()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        let now = self.values.lock().unwrap_or_else(PoisonError::into_inner).clone();
        self.series.iter().zip(now.values()).map(|(series, value)| series.family(value)).collect()
    }
}
