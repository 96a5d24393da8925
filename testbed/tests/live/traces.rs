//! Traces, as a collector gets them, and what happens without one.

mod collector;
mod downloads;
mod served;

use crate::machine;
use crate::support::http::send;
use crate::support::process::{Finished, Running, eventually};
use crate::support::run_dir::json;
use crate::support::{HUNG, Scratch};
use collector::{Collector, Manner};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::net::SocketAddr;
use std::process::Stdio;
use std::time::Duration;
use testbed::trace_ids::{CALL_SPAN, Ids, TraceIds};
use testbed_clock::LiveClock;
use testbed_core::request::{Arm, Attempt};
use testbed_core::time::Time;

/// Requests that wait, are turned away, fail, are given up and tried again, each by the dozen.
const MIXED: &str = "
version: 1
name: mixed
run: { mode: live, seed: 11 }
arms:
  one: { controller: { fixed: { limit: 4 } }, admission: { max_waiting: 3 } }
  other: { controller: { fixed: { limit: 50 } } }
backend: { servers: 8, service: { exponential: 60ms } }
load: { open: { constant: { rate: 80/s } } }
client:
  timeout: 200ms
  retry: { times: 1, first: 20ms }
phases: [{ name: calm, for: 700ms }, { name: storm, for: 700ms }, { name: calm-again, for: 600ms }]
faults:
  - { name: storm, during: storm, backend: { reject: { status: 500, share: 50% } } }
expect:
  - { id: bounded, that: max(controller.limit) <= 50 }
";

/// What the program says at the end: requests chosen and ended, and spans ended, exported, failed, dropped.
#[derive(Debug)]
struct Said {
    chosen: u64,
    requests: u64,
    ended: u64,
    exported: u64,
    failed: u64,
    dropped: u64,
}

impl Said {
    fn of(finished: &Finished) -> Self {
        let said = finished.stderr.lines().find_map(Self::of_line);
        said.unwrap_or_else(|| panic!("no word of traces: {}", finished.stderr))
    }

    /// What a line says, if it is the one.
    fn of_line(line: &str) -> Option<Self> {
        let line = line.strip_prefix("traces: ").filter(|line| line.contains("spans ended"))?;
        let words = line.split(|c: char| !c.is_ascii_digit()).filter(|word| !word.is_empty());
        let numbers: Vec<u64> = words.take(6).map(|word| word.parse().unwrap()).collect();
        let [chosen, requests, ended, exported, failed, dropped] = numbers[..] else {
            panic!("{line}");
        };
        assert_eq!(ended, exported + failed + dropped, "{line}");
        Some(Self { chosen, requests, ended, exported, failed, dropped })
    }
}

fn run(scratch: &Scratch, url: &str, more: &[&str]) -> Finished {
    scratch.file("mixed.yaml", MIXED);
    let args = ["run", "mixed.yaml", "--listen", "off", "--traces", url, "--trace-share", "1"];
    scratch.run(&[&args, more].concat())
}

