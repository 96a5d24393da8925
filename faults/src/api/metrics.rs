//! `/metrics`: Toxiproxy's counters by its names, what it does not count beside them, and what the
//! system says of the process.

use super::entry::Entry;
use super::process;
use super::registry::Registry;
use super::view::ProxyView;
use crate::proxy::{ProxyStats, StreamStats};
use crate::toxic::Stream;
use std::fmt::Write as _;

/// The text format of Prometheus.
pub(super) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// A metric of one direction: name, type, help, and how to read it.
type OfStream = (&'static str, &'static str, &'static str, fn(&StreamStats) -> f64);
/// A metric of a whole proxy.
type OfProxy = (&'static str, &'static str, &'static str, fn(&Proxy) -> f64);

/// The first two are the real server's; here they move as bytes do, not when a connection ends.
const OF_STREAMS: [OfStream; 8] = [
    ("received_bytes_total", "counter", "Bytes that came in.", |of| of.received as f64),
    ("sent_bytes_total", "counter", "Bytes that were passed on.", |of| of.sent as f64),
    ("dropped_bytes_total", "counter", "Bytes that came in and were not passed on.", |of| {
        of.dropped as f64
    }),
    ("links_total", "counter", "Links opened: one direction of one connection.", |of| {
        of.links as f64
    }),
    ("links_hit_total", "counter", "Links that a toxic has acted on.", |of| of.links_hit as f64),
    ("links_hit_ratio", "gauge", "Share of all links so far that a toxic has acted on.", hit_ratio),
    ("aborts_total", "counter", "Links that a toxic closed.", |of| of.aborts as f64),
    ("resets_total", "counter", "Links that a toxic reset.", |of| of.resets as f64),
];

const OF_PROXIES: [OfProxy; 4] = [
    ("up", "gauge", "1 if the proxy is enabled.", |of| f64::from(u8::from(of.view.enabled))),
    ("connections_open", "gauge", "Connections that are open.", |of| {
        of.stats.connections_open as f64
    }),
    ("connections_total", "counter", "Connections that were accepted.", |of| {
        of.stats.connections_total as f64
    }),
    ("dials_failed_total", "counter", "Connections whose upstream was not reached.", |of| {
        of.stats.dials_failed as f64
    }),
];

/// A proxy at the moment of the question.
struct Proxy {
    view: ProxyView,
    stats: ProxyStats,
    toxics: [usize; 2],
}

const STREAMS: [Stream; 2] = [Stream::Upstream, Stream::Downstream];

/// All metrics of all proxies.
pub(super) fn render(registry: &Registry) -> String {
    let proxies: Vec<Proxy> = registry.all().iter().map(|entry| Proxy::look(entry)).collect();
    let mut text = String::new();
    for (name, kind, help, read) in OF_STREAMS {
        head(&mut text, name, kind, help);
        for proxy in &proxies {
            for stream in STREAMS {
                line(&mut text, name, Some(stream), proxy, read(proxy.stats.of(stream)));
            }
        }
    }
    for (name, kind, help, read) in OF_PROXIES {
        head(&mut text, name, kind, help);
        for proxy in &proxies {
            line(&mut text, name, None, proxy, read(proxy));
        }
    }
    toxics(&mut text, &proxies);
    process::render(&mut text);
    text
}

fn toxics(text: &mut String, proxies: &[Proxy]) {
    head(text, "toxics_active", "gauge", "Toxics on the proxy.");
    for proxy in proxies {
        for (stream, count) in STREAMS.into_iter().zip(proxy.toxics) {
            line(text, "toxics_active", Some(stream), proxy, count as f64);
        }
    }
}

impl Proxy {
    fn look(entry: &Entry) -> Self {
        let toxics = STREAMS.map(|stream| entry.toxics_on(stream));
        Self { view: entry.view(), stats: entry.stats(), toxics }
    }
}

fn hit_ratio(of: &StreamStats) -> f64 {
    if of.links == 0 { 0.0 } else { of.links_hit as f64 / of.links as f64 }
}

fn head(text: &mut String, name: &str, kind: &str, help: &str) {
    let name = format!("toxiproxy_proxy_{name}");
    writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}").expect("a String takes all");
}

/// One sample, with the labels that the real server gives its own.
fn line(text: &mut String, name: &str, stream: Option<Stream>, proxy: &Proxy, value: f64) {
    let direction = stream.map(|stream| format!("direction=\"{}\",", stream.name()));
    let ProxyView { name: proxy, listen, upstream, .. } = &proxy.view;
    let [proxy, listen, upstream] = [proxy, listen, upstream].map(|text| escaped(text));
    let direction = direction.unwrap_or_default();
    let labels = format!("{direction}listener={listen},proxy={proxy},upstream={upstream}");
    writeln!(text, "toxiproxy_proxy_{name}{{{labels}}} {value}").expect("a String takes all");
}

/// A label's value, as the text format wants it.
fn escaped(value: &str) -> String {
    let value = value.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n");
    format!("\"{value}\"")
}
