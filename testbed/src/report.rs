//! What a run says at its end: as text and Markdown for people, as JSON and JUnit for programs.

mod junit;
mod markdown;

pub use junit::junit;
pub use markdown::markdown;

mod closer;

use crate::experiment::plan::Plan;
use crate::verdict::guard::Generator;
use crate::verdict::referee::Ruling;
use crate::verdict::{Class, Instant, Judged, Verdict};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::Path;
use testbed_core::time::Nanos;

/// The verdict as JSON: `{experiment, mode, seed, verdict, run_dir, expectations, ...}`.
pub fn json(plan: &Plan, verdict: &Verdict, run_dir: &Path) -> Value {
    json!({
        "experiment": plan.name,
        "mode": plan.mode.name(),
        "seed": plan.seed,
        "verdict": verdict.class.name(),
        "run_dir": run_dir,
        "ended": verdict.ended,
        "judged": plan.judges(),
        "expectations": verdict.expectations,
        "breaches": verdict.breaches,
        "holds": verdict.holds,
        "utilised": verdict.utilised,
        "generators": verdict.generators,
    })
}

/// The verdict of a run that was stopped: what was recorded is kept, nothing is judged.
pub fn json_interrupted(plan: &Plan, run_dir: &Path) -> Value {
    json!({
        "experiment": plan.name,
        "mode": plan.mode.name(),
        "seed": plan.seed,
        "verdict": "interrupted",
        "run_dir": run_dir,
        "expectations": [],
    })
}

/// The verdict of a run in which something broke.
pub fn json_broken(plan: &Plan, run_dir: &Path, error: &dyn std::error::Error) -> Value {
    json!({
        "experiment": plan.name,
        "mode": plan.mode.name(),
        "seed": plan.seed,
        "verdict": Class::Error.name(),
        "run_dir": run_dir,
        "error": error.to_string(),
        "expectations": [],
    })
}

/// The verdict as text.
pub fn text(plan: &Plan, verdict: &Verdict, run_dir: &Path) -> String {
    let mut out = String::new();
    if let Some(Ruling { by, at, arm, text, that, .. }) = verdict.ended.as_deref() {
        let when = Nanos::new(at.t_ns);
        line(&mut out, by, &format!("{arm}: ended at {when} in {}: {that}; {text}", at.phase));
    }
    expectations(&mut out, &verdict.expectations);
    if plan.expect.len() < plan.resolved.expect.len() {
        line(&mut out, "judged", &plan.judges());
    }
    for held in &verdict.holds {
        line(
            &mut out,
            "held",
            &format!(
                "{} on {}: gradient {:.3} at the median of {} updates ({:.3} to {:.3}), asked {}",
                held.fault, held.arm, held.median, held.updates, held.min, held.max, held.asked
            ),
        );
    }
    for held in &verdict.utilised {
        line(&mut out, "held", &format!("{} on {}: {}", held.fault, held.arm, held.text()));
    }
    for generator in &verdict.generators {
        line(&mut out, "load", &load(generator));
    }
    for breach in &verdict.breaches {
        line(&mut out, "guard", &format!("{}: {}", breach.arm, breach.message));
    }
    let (name, mode, seed) = (&plan.name, plan.mode.name(), plan.seed);
    let class = verdict.class.name().to_uppercase();
    let _ = writeln!(out, "\n{class}  {name} ({mode}, seed {seed})  {}", run_dir.display());
    out + &closer::text(plan.waits, verdict, run_dir)
}

fn load(generator: &Generator) -> String {
    let Generator { arm, offered, .. } = generator;
    let lag = millis(generator.lag_p99);
    if generator.downloads {
        return format!(
            "{arm}: {offered} waits ended; the limiter's wakes were late by {lag} at p99"
        );
    }
    let planned = generator.planned.map_or(String::new(), |n| format!(" of {n} planned"));
    let (sending, late) = (millis(generator.send_lag_p99), millis(generator.lateness_p50));
    let feeds = generator.feed_lag_p99.map_or(String::new(), |lag| {
        format!(", feeds reached the backend within {} at p99", millis(lag))
    });
    format!(
        "{arm}: {offered} requests offered{planned}; lag p99 {lag}, sending p99 {sending}, answers \
         late by {late}{feeds}"
    )
}

fn expectations(out: &mut String, expectations: &[Judged]) {
    let width = |of: fn(&Judged) -> usize| expectations.iter().map(of).max().unwrap_or(0);
    let (ids, arms) = (width(|judged| judged.id.len()), width(|judged| judged.arm.len()));
    for judged in expectations {
        let what = match &judged.phase {
            Some(phase) => format!("{} in {phase}", judged.measure),
            None => judged.measure.clone(),
        };
        let Judged { id, arm, text, .. } = judged;
        let since = judged.breach.as_ref().map_or(String::new(), since);
        let detail = format!("{id:ids$}  {arm:arms$}  {what} = {text}{since}");
        line(out, class_word(judged.verdict), &detail);
    }
}

/// When a limit was first broken.
fn since(breach: &Instant) -> String {
    format!(" (first at {}, in {})", Nanos::new(breach.t_ns), breach.phase)
}

fn line(out: &mut String, head: &str, text: &str) {
    let _ = writeln!(out, "{head:12}  {text}");
}

const fn class_word(class: Class) -> &'static str {
    match class {
        Class::Pass => "pass",
        Class::Warn => "warn",
        Class::Inconclusive => "inconclusive",
        Class::Fail => "FAIL",
        Class::Error => "ERROR",
    }
}

fn millis(seconds: f64) -> String {
    format!("{:.3}ms", seconds * 1e3)
}

#[cfg(test)]
mod tests;
