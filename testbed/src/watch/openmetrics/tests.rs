//! Recorded expectations, and Accept headers.

use super::*;
use prometheus::{Gauge, Histogram, HistogramOpts, IntCounterVec, Opts, Registry};

fn registry() -> Registry {
    let registry = Registry::new();
    let opts = Opts::new("windtunnel_rejected_total", "Turned away;\nby \\ what \"name\".");
    let counter = IntCounterVec::new(opts, &["arm"]).unwrap();
    counter.with_label_values(&["a\\b\"c\nd"]).inc_by(3);
    registry.register(Box::new(counter)).unwrap();
    for (name, value) in
        [("windtunnel_limit", 1.0), ("windtunnel_nan", f64::NAN), ("windtunnel_a_ratio", 0.000_05)]
    {
        let gauge = Gauge::new(name, "A gauge.").unwrap();
        gauge.set(value);
        registry.register(Box::new(gauge)).unwrap();
    }
    let opts = HistogramOpts::new("windtunnel_runtime_lag_seconds", "A histogram.");
    let histogram = Histogram::with_opts(opts.buckets(vec![0.0, 0.5, 1.0])).unwrap();
    [0.0, 0.25, 1.0, 8.0].into_iter().for_each(|value| histogram.observe(value));
    registry.register(Box::new(histogram)).unwrap();
    registry
}

#[test]
fn it_is_written_as_recorded() {
    let expected = r#"# HELP windtunnel_a_ratio A gauge.
# TYPE windtunnel_a_ratio gauge
# UNIT windtunnel_a_ratio ratio
windtunnel_a_ratio 5e-5
# HELP windtunnel_limit A gauge.
# TYPE windtunnel_limit gauge
windtunnel_limit 1.0
# HELP windtunnel_nan A gauge.
# TYPE windtunnel_nan gauge
windtunnel_nan NaN
# HELP windtunnel_rejected Turned away;\nby \\ what \"name\".
# TYPE windtunnel_rejected counter
windtunnel_rejected_total{arm="a\\b\"c\nd"} 3.0
# HELP windtunnel_runtime_lag_seconds A histogram.
# TYPE windtunnel_runtime_lag_seconds histogram
# UNIT windtunnel_runtime_lag_seconds seconds
windtunnel_runtime_lag_seconds_bucket{le="0.0"} 1
windtunnel_runtime_lag_seconds_bucket{le="0.5"} 2
windtunnel_runtime_lag_seconds_bucket{le="1.0"} 3
windtunnel_runtime_lag_seconds_bucket{le="+Inf"} 4
windtunnel_runtime_lag_seconds_sum 9.25
windtunnel_runtime_lag_seconds_count 4
# EOF
"#;
    assert_eq!(encode(&registry().gather(), &Exemplars::default()), expected);
}

#[test]
fn an_exemplar_stands_at_the_bucket_that_its_value_fell_into_and_nowhere_else() {
    let registry = Registry::new();
    let labels = [("arm", "one"), ("outcome", "ok")];
    let opts = labels.iter().fold(HistogramOpts::new(names::RTT.name, "RTT."), |opts, label| {
        opts.const_label(label.0, label.1)
    });
    let histogram = Histogram::with_opts(opts.buckets(names::RTT.kind.bounds(&[]))).unwrap();
    registry.register(Box::new(histogram)).unwrap();
    let exemplars = Exemplars::default();
    exemplars.record(&names::RTT, &["one", "ok"], 0.000_2, 0xabc, 1_700_000_000.25);
    exemplars.record(&names::RTT, &["one", "error"], 0.000_2, 0xdef, 1_700_000_000.25);
    exemplars.record(&names::RTT, &["one", "ok"], 400.0, 1 << 127, 1.0);
    let text = encode(&registry.gather(), &exemplars);
    let with: Vec<_> = text.lines().filter(|line| line.contains(" # {")).collect();
    let series = r#"windtunnel_rtt_seconds_bucket{arm="one",outcome="ok",le="#;
    let (low, high) = ("0".repeat(29), "0".repeat(31));
    assert_eq!(
        with,
        [
            format!(r#"{series}"0.0002"}} 0 # {{trace_id="{low}abc"}} 0.0002 1700000000.250"#),
            format!(r#"{series}"+Inf"}} 0 # {{trace_id="8{high}"}} 400.0 1.000"#),
        ]
    );
}

#[test]
fn it_is_given_to_those_who_would_rather_have_it() {
    for (accept, expected) in [
        ("application/openmetrics-text", true),
        ("application/openmetrics-text; version=1.0.0", true),
        (
            "Application/OpenMetrics-Text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
            true,
        ),
        ("text/plain;version=0.0.4;q=0.5, application/openmetrics-text;version=0.0.1;q=0.75", true),
        ("application/openmetrics-text;q=0.4,text/plain;q=0.5", false),
        ("application/openmetrics-text;q=0", false),
        ("application/openmetrics-text;q=what", false),
        ("application/openmetrics-text-not", false),
        ("text/plain;version=0.0.4", false),
        ("*/*", false),
        ("", false),
    ] {
        assert_eq!(is_asked_for(accept), expected, "{accept}");
    }
}
