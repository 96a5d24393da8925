//! Downloads over real sockets: a limiter's pace, and connections that break.

use crate::machine;
use crate::support::Scratch;
use crate::support::run_dir::{events, rows, waits};
use serde_json::Value;
use std::collections::BTreeSet;
use testbed_core::time::Nanos;

/// 1 MiB in 8 segments, at 4 MiB/s from an empty bucket.
const SMALL: &str = "
version: 1
name: small
run: { mode: live }
arms:
  fifo: { limiter: { fifo: { levels: { global: { rate: 4MiB/s, initial: 0B } } } } }
backend: { servers: 64, service: { constant: 0s } }
download:
  tasks: 4
  segments: 2
  segment: 128KiB
  chunk: { fixed: 16KiB }
  slots: 4
  retry: { first: 20ms, at_most: 80ms }
phases: [{ name: all, for: 3s }]
";

/// Four times that, over the rate: long enough for a hiccup of the machine to be little of it.
const PACED: Nanos = Nanos::from_secs(1);

/// Runs a file to its end; where the run is.
fn ran(experiment: &str) -> Scratch {
    let scratch = Scratch::new();
    scratch.file("experiment.yaml", experiment);
    let finished = scratch.run(&["run", "experiment.yaml", "--listen", "off", "--json"]);
    println!("exit {}: {}", finished.code, finished.stdout);
    scratch
}

/// Runs a file to its end; its events.
fn run(experiment: &str) -> Vec<Value> {
    events(&ran(experiment).run_dir())
}

/// How many transfers changed like this.
fn changes(events: &[Value], change: &str) -> usize {
    events.iter().filter(|event| event["change"] == change).count()
}

/// Until everything was done.
fn makespan(events: &[Value]) -> Nanos {
    let done = events.iter().find(|event| event["event"] == "input_done").expect("all is done");
    Nanos::new(done["makespan_ns"].as_u64().unwrap())
}

/// That every segment was done, each once, and all four tasks by it.
fn assert_all_done(events: &[Value]) {
    let done: Vec<_> = events.iter().filter(|event| event["change"] == "done").collect();
    let waiters: BTreeSet<_> = done.iter().map(|event| event["waiter"].as_str().unwrap()).collect();
    assert_eq!((done.len(), waiters.len()), (8, 8), "{done:?}");
    assert_eq!(done.iter().filter(|event| event["task_done"] == true).count(), 4);
    assert_eq!(changes(events, "failed"), 0);
}

#[test]
fn a_paced_download_takes_what_its_rate_says() {
    let _machine = machine();
    let events = run(&SMALL.replace("segment: 128KiB", "segment: 512KiB"));
    assert_all_done(&events);
    assert_eq!((changes(&events, "opened"), changes(&events, "aborted")), (8, 0));
    let took = makespan(&events);
    println!("{took}");
    // The bucket was empty at first.
    assert!(took >= PACED, "{took}");
    assert!(took.get() <= PACED.get() * 3 / 2, "{took}");
}

#[test]
fn transfers_that_break_are_tried_again_until_all_is_done() {
    let _machine = machine();
    let phases = "{ name: up, for: 60ms }, { name: cut, for: 1s }, { name: rest, for: 4s }";
    let faults = "faults: [{ name: down, during: cut, proxy: down }]\n";
    let broken = SMALL.replace("{ name: all, for: 3s }", phases) + faults;
    let events = run(&broken);
    assert_all_done(&events);
    let aborted: Vec<_> = events.iter().filter(|event| event["change"] == "aborted").collect();
    assert!(!aborted.is_empty(), "nothing broke");
    assert!(aborted.iter().all(|event| event["reason"] == "broken"), "{aborted:?}");
    assert_eq!(changes(&events, "opened"), 8 + aborted.len(), "each is tried again");
    assert!(makespan(&events) >= Nanos::from_millis(1060), "the rest came after the cut");
}

/// The crate leaky-bucket itself: eight wait for lumps of three chunks, and who asked first sleeps for all.
#[test]
fn the_crate_grants_and_its_unfair_core_is_left_with_nothing() {
    let _machine = machine();
    let limiter = "leaky_bucket: { levels: { global: { rate: 96KiB/s, initial: 0B } }, \
                   interval: 500ms, fair: false, live: crate }";
    let endless = SMALL
        .replace("fifo: { levels: { global: { rate: 4MiB/s, initial: 0B } } }", limiter)
        .replace("tasks: 4\n  segments: 2\n  segment: 128KiB", "tasks: 8")
        .replace("slots: 4", "slots: 8");
    let scratch = ran(&endless);
    let (waits, rows) = (waits(&scratch.run_dir()), rows(&scratch.run_dir()));
    let served: Vec<_> = waits.iter().filter(|wait| wait.outcome == "granted").collect();
    let first = waits.iter().min_by_key(|wait| wait.t_ns).expect("somebody asked");
    // 3 s bring at most six lumps.
    assert!((3..=18).contains(&served.len()), "{} grants", served.len());
    assert_eq!((first.outcome.as_str(), first.arm.as_str()), ("cut_off", "fifo"), "{first:?}");
    assert!(served.iter().all(|wait| wait.waiter != first.waiter), "{} was served", first.waiter);
    assert!(served.iter().all(|wait| wait.wait_ns <= first.wait_ns), "{first:?}");
    assert!(served.iter().all(|wait| (wait.cost, wait.quoted_ns) == (16 << 10, None)));
    let series: BTreeSet<_> = rows.into_iter().map(|row| row.series).collect();
    assert!(series.contains("limiter.grants"), "{series:?}");
    let looks = ["limiter.wakes", "limiter.wakes_per_grant", "limiter.tokens"];
    assert!(looks.iter().all(|looks| !series.contains(*looks)), "the crate does not tell");
}
