//! Traces of a server's runs.

use super::collector::{Collector, Manner, Span};
use super::{Said, exemplars};
use crate::machine;
use crate::support::process::{Finished, address, text};
use crate::support::{HUNG, Scratch};
use std::collections::BTreeSet;

/// Both kinds of arms.
const BOTH: &str = "
version: 1
name: both
run: { mode: live }
arms:
  law: { controller: { fixed: { limit: 4 } } }
  paced: { limiter: { fifo: { levels: { global: { rate: 1MiB/s, initial: 0B } } } } }
backend: { servers: 8, service: { constant: 5ms } }
load: { closed: { clients: 8 } }
download: { tasks: 4, chunk: { fixed: 16KiB } }
phases: [{ name: all, for: 500ms }]
";

fn run_of<'a>(spans: &'a [Span], run: &str) -> Vec<&'a Span> {
    let is_run = |span: &&Span| span.name == "run" && span.text("windtunnel.run").starts_with(run);
    spans.iter().filter(is_run).collect()
}

#[test]
fn each_run_of_a_server_has_its_traces_and_every_exemplar_leads_to_one() {
    let _machine = machine();
    let (collector, scratch) = (Collector::start(Manner::Takes), Scratch::new());
    std::fs::create_dir(scratch.path().join("experiments")).unwrap();
    scratch.file("experiments/both.yaml", BOTH);
    let url = collector.url();
    let server = ["serve", "--listen", "127.0.0.1:0", "--traces", &url, "--trace-share", "1"];
    let server = scratch.start(&server);
    let addr = address(|| text(&server.stdout), "windtunnel serve listening on http://");
    let at = format!("http://{addr}");
    for (seed, runs) in [("3", 1), ("4", 2)] {
        let finished = scratch.run(&["run", "--server", &at, "both", "--seed", seed]);
        assert!(finished.stdout.contains("both (live, seed"), "{}", finished.stdout);
        let spans = collector.spans();
        let traces: BTreeSet<_> = spans.iter().map(|span| span.trace).collect();
        for series in [
            r#"windtunnel_wait_seconds_bucket{arm="law""#,
            r#"windtunnel_wait_seconds_bucket{arm="paced""#,
            r#"windtunnel_rtt_seconds_bucket{arm="law""#,
        ] {
            let pointed_out = exemplars(addr, series).unwrap();
            assert!(!pointed_out.is_empty(), "{series}");
            let lost: Vec<_> = pointed_out.difference(&traces).collect();
            assert!(lost.is_empty(), "{series}: {lost:x?}");
        }
        assert_eq!(run_of(&spans, "").len(), runs);
    }
    let spans = collector.spans();
    let names: BTreeSet<_> =
        run_of(&spans, "").iter().map(|run| run.text("windtunnel.run")).collect();
    let of_no_run = |span: &&Span| span.parent == 0 && !names.contains(span.text("windtunnel.run"));
    assert_eq!(names.len(), 2);
    assert_eq!(spans.iter().filter(of_no_run).count(), 0, "each says whose run it is of");
    crate::send(&server, "TERM");
    let Finished { stderr, .. } = server.ends_within(HUNG);
    let said: Vec<_> = stderr.lines().filter_map(Said::of_line).collect();
    assert_eq!(said.len(), 2, "{stderr}");
    assert_eq!(said.iter().map(|said| said.exported).sum::<u64>(), spans.len() as u64);
}
