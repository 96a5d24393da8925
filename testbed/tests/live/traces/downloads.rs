//! Traces of waits for tokens, which virtual runs have exactly.

use super::Said;
use super::collector::{Collector, Manner, Span};
use crate::support::Scratch;
use std::collections::{BTreeMap, BTreeSet};
use testbed::trace_ids::TraceIds;
use testbed_core::request::{Arm, Attempt};

/// 16 waiters behind a rate of 64 chunks a second: in turn, and in a race that chance decides. The fault
/// hits nobody, as nobody opens a transfer under it: it is an edge and no more.
const PACED: &str = "
version: 1
name: paced
run: { mode: virtual, seed: 5 }
record: { waits: all }
arms:
  fair: { limiter: { fifo: { levels: { global: { rate: 1MiB/s, initial: 0B } } } } }
  racy: { limiter: { peek: { levels: { global: { rate: 1MiB/s, initial: 0B } }, ties: random } } }
backend: { servers: 64, service: { constant: 0s } }
download: { tasks: 16, chunk: { fixed: 16KiB } }
phases: [{ name: calm, for: 2s }, { name: storm, for: 1s }, { name: calm-again, for: 1s }]
faults:
  - { name: storm, during: storm, backend: { reject: { status: 503, share: 100% } } }
";

/// The wait spans of a run, and the instant at which the run began.
fn waits(share: &str) -> (Scratch, Vec<Span>, u64, Said) {
    let (collector, scratch) = (Collector::start(Manner::Takes), Scratch::new());
    scratch.file("paced.yaml", PACED);
    let args = ["run", "paced.yaml", "--traces", &collector.url(), "--trace-share", share];
    let said = Said::of(&scratch.run(&args));
    let mut spans = collector.spans();
    let begun = spans.iter().find(|span| span.name == "run").expect("the run has a span").from;
    spans.retain(|span| span.name == "wait");
    (scratch, spans, begun, said)
}

/// How many waits of each arm were chosen for what.
fn reasons(spans: &[Span]) -> BTreeMap<(&str, &str), usize> {
    let mut counts = BTreeMap::new();
    for span in spans {
        let reason = (span.text("windtunnel.arm"), span.text("windtunnel.chosen"));
        *counts.entry(reason).or_default() += 1;
    }
    counts
}

#[test]
fn waits_that_no_fair_queue_would_have_made_are_traced_and_cut_off_ones_and_some_after_an_edge() {
    let (_scratch, spans, _, said) = waits("0");
    assert_eq!((said.failed, said.dropped), (0, 0), "{said:?}");
    assert_eq!(said.chosen, spans.len() as u64);
    let counts = reasons(&spans);
    let count = |arm, reason| counts.get(&(arm, reason)).copied().unwrap_or(0);
    assert_eq!(count("fair", "waited"), 0, "a fair queue is its own yardstick: {counts:?}");
    assert_eq!(count("fair", "fault_edge"), 40, "20 after each of two edges: {counts:?}");
    assert_eq!(count("fair", "cut_off"), 15, "all but who is served at the end: {counts:?}");
    for reason in ["waited", "fault_edge", "cut_off"] {
        assert!(count("racy", reason) > 0, "{reason}: {counts:?}");
    }
    assert!(spans.iter().all(|span| span.text("windtunnel.chosen") != "share"), "{counts:?}");
}

#[test]
fn a_wait_is_a_trace_of_one_span_that_says_what_waits_csv_says() {
    let (scratch, spans, begun, said) = waits("1");
    let rows = std::fs::read_to_string(scratch.run_dir().join("waits.csv")).unwrap();
    assert_eq!(said.requests, rows.lines().count() as u64 - 1, "every wait was looked at");
    let rows: BTreeSet<_> = rows.lines().skip(1).collect();
    let run = TraceIds::new("paced", 5);
    let possible: BTreeSet<_> = (0..2_u16)
        .flat_map(|arm| (0..16_u64).map(move |request| (arm, request)))
        .flat_map(|(arm, request)| (0..1000).map(move |number| (arm, Attempt { request, number })))
        .map(|(arm, ask)| run.attempt(Arm(arm), ask).trace)
        .collect();
    let mut seen = BTreeSet::new();
    for span in &spans {
        assert!(seen.insert(span.trace), "an id for each: {span:?}");
        assert!(possible.contains(&span.trace), "of a waiter and an ask: {span:?}");
        assert_eq!((span.parent, &span.links[..]), (0, &[run.run().trace][..]), "{span:?}");
        let (asked, lasted) = (span.from - begun, span.to - span.from);
        let (arm, waiter) = (span.text("windtunnel.arm"), span.text("windtunnel.waiter"));
        let (bytes, outcome) = (span.number("windtunnel.bytes"), span.text("windtunnel.outcome"));
        let (of, end) =
            (format!("{asked},{arm},{waiter},{bytes},"), format!(",{lasted},{outcome}"));
        assert!(rows.iter().any(|row| row.starts_with(&of) && row.ends_with(&end)), "{of}..{end}");
    }
    let counts = reasons(&spans);
    assert!(counts[&("fair", "share")] > 100, "{counts:?}");
    // At most so many a second of each arm, for what is remarkable and for the rest; the last second has an end.
    let most = 5 * 100;
    assert!(counts.iter().all(|(_, count)| *count <= most), "{counts:?}");
}

#[test]
fn a_run_that_is_repeated_has_the_same_waits_in_its_traces() {
    let of_run = || {
        let (_scratch, spans, begun, _) = waits("0.05");
        let span = |span: &Span| (span.trace, span.from - begun, span.to - begun);
        spans.iter().map(span).collect::<BTreeSet<_>>()
    };
    let first = of_run();
    assert!(!first.is_empty());
    assert_eq!(first, of_run());
}
