//! The virtual engine against SimPy on the same model: `cargo bench -p testbed`.
//!
//! M/M/24: open Poisson arrivals at 1000/s, exponential service of 20 ms, a window of 1000 that
//! never binds, the recorder on and sampling every 100 ms, written to disk like any run. Both are
//! measured in CPU seconds of this same run, and the mean wait is held against Erlang C.
//!
//! SimPy needs python3 with the package `simpy`. Without it the comparison is skipped, loudly;
//! `WINDTUNNEL_REQUIRE=1` makes that an error.

use faults::EngineChoice;
use rustix::time::{ClockId, clock_gettime};
use std::path::Path;
use std::process::Command;
use testbed::cli::Listen;
use testbed::drive::interrupt::Interrupt;
use testbed::experiment::{Overrides, load};
use testbed::run::{Outcome, RunOptions, run};

const SERVERS: u32 = 24;
const RATE: f64 = 1000.0;
const MEAN_SERVICE: f64 = 0.020;
const ENGINE_SECONDS: u32 = 20_000;
const SIMPY_SECONDS: u32 = 200;
const LEAST_RATIO: f64 = 10.0;
const WAIT_TOLERANCE: f64 = 0.02;

/// What one engine did.
struct Measured {
    requests_per_cpu_second: f64,
    mean_wait: f64,
}

fn main() {
    let ours = engine();
    report("windtunnel", &ours);
    let erlang = erlang_c_mean_wait();
    let off = ours.mean_wait / erlang - 1.0;
    println!(
        "Erlang C:    mean wait {:.4} ms; windtunnel is {:+.2} % off",
        erlang * 1e3,
        off * 1e2
    );
    assert!(off.abs() <= WAIT_TOLERANCE, "the mean wait is more than 2 % off");
    let Some(theirs) = simpy() else {
        let required = std::env::var_os("WINDTUNNEL_REQUIRE").is_some_and(|set| !set.is_empty());
        assert!(!required, "python3 with simpy is required here");
        println!("SKIPPED: no comparison, python3 cannot import simpy (pip install simpy)");
        return;
    };
    report("SimPy", &theirs);
    let ratio = ours.requests_per_cpu_second / theirs.requests_per_cpu_second;
    println!("ratio:       {ratio:.1}");
    assert!(ratio >= LEAST_RATIO, "less than {LEAST_RATIO} times SimPy");
}

fn report(name: &str, measured: &Measured) {
    let Measured { requests_per_cpu_second, mean_wait } = measured;
    println!(
        "{:12} {requests_per_cpu_second:>9.0} requests per CPU second, mean wait {:.4} ms",
        format!("{name}:"),
        mean_wait * 1e3
    );
}

fn engine() -> Measured {
    let text = format!(
        "version: 1\nname: mmc\narms: {{ fixed: {{ controller: {{ fixed: {{ limit: 1000 }} }} }} }}\n\
         backend: {{ servers: {SERVERS}, service: {{ exponential: {MEAN_SERVICE}s }} }}\n\
         load: {{ open: {{ poisson: {{ rate: {RATE}/s }} }} }}\n\
         phases: [ {{ name: all, for: {ENGINE_SECONDS}s }} ]\n\
         expect:\n\
         - {{ id: age, that: mean(backend.age) > 0s }}\n\
         - {{ id: done, that: last(rpc.ok) > 0 }}\n"
    );
    let plan = load("mmc", &text, &Overrides::default()).expect("the model is a valid file");
    let out = tempfile::tempdir().expect("a temporary folder");
    let options = RunOptions {
        out: out.path().to_owned(),
        listen: Listen::Off,
        faults: EngineChoice::Embedded,
        backend: None,
        traces: None,
        report: false,
        quiet: true,
    };
    let begin = cpu_seconds();
    let finished = run(&plan, &text, &options, Interrupt::default()).expect("the run ends");
    let cpu = cpu_seconds() - begin;
    let Outcome::Judged(verdict) = finished.outcome else { panic!("nobody interrupted it") };
    let observed = |index: usize| verdict.expectations[index].observed.expect("a value");
    Measured { requests_per_cpu_second: observed(1) / cpu, mean_wait: observed(0) - MEAN_SERVICE }
}

fn simpy() -> Option<Measured> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/simpy_mmc.py");
    let run = Command::new("python3").arg(script).arg(SIMPY_SECONDS.to_string()).output().ok()?;
    let text = String::from_utf8(run.stdout).ok()?;
    let mut numbers = text.split_whitespace().filter_map(|word| word.parse::<f64>().ok());
    let (requests, cpu, mean_wait) = (numbers.next()?, numbers.next()?, numbers.next()?);
    Some(Measured { requests_per_cpu_second: requests / cpu, mean_wait })
}

/// CPU time of this process in seconds, all threads.
fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Mean wait of M/M/c: the probability to wait (Erlang's second formula) over the spare capacity.
fn erlang_c_mean_wait() -> f64 {
    let offered = RATE * MEAN_SERVICE;
    let (mut term, mut others) = (1.0, 0.0);
    for busy in 0..SERVERS {
        others += term;
        term *= offered / f64::from(busy + 1);
    }
    let servers = f64::from(SERVERS);
    let waiting = term * servers / (servers - offered);
    waiting / (others + waiting) / (servers / MEAN_SERVICE - RATE)
}
