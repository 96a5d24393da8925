//! What every registered law does in the same six seconds, written down: `tests/traces/<law>.txt`.
//!
//! `BLESS=1 cargo test -p testbed-core --test traces` writes down what is done now; read the difference.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use testbed_core::control::{Controller, ControllerConfig, Decision};
use testbed_core::request::{Arrival, Outcome, Sample};
use testbed_core::rng::Streams;
use testbed_core::time::{Nanos, Time};
use testbed_core::vitals::Vitals;

/// An answer each 5 ms: from when, in what time, and how. The times vary by a tenth.
const LEGS: [(u64, u64, Outcome); 6] = [
    (0, 10_000, Outcome::Success),
    (2_000, 20_000, Outcome::Success),
    (3_000, 1_000, Outcome::Overload),
    (3_250, 500_000, Outcome::Timeout),
    (3_500, 1_000, Outcome::Error),
    (3_600, 10_000, Outcome::Success),
];
const STEP: Nanos = Nanos::from_millis(5);
const STEPS_A_ROW: u64 = 20;
const STEPS: u64 = 1_200;

/// The answer that comes at `step`, to a request that was admitted when all of the limit was used.
fn answer(step: u64, now: Time, limit: u64) -> Sample {
    let leg =
        LEGS.iter().rfind(|(from_ms, ..)| now >= Time::ZERO.after(Nanos::from_millis(*from_ms)));
    let &(_, us, outcome) = leg.unwrap();
    let rtt = Nanos::from_micros(us + us / 10 * (step * 7 % 11) / 10);
    let start = Time::ZERO.after(now.since(Time::ZERO).minus(rtt));
    let in_flight = limit.min(1_000) as u32;
    Sample {
        start,
        sent: start,
        end: now,
        in_flight_at_start: in_flight,
        in_flight_at_end: in_flight,
        limit_at_start: limit,
        outcome,
        bytes: 0,
    }
}

/// What happened since the last row: reasons of updates, and requests that were not let go.
#[derive(Default)]
struct Row {
    happened: BTreeMap<&'static str, u32>,
}

impl Row {
    fn count(&mut self, what: &'static str) {
        *self.happened.entry(what).or_default() += 1;
    }

    fn take(&mut self, decision: Decision) {
        if let Decision::Updated(update) = decision {
            self.count(update.reason);
        }
    }

    fn write(&mut self, out: &mut String, now: Time, law: &dyn Controller) {
        let mut vitals = Vitals::new();
        law.vitals(&mut vitals);
        let vitals = vitals.iter().map(|vital| format!(" {}={:.4}", vital.name, vital.value));
        let happened = std::mem::take(&mut self.happened);
        let happened = happened.iter().map(|(what, times)| format!(" {what}:{times}"));
        let (happened, vitals) = (happened.collect::<String>(), vitals.collect::<String>());
        let now_ms = now.as_nanos() / 1_000_000;
        let window = law.window();
        writeln!(out, "{now_ms} ms window={window:.4} limit={}{happened} |{vitals}", law.limit())
            .unwrap();
    }
}

fn trace(config: &ControllerConfig) -> String {
    let (mut law, mut out, mut row) =
        (config.build(&Streams::new(1)), String::new(), Row::default());
    for step in 1..=STEPS {
        let now = Time::ZERO.after(Nanos::new(STEP.get() * step));
        while law.next_wake().is_some_and(|due| due <= now) {
            row.take(law.on_wake(now));
        }
        let arrival = Arrival::new(step, 0, now);
        if !law.accepts(now, &arrival) {
            row.count("(refused)");
        } else if !law.releases(now, &arrival) {
            row.count("(held)");
        }
        row.take(law.on_sample(now, &answer(step, now, law.limit())));
        if step.is_multiple_of(STEPS_A_ROW) {
            row.write(&mut out, now, &*law);
        }
    }
    out
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/traces")
}

#[test]
fn every_law_does_what_was_written_down() {
    let bless = std::env::var_os("BLESS").is_some();
    for config in ControllerConfig::all() {
        let path = folder().join(format!("{}.txt", config.name()));
        let trace = trace(&config);
        if bless {
            fs::write(&path, &trace).unwrap();
        }
        let written = fs::read_to_string(&path).unwrap_or_default();
        let differs = || trace.lines().zip(written.lines()).find(|(is, was)| is != was);
        let cure = "look whether it should be so, and write it down with BLESS=1";
        assert!(trace == written, "{}: {:?}; {cure}", path.display(), differs());
    }
}

#[test]
fn nothing_is_written_down_of_a_law_that_is_gone() {
    let laws: BTreeSet<_> = ControllerConfig::all().iter().map(ControllerConfig::name).collect();
    for entry in fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        assert!(laws.contains(path.file_stem().unwrap().to_str().unwrap()), "{}", path.display());
    }
}
