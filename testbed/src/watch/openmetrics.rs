//! The text format OpenMetrics 1.0, which has room for exemplars. The library of the metrics writes
//! only the older one.

use super::exemplars::{Exemplar, Exemplars};
use super::names::{self, Metric};
use prometheus::proto::{self, MetricFamily, MetricType};
use std::fmt::{self, Display, Formatter, Write as _};

/// What an answer in this format says of itself.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// How the format is named in an Accept header.
const MEDIA_TYPE: &str = "application/openmetrics-text";
/// Bytes that are laid by for an answer. A run of one arm takes 43 kB.
const ROOM: usize = 64 * 1024;
/// Units that are said apart, where a name ends in one.
const UNITS: [&str; 4] = ["seconds", "bytes", "ratio", "requests"];

/// Whether a client with this Accept header would rather have OpenMetrics than the older text.
pub fn is_asked_for(accept: &str) -> bool {
    let best = |media_type| {
        let ranges = accept.split(',').filter_map(|range| quality(range, media_type));
        ranges.fold(0.0, f64::max)
    };
    best(MEDIA_TYPE) > 0.0 && best(MEDIA_TYPE) >= best("text/plain")
}

/// The quality that a range of an Accept header gives to a media type; `None` if it is of another.
fn quality(range: &str, media_type: &str) -> Option<f64> {
    let mut parts = range.split(';').map(str::trim);
    let same = parts.next().is_some_and(|of| of.eq_ignore_ascii_case(media_type));
    let weight = parts.find_map(|part| part.strip_prefix("q="));
    same.then(|| weight.map_or(1.0, |weight| weight.parse().unwrap_or(0.0)))
}

/// The families as OpenMetrics. Only counters, gauges and histograms are written; there are no others.
pub fn encode(families: &[MetricFamily], exemplars: &Exemplars) -> String {
    let mut out = String::with_capacity(ROOM);
    for family in families {
        write_family(&mut out, family, exemplars);
    }
    out.push_str("# EOF\n");
    out
}

fn write_family(out: &mut String, family: &MetricFamily, exemplars: &Exemplars) {
    let of_type = family.get_field_type();
    // The ending belongs to the sample here, not to the family.
    let name = family.name();
    let name = match of_type {
        MetricType::COUNTER => name.strip_suffix("_total").unwrap_or(name),
        _ => name,
    };
    write_head(out, name, of_type, family.help());
    for sample in family.get_metric() {
        let labels = Labels::of(sample);
        match of_type {
            MetricType::COUNTER => {
                write_sample(out, (name, "_total"), &labels, sample.get_counter().get_value());
            }
            MetricType::GAUGE => {
                write_sample(out, (name, ""), &labels, sample.get_gauge().get_value());
            }
            MetricType::HISTOGRAM => write_histogram(out, name, &labels, sample, exemplars),
            MetricType::SUMMARY | MetricType::UNTYPED => {}
        }
    }
}

// Writing to a string cannot fail; the results of `write!` say nothing.

pub(crate) fn write_head(out: &mut String, name: &str, of_type: MetricType, help: &str) {
    let of_type = match of_type {
        MetricType::COUNTER => "counter",
        MetricType::GAUGE => "gauge",
        MetricType::HISTOGRAM => "histogram",
        MetricType::SUMMARY | MetricType::UNTYPED => "unknown",
    };
    let _ = writeln!(out, "# HELP {name} {}", escaped(help));
    let _ = writeln!(out, "# TYPE {name} {of_type}");
    let ends_in = |unit: &&&str| name.strip_suffix(**unit).is_some_and(|rest| rest.ends_with('_'));
    if let Some(unit) = UNITS.iter().find(ends_in) {
        let _ = writeln!(out, "# UNIT {name} {unit}");
    }
}

fn write_sample(out: &mut String, (name, ending): (&str, &str), labels: &Labels, value: f64) {
    let _ = writeln!(out, "{name}{ending}{} {}", labels.text(), Number(value));
}

fn write_histogram(
    out: &mut String,
    name: &str,
    labels: &Labels,
    sample: &proto::Metric,
    exemplars: &Exemplars,
) {
    let histogram = sample.get_histogram();
    let finite = histogram.get_bucket().iter();
    let finite = finite.map(|bucket| (bucket.upper_bound(), bucket.cumulative_count()));
    let all = finite.filter(|(bound, _)| bound.is_finite());
    let all = all.chain([(f64::INFINITY, histogram.get_sample_count())]);
    let metric = names::ALL.iter().find(|metric| metric.name == name);
    let exemplars = metric.map(|metric| exemplars.of_series(metric, &labels.in_order_of(metric)));
    let (exemplars, before_bound) = (exemplars.unwrap_or_default(), labels.before_bound());
    for (bucket, (bound, count)) in all.enumerate() {
        let _ = write!(out, "{name}_bucket{before_bound}le=\"{}\"}} {count}", Number(bound));
        if let Some(exemplar) = exemplars.get(&bucket) {
            write_exemplar(out, exemplar);
        }
        out.push('\n');
    }
    let labels = labels.text();
    let _ = writeln!(out, "{name}_sum{labels} {}", Number(histogram.get_sample_sum()));
    let _ = writeln!(out, "{name}_count{labels} {}", histogram.get_sample_count());
}

fn write_exemplar(out: &mut String, exemplar: &Exemplar) {
    let Exemplar { trace_id, value, when } = *exemplar;
    let _ = write!(out, " # {{trace_id=\"{trace_id:032x}\"}} {} {when:.3}", Number(value));
}

/// The labels of a sample.
struct Labels<'a>(Vec<(&'a str, &'a str)>);

impl<'a> Labels<'a> {
    fn of(sample: &'a proto::Metric) -> Self {
        Self(sample.get_label().iter().map(|label| (label.name(), label.value())).collect())
    }

    /// Their values as the metric lists them.
    fn in_order_of(&self, metric: &Metric) -> Vec<&'a str> {
        let value = |name: &&str| self.0.iter().find(|(of, _)| of == name).map(|(_, value)| *value);
        metric.labels.iter().filter_map(value).collect()
    }

    /// As they are written; nothing at all if there are none.
    fn text(&self) -> String {
        if self.0.is_empty() { String::new() } else { format!("{{{}}}", self.pairs().join(",")) }
    }

    /// As they are written up to the upper bound of a bucket, which comes last.
    fn before_bound(&self) -> String {
        let pairs = self.pairs().into_iter().map(|pair| pair + ",");
        format!("{{{}", pairs.collect::<String>())
    }

    fn pairs(&self) -> Vec<String> {
        self.0.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect()
    }
}

/// A number as the format wants it: whole ones with `.0`, so that bounds are written in one way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Number(pub(crate) f64);

impl Display for Number {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            f64::INFINITY => f.write_str("+Inf"),
            f64::NEG_INFINITY => f.write_str("-Inf"),
            value => write!(f, "{value:?}"),
        }
    }
}

pub(crate) fn escaped(text: &str) -> String {
    text.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n")
}

#[cfg(test)]
mod tests;
