//! OpenMetrics with timestamps: family by family, within it series by series, within it in order of
//! time, as the format asks.

use super::placing::Moment;
use super::points::{Buckets, Series, Steps, Values};
use crate::watch::names::{self, Kind, Metric};
use crate::watch::openmetrics::{Number, escaped, write_head};
use prometheus::proto::MetricType;
use std::fmt::Write as _;
use std::io::{self, Write};

/// What was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Written {
    pub(super) series: u64,
    /// Values, a histogram's at one instant counted as one.
    pub(super) samples: u64,
    /// Values of which there was a later one in the same millisecond.
    pub(super) merged: u64,
}

/// Writes all series of a run that began at `start`. They are sorted here.
pub(super) fn write(
    out: &mut impl Write,
    mut series: Vec<Series>,
    start: Moment,
) -> io::Result<Written> {
    series.sort_by(|a, b| (rank(&a.metric), &a.labels).cmp(&(rank(&b.metric), &b.labels)));
    let (mut written, mut family, mut text) = (Written::default(), "", String::new());
    for series in series.iter().filter(|series| !series.values.is_empty()) {
        if series.metric.name != family {
            family = series.metric.name;
            head(&mut text, &series.metric);
            out.write_all(text.as_bytes())?;
            text.clear();
        }
        written.series += 1;
        match &series.values {
            Values::Steps(steps) => write_steps(out, series, steps, start, &mut written)?,
            Values::Buckets(buckets) => write_buckets(out, series, buckets, start, &mut written)?,
        }
    }
    out.write_all(b"# EOF\n")?;
    Ok(written)
}

/// The place of a metric in the order of `names.rs`.
fn rank(metric: &Metric) -> Option<usize> {
    names::ALL.iter().position(|other| other.name == metric.name)
}

/// The name of a family: the ending of counters belongs to their samples.
fn family_name(metric: &Metric) -> &'static str {
    metric.name.strip_suffix("_total").unwrap_or(metric.name)
}

fn head(out: &mut String, metric: &Metric) {
    let of_type = match metric.kind {
        Kind::Gauge => MetricType::GAUGE,
        Kind::Counter => MetricType::COUNTER,
        Kind::Histogram | Kind::HistogramFromZero | Kind::Windows | Kind::Ratios => {
            MetricType::HISTOGRAM
        }
    };
    write_head(out, family_name(metric), of_type, metric.help);
}

/// The labels of a series without braces.
fn labels(series: &Series) -> String {
    let pairs = series.metric.labels.iter().zip(&series.labels);
    let pairs = pairs.map(|(name, value)| format!("{name}=\"{}\"", escaped(value)));
    pairs.collect::<Vec<_>>().join(",")
}

/// A name with its labels, and one more label if there is one.
fn named(name: &str, labels: &str, more: Option<String>) -> String {
    let all: Vec<_> =
        [labels.to_owned()].into_iter().chain(more).filter(|part| !part.is_empty()).collect();
    if all.is_empty() { name.to_owned() } else { format!("{name}{{{}}}", all.join(",")) }
}

/// Milliseconds as seconds, without the rounding of a floating point number.
fn seconds(millis: u64) -> String {
    format!("{}.{:03}", millis / 1000, millis % 1000)
}

fn write_steps(
    out: &mut impl Write,
    series: &Series,
    steps: &Steps,
    start: Moment,
    written: &mut Written,
) -> io::Result<()> {
    let name = named(series.metric.name, &labels(series), None);
    // A phase's start is a time of day itself.
    let since = if series.metric == names::PHASE_START { start.seconds() } else { 0.0 };
    let mut points = steps.points.iter().peekable();
    while let Some((at, value)) = points.next() {
        let millis = start.millis_at(*at);
        if let Some((next, later)) =
            points.peek().filter(|(next, _)| start.millis_at(*next) == millis)
        {
            // What is said twice of one instant is no loss.
            written.merged += u64::from(next != at && value != later);
            continue;
        }
        written.samples += 1;
        writeln!(out, "{name} {} {}", Number(value + since), seconds(millis))?;
    }
    Ok(())
}

fn write_buckets(
    out: &mut impl Write,
    series: &Series,
    buckets: &Buckets,
    start: Moment,
    written: &mut Written,
) -> io::Result<()> {
    let names = HistogramNames::new(series, buckets);
    let (mut counts, mut grown, mut text) = (vec![0; names.buckets.len()], 0, String::new());
    for (index, mark) in buckets.marks.iter().enumerate() {
        for (bucket, more) in &buckets.growth[grown..mark.grown] {
            counts[*bucket] += more;
        }
        grown = mark.grown;
        let millis = start.millis_at(mark.at);
        let next = buckets.marks.get(index + 1);
        if next.is_none_or(|next| start.millis_at(next.at) > millis) {
            written.samples += 1;
            text.clear();
            names.write(&mut text, &counts, mark.sum, &seconds(millis));
            out.write_all(text.as_bytes())?;
        }
    }
    Ok(())
}

/// The names of a histogram's samples, with their labels.
struct HistogramNames {
    buckets: Vec<String>,
    sum: String,
    count: String,
}

impl HistogramNames {
    fn new(series: &Series, buckets: &Buckets) -> Self {
        let (name, labels) = (series.metric.name, labels(series));
        let full = |ending: &str, more| named(&format!("{name}_{ending}"), &labels, more);
        let bounds = buckets.bounds.iter().copied().chain([f64::INFINITY]);
        let bucket = |bound| full("bucket", Some(format!("le=\"{}\"", Number(bound))));
        Self {
            buckets: bounds.map(bucket).collect(),
            sum: full("sum", None),
            count: full("count", None),
        }
    }

    /// Writes counts by size, which are added up here, at one instant.
    fn write(&self, text: &mut String, counts: &[u64], sum: f64, at: &str) {
        // Writing to a string cannot fail.
        let mut all = 0;
        for (name, own) in self.buckets.iter().zip(counts) {
            all += own;
            let _ = writeln!(text, "{name} {all} {at}");
        }
        let _ = writeln!(text, "{} {} {at}", self.sum, Number(sum));
        let _ = writeln!(text, "{} {all} {at}", self.count);
    }
}
