//! The same file, seed and binary give the same run, whether or not somebody watches.

use crate::shipped;
use crate::support::http::request;
use crate::support::{HUNG, Scratch};
use std::fs;
use std::net::SocketAddr;
use std::thread;

/// An experiment with chance in its load and in its backend.
const CHANCE: &str = "
version: 1
name: chance
arms:
  a: { controller: { velox: { window: double, start: 4, max: 64 } } }
backend: { servers: 8, service: { exponential: 20ms } }
load: { open: { poisson: { rate: 100/s } } }
phases: [{ name: steady, for: 20s }]
";

/// What a run records: `series.csv` and `events.jsonl`.
#[derive(PartialEq)]
struct Recorded(String, String);

fn recorded(scratch: &Scratch) -> Recorded {
    let read = |file| fs::read_to_string(scratch.run_dir().join(file)).unwrap();
    Recorded(read("series.csv"), read("events.jsonl"))
}

/// A run of `experiment` in a process and a directory of its own.
fn run(experiment: &str, args: &[&str]) -> Recorded {
    let scratch = Scratch::new();
    scratch.file("chance.yaml", CHANCE);
    let finished = scratch.run(&[&["run", experiment, "--mode", "virtual"], args].concat());
    assert_eq!(finished.code, 0, "{}", finished.stderr);
    recorded(&scratch)
}

#[test]
fn one_seed_gives_the_same_bytes_in_two_processes() {
    for experiment in [&*shipped("stall/overload-recovery.yaml"), "chance.yaml"] {
        let (one, other) = (run(experiment, &[]), run(experiment, &[]));
        assert!(one.0.lines().count() > 1000, "{experiment}");
        assert!(one == other, "{experiment}: two runs differ");
    }
}

#[test]
fn another_seed_gives_another_run_where_there_is_chance() {
    let seed = |seed| run("chance.yaml", &["--seed", seed]);
    assert!(seed("1") == run("chance.yaml", &[]), "1 is the default");
    assert!(seed("1") != seed("2"));
}

/// Asks for metrics over and over until nobody answers; how often there was one.
fn scrape_until_gone(addr: SocketAddr) -> u32 {
    let mut scrapes = 0;
    while let Some(answer) = request(addr, "GET", "/metrics", "") {
        assert!(answer.status == 200 && answer.head.contains("text/plain"), "{}", answer.head);
        assert!(answer.body.contains("windtunnel_controller_window_requests{"));
        scrapes += 1;
    }
    scrapes
}

#[test]
fn a_run_that_is_scraped_is_the_same_as_one_that_is_not() {
    let long = ["--set", "phases[0].for=1000s"];
    let scratch = Scratch::new();
    scratch.file("chance.yaml", CHANCE);
    let watched = ["run", "chance.yaml", "--listen", "127.0.0.1:0"];
    let running = scratch.start(&[&watched[..], &long].concat());
    let addr = running.metrics_addr();
    let scrapes = thread::scope(|scope| {
        let scraper = scope.spawn(move || scrape_until_gone(addr));
        assert_eq!(running.ends_within(HUNG).code, 0);
        scraper.join().unwrap()
    });
    println!("scraped {scrapes} times");
    assert!(scrapes > 0, "it was over before it could be watched");
    assert!(recorded(&scratch) == run("chance.yaml", &long), "watching changed the run");
}
