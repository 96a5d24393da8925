//! What the embedded proxy costs: `cargo bench -p faults`, half a minute.
//!
//! Over loopback, in the same run as a direct connection and in turn with it; each number is the
//! median of five rounds. The proxy is a process of its own, this one started again, and is told its
//! toxics over its HTTP API. With `TOXIPROXY_URL=http://127.0.0.1:8474` a real Toxiproxy there is
//! measured as well, and held to nothing.
//!
//! A bound that is missed is measured up to three times, for a machine has its moments.
#![expect(clippy::unwrap_used, reason = "a bench that cannot go on may panic")]

mod api;
mod load;
mod measure;

use api::{Remote, serve};
use load::Backend;
use measure::{Measure, Setting};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

/// Tries at most for each bound.
const ATTEMPTS: u32 = 3;
/// Between two of them: what a machine does meanwhile takes seconds, and tries at once all see it.
const MOMENT: Duration = Duration::from_secs(10);

/// A number that is held to a bound.
struct Bound {
    what: &'static str,
    bound: &'static str,
    holds: fn(f64) -> bool,
    measure: Measure,
}

const BOUNDS: [Bound; 6] = [
    Bound {
        what: "bulk, one stream, share of direct",
        bound: ">= 0.45",
        holds: |share| share >= 0.45,
        measure: measure::bulk_share,
    },
    Bound {
        what: "bulk, CPU seconds of the proxy per GB",
        bound: "<= 0.3",
        holds: |seconds| seconds <= 0.3,
        measure: measure::bulk_cpu_seconds,
    },
    Bound {
        what: "echo of 64 B, p50 added in us",
        bound: "<= 45",
        holds: |added| added <= 45.0,
        measure: measure::echo_added_us,
    },
    Bound {
        what: "latency of 10 ms, p50 off in ms",
        bound: "0 to 0.3",
        // Measured against a direct echo that has its own spread, so it may fall a little below.
        holds: |off| (-0.05..=0.3).contains(&off),
        measure: measure::latency_off_ms,
    },
    Bound {
        what: "memory of 1000 idle connections in MB",
        bound: "<= 12",
        holds: |megabytes| megabytes <= 12.0,
        measure: measure::idle_megabytes,
    },
    Bound {
        what: "reset_peer seen as ECONNRESET, share",
        bound: "1",
        holds: |share| share >= 1.0,
        measure: measure::resets_seen,
    },
];

fn main() -> ExitCode {
    if std::env::args().any(|argument| argument == api::SERVE) {
        serve();
        return ExitCode::SUCCESS;
    }
    let backend = Backend::start();
    let held = report("embedded", &backend, &Remote::spawn, ATTEMPTS);
    if let Ok(url) = std::env::var("TOXIPROXY_URL") {
        report("Toxiproxy", &backend, &|| Remote::at(&url), 1);
    }
    if held { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Prints each number of a proxy; whether all bounds hold.
fn report(name: &str, backend: &Backend, start: &dyn Fn() -> Remote, attempts: u32) -> bool {
    println!("{name:<42} {:>10}   bound", "measured");
    let mut all_hold = true;
    for bound in &BOUNDS {
        let held = (1..=attempts).any(|attempt| {
            if attempt > 1 {
                thread::sleep(MOMENT);
            }
            try_once(bound, attempt, backend, start)
        });
        all_hold &= held;
    }
    all_hold
}

/// Measures once, against a proxy of its own; whether the bound holds.
fn try_once(bound: &Bound, attempt: u32, backend: &Backend, start: &dyn Fn() -> Remote) -> bool {
    let remote = start();
    let setting = Setting::new(backend, &remote);
    let Some(value) = (bound.measure)(&setting) else {
        println!("{:<42} {:>10}", bound.what, "unknown");
        return true;
    };
    let holds = (bound.holds)(value);
    let verdict = if holds { String::new() } else { format!("  MISSED, attempt {attempt}") };
    println!("{:<42} {value:>10.3}   {}{verdict}", bound.what, bound.bound);
    holds
}
