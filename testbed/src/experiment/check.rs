//! The semantic check: what a schema cannot see. Names that must exist, ranges that depend on one
//! another, settings that cannot work. It finds all mistakes in what could be read, and makes the plan if there are none.

mod arms;
mod early;
mod expect;
mod faults;
mod measures;
mod overload;
mod problems;
mod sharing;

pub use problems::Lost;

use super::file::{File, Mode};
use super::plan::{ArmPlan, FaultPlan, PhasePlan, Plan};
use super::problem::{Problem, did_you_mean};
use super::trace_files::TraceFiles;
use problems::Problems;
use std::collections::BTreeSet;
use testbed_core::time::{Nanos, Time};

/// The longest run.
const MAX_RUN: Nanos = Nanos::from_secs(30 * 24 * 3600);
/// The shortest sampling interval.
const MIN_SAMPLE: Nanos = Nanos::from_millis(1);

/// What sentences are checked against: what could be read of it.
struct Scene<'a> {
    file: &'a File,
    phases: &'a [PhasePlan],
    arms: &'a [Option<ArmPlan>],
    faults: &'a [(usize, FaultPlan)],
}

/// Resolves a file of which some parts may be `lost`; then there is no plan.
///
/// # Errors
/// Every mistake in what is not lost, at its place.
pub fn plan(file: File, lost: Lost) -> Result<Plan, Vec<Problem>> {
    let mut problems = Problems::new(lost);
    run_settings(&file, &mut problems);
    let phases = phases(&file, &mut problems);
    let arms = arms::check(&file, &mut problems);
    let faults = faults::check(&file, &phases, &arms, &mut problems);
    let scene = Scene { file: &file, phases: &phases, arms: &arms, faults: &faults };
    let expect = expect::check(&scene, &mut problems);
    let gates = early::gates(&scene, &mut problems);
    let aborts = early::aborts(&scene, &mut problems);
    let measures = measures::check(&scene, &mut problems);
    arms::spinning(&faults, &arms, &mut problems);
    let faults: Vec<_> = faults.into_iter().map(|(_, fault)| fault).collect();
    let whole: Option<Vec<_>> = arms.into_iter().collect();
    let Some(mut arms) = whole.filter(|_| problems.is_empty()) else {
        return Err(problems.into_vec());
    };
    sharing::check(&file, &mut arms, &faults, &mut problems);
    overload::check(&file, &phases, &arms, &faults, &mut problems);
    if !problems.is_empty() {
        return Err(problems.into_vec());
    }
    Ok(Plan {
        name: file.name.clone(),
        mode: file.run.mode,
        seed: file.run.seed,
        sample_every: file.run.sample_every,
        waits: file.record.waits,
        arrivals: file.record.arrivals,
        arms,
        phases,
        faults,
        gates,
        aborts,
        honesty: file.honesty.clone(),
        expect,
        measures,
        resolved: file,
        traces: TraceFiles::new(),
    })
}

fn run_settings(file: &File, problems: &mut Problems) {
    let every = file.run.sample_every;
    if every < MIN_SAMPLE {
        let message = format!("sample_every {every} is too short");
        let problem = Problem::at_value("/run/sample_every", message);
        problems.push(problem.with_help("write 1ms or more; updates are recorded each anyway"));
    }
    if let (Mode::Live, Some(why)) = (file.run.mode, &file.run.virtual_only) {
        let message = format!("this experiment is for virtual time only: {why}");
        let problem = Problem::at_value("/run/virtual_only", message);
        problems.push(problem.with_help("run it with `--mode virtual`"));
    }
}

fn phases(file: &File, problems: &mut Problems) -> Vec<PhasePlan> {
    if file.phases.is_empty() {
        let problem = Problem::at_key("/phases", "there are no phases, so nothing would run");
        problems.push(problem.with_help("write at least one: `- { name: steady, for: 30s }`"));
    }
    let names = file.phases.iter().map(|phase| phase.name.as_str());
    unique(names, "/phases", "name", problems);
    let mut begin = Time::ZERO;
    let mut plans = Vec::new();
    for (index, phase) in file.phases.iter().enumerate() {
        if phase.name.is_empty() {
            let at = format!("/phases/{index}/name");
            problems.push(Problem::at_value(at, "a phase without a name cannot be spoken of"));
        }
        if phase.length == Nanos::ZERO {
            let at = format!("/phases/{index}/for");
            problems.push(Problem::at_value(&at, "a phase of no length is never seen"));
            // Whatever is to happen in it would be wrong too.
            problems.lost.add(at);
        }
        let end = begin.after(phase.length);
        plans.push(PhasePlan { name: phase.name.clone(), begin, end });
        begin = end;
    }
    if begin.since(Time::ZERO) > MAX_RUN {
        let message = format!("the phases add up to more than {MAX_RUN}");
        problems.push(Problem::at_key("/phases", message));
    }
    plans
}

/// Each name may stand once in its list.
fn unique<'n>(
    names: impl Iterator<Item = &'n str>,
    list: &str,
    field: &str,
    problems: &mut Problems,
) {
    let mut seen = BTreeSet::new();
    for (index, name) in names.enumerate() {
        if !seen.insert(name) {
            let message = format!("`{name}` is there already; names are one of a kind");
            problems.push(Problem::at_value(format!("{list}/{index}/{field}"), message));
        }
    }
}

/// The index of `name` among `names`; a problem at `at` if it is not there, and all names are known.
fn resolve(
    what: &str,
    name: &str,
    names: &[&str],
    at: String,
    problems: &mut Problems,
) -> Option<usize> {
    let found = names.iter().position(|other| *other == name);
    let known = !names.contains(&"") && !problems.lost.covers(&format!("/{what}s"));
    if found.is_none() && known {
        let hint = did_you_mean(name, names.iter().copied());
        let problem = Problem::at_value(at, format!("there is no {what} `{name}`{hint}"));
        problems.push(problem.with_help(format!("{what}s here: {}", names.join(", "))));
    }
    found
}

/// A name as a part of a JSON pointer (RFC 6901, section 3).
pub(super) fn escape(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