#[test]
fn every_span_arrives_and_has_its_parent_and_says_whose_it_is() {
    let _machine = machine();
    let (collector, scratch) = (Collector::start(Manner::Takes), Scratch::new());
    let finished = run(&scratch, &collector.url(), &[]);
    let (said, spans) = (Said::of(&finished), collector.spans());
    assert_eq!((said.failed, said.dropped), (0, 0), "{}", finished.stderr);
    assert_eq!(said.exported, spans.len() as u64);
    let known: BTreeSet<_> = spans.iter().map(|span| (span.trace, span.id)).collect();
    assert_eq!(known.len(), spans.len(), "no id is used twice");
    for span in spans.iter().filter(|span| span.parent != 0) {
        assert!(known.contains(&(span.trace, span.parent)), "an orphan: {span:?}");
        assert!(span.from <= span.to, "{span:?}");
    }
    let named = |name: &str| spans.iter().filter(|span| span.name == name).collect::<Vec<_>>();
    let requests = named("request");
    assert_eq!(requests.len() as u64, said.chosen);
    assert!(said.chosen <= said.requests);
    let ids = TraceIds::new("mixed", 11);
    for request in &requests {
        assert_eq!(request.trace, request.ids(&ids).trace, "{request:?}");
        assert_eq!(request.id, request.ids(&ids).span(0), "{request:?}");
        assert!(request.links.contains(&ids.run().trace), "it leads to its run: {request:?}");
    }
    let outcomes: BTreeSet<_> =
        requests.iter().map(|span| span.text("windtunnel.outcome")).collect();
    for outcome in ["ok", "error", "timeout", "rejected"] {
        assert!(outcomes.contains(outcome), "{outcome} is not in {outcomes:?}");
    }
    for call in named("rpc") {
        let ids = Ids { trace: call.trace };
        assert_eq!((call.id, call.parent), (ids.span(CALL_SPAN), ids.span(0)));
    }
    assert!(named("backend").len() < named("rpc").len(), "what was given up has no account");
    assert_eq!(named("wait").len(), named("rpc").len() + count(&requests, "abandoned"));
    let [run] = named("run")[..] else { panic!("one run") };
    assert_eq!(run.trace, ids.run().trace);
    assert_eq!(run.events, ["fault on", "fault off"]);
    let phases: Vec<_> = spans.iter().filter(|span| span.name.starts_with("phase ")).collect();
    assert_eq!(phases.len(), 3);
    for phase in phases {
        assert_eq!(phase.parent, run.id);
        assert!(run.from <= phase.from && phase.to <= run.to, "{phase:?} in {run:?}");
    }
    let others = ["request", "wait", "rpc", "backend", "run"];
    let foreign: Vec<_> = spans.iter().map(|span| span.name.as_str()).collect();
    let ours = |name: &&&str| others.contains(*name) || name.starts_with("phase ");
    assert_eq!(foreign.iter().filter(ours).count(), spans.len(), "{foreign:?}");
}

fn count(requests: &[&collector::Span], outcome: &str) -> usize {
    requests.iter().filter(|span| span.text("windtunnel.outcome") == outcome).count()
}

impl collector::Span {
    /// The ids that its request must have.
    fn ids(&self, ids: &TraceIds) -> Ids {
        let arm = ["one", "other"].iter().position(|arm| *arm == self.text("windtunnel.arm"));
        let request = self.number("windtunnel.request") as u64;
        let number = self.number("windtunnel.attempt") as u32;
        ids.attempt(Arm(arm.unwrap() as u16), Attempt { request, number })
    }
}

/// The traces that stand for values of series whose lines begin like this.
fn exemplars(addr: SocketAddr, beginning: &str) -> Option<BTreeSet<u128>> {
    let ask = "GET /metrics HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\
               accept: application/openmetrics-text;version=1.0.0\r\n\r\n";
    let text = send(addr, ask)?.body;
    let lines = text.lines().filter(|line| line.starts_with(beginning));
    let ids = lines.filter_map(|line| line.split("trace_id=\"").nth(1)?.get(..32));
    Some(ids.map(|id| u128::from_str_radix(id, 16).unwrap()).collect())
}

#[test]
fn every_exemplar_leads_to_a_trace() {
    let _machine = machine();
    let (collector, scratch) = (Collector::start(Manner::Takes), Scratch::new());
    scratch.file("mixed.yaml", MIXED);
    let (url, listen) = (collector.url(), ["--listen", "127.0.0.1:0"]);
    let running = scratch.start(&[&["run", "mixed.yaml", "--traces", &url][..], &listen].concat());
    let addr = running.metrics_addr();
    let pointed_out = eventually(HUNG, "waits and round trips with exemplars", || {
        let waits = exemplars(addr, "windtunnel_wait_seconds")?;
        let calls = exemplars(addr, "windtunnel_rtt_seconds")?;
        let both = !waits.is_empty() && !calls.is_empty();
        both.then(|| waits.union(&calls).copied().collect::<BTreeSet<_>>())
    });
    let finished = running.ends_within(HUNG);
    Said::of(&finished);
    let traces: BTreeSet<_> = collector.spans().iter().map(|span| span.trace).collect();
    let lost: Vec<_> = pointed_out.difference(&traces).collect();
    assert!(lost.is_empty(), "{lost:x?}");
}

#[test]
fn a_collector_that_is_down_refuses_or_hangs_changes_nothing_and_holds_nobody_up() {
    let _machine = machine();
    let scratch = Scratch::new();
    scratch.file("mixed.yaml", MIXED);
    let finished = scratch.run(&["run", "mixed.yaml", "--listen", "off"]);
    assert!(!finished.stderr.contains("traces"), "{}", finished.stderr);
    let without = expectations(&scratch);
    for manner in [Manner::Down, Manner::Refuses, Manner::Hangs] {
        let (collector, scratch) = (Collector::start(manner), Scratch::new());
        let clock = LiveClock::start();
        let finished = run(&scratch, &collector.url(), &["--quiet"]);
        let took = clock.now().since(Time::ZERO).as_std();
        // 2 s of run and 1 s for the collector; the rest is for a busy machine.
        assert!(took < Duration::from_secs(2 + 5), "{manner:?}: {took:?}");
        assert_eq!(expectations(&scratch), without, "{manner:?}: {}", finished.stderr);
        let said = Said::of(&finished);
        assert_eq!(said.exported, 0, "{manner:?}: {said:?}");
        assert!(said.ended > said.chosen, "{manner:?}: {said:?}");
        assert!(
            finished.stderr.contains("traces: incomplete: "),
            "{manner:?}: {}",
            finished.stderr
        );
    }
}

/// What was judged, but not of the machine: it may be too busy for a verdict, with traces or without.
fn expectations(scratch: &Scratch) -> Value {
    json(&scratch.run_dir().join("verdict.json"))["expectations"].take()
}

#[test]
fn virtual_runs_are_the_same_with_traces_and_their_traces_are_the_same_again() {
    let mut seen = Vec::new();
    for manner in [Manner::Takes, Manner::Takes, Manner::Down] {
        let (collector, scratch) = (Collector::start(manner), Scratch::new());
        let finished = run(&scratch, &collector.url(), &["--mode", "virtual"]);
        Said::of(&finished);
        let mut spans = collector.spans();
        let run = spans.iter().find(|span| span.name == "run").map_or(0, |run| run.from);
        spans.sort_by_key(|span| (span.trace, span.id));
        let spans = spans.into_iter().map(|span| {
            let (from, to) = (span.from.saturating_sub(run), span.to.saturating_sub(run));
            (span.trace, span.id, span.parent, span.name, from, to)
        });
        let series = fs::read(scratch.run_dir().join("series.csv")).unwrap();
        seen.push((series, spans.collect::<Vec<_>>()));
    }
    assert!(seen[0].1.len() > 100, "{}", seen[0].1.len());
    assert_eq!(seen[0].1, seen[1].1);
    let scratch = Scratch::new();
    scratch.file("mixed.yaml", MIXED);
    let ended = scratch.run(&["run", "mixed.yaml", "--mode", "virtual"]);
    let without = fs::read(scratch.run_dir().join("series.csv")).unwrap();
    assert!(seen.iter().all(|(series, _)| *series == without), "{}", ended.stderr);
}

#[test]
fn the_environment_names_a_collector_for_live_runs_only() {
    let _machine = machine();
    let (collector, scratch) = (Collector::start(Manner::Takes), Scratch::new());
    scratch.file("mixed.yaml", MIXED);
    let url = collector.url();
    let variables = [("OTEL_EXPORTER_OTLP_ENDPOINT", url.as_str())];
    for (mode, traced) in [("virtual", false), ("live", true)] {
        let args = ["run", "mixed.yaml", "--mode", mode, "--listen", "off"];
        let finished = Running::start_with(scratch.path(), &args, Stdio::null(), &variables);
        let finished = finished.ends_within(HUNG);
        assert_eq!(finished.stderr.contains("traces: "), traced, "{mode}: {}", finished.stderr);
        assert_eq!(!collector.spans().is_empty(), traced, "{mode}");
    }
}
