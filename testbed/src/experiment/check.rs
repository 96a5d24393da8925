//! The semantic check: what a schema cannot see. Names that must exist, ranges that depend on one
//! another, settings that cannot work. It finds all mistakes, and makes the plan if there are none.

mod expect;
mod faults;

use super::file::{AdmissionFile, File};
use super::plan::{Action, ArmPlan, FaultPlan, PhasePlan, Plan};
use super::problem::{Problem, did_you_mean};
use std::collections::BTreeSet;
use testbed_core::load::LoadConfig;
use testbed_core::time::{Nanos, Time};

/// The most arms in a file: each is a label value and, live, a backend and a proxy.
const MAX_ARMS: usize = 64;
/// The longest run.
const MAX_RUN: Nanos = Nanos::from_secs(30 * 24 * 3600);
/// The shortest sampling interval.
const MIN_SAMPLE: Nanos = Nanos::from_millis(1);

/// Mistakes found so far.
type Problems = Vec<Problem>;

/// Resolves a file.
///
/// # Errors
/// Every mistake in it, at its place.
pub fn plan(file: File) -> Result<Plan, Problems> {
    let mut problems = Problems::new();
    run_settings(&file, &mut problems);
    let phases = phases(&file, &mut problems);
    let arms = arms(&file, &mut problems);
    let faults = faults::check(&file, &phases, &arms, &mut problems);
    let expect = expect::check(&file, &phases, &arms, &mut problems);
    spinning(&faults, &arms, &mut problems);
    if !problems.is_empty() {
        return Err(problems);
    }
    Ok(Plan {
        name: file.name.clone(),
        mode: file.run.mode,
        seed: file.run.seed,
        sample_every: file.run.sample_every,
        arms,
        phases,
        faults,
        expect,
        resolved: file,
    })
}

fn run_settings(file: &File, problems: &mut Problems) {
    let every = file.run.sample_every;
    if every < MIN_SAMPLE {
        let message = format!("sample_every {every} is too short");
        let problem = Problem::at_value("/run/sample_every", message);
        problems.push(problem.with_help("write 1ms or more; updates are recorded each anyway"));
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
        if phase.length == Nanos::ZERO {
            let at = format!("/phases/{index}/for");
            problems.push(Problem::at_value(at, "a phase of no length is never seen"));
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

fn arms(file: &File, problems: &mut Problems) -> Vec<ArmPlan> {
    if file.arms.is_empty() || file.arms.len() > MAX_ARMS {
        let message = format!("there are {} arms; write 1 to {MAX_ARMS}", file.arms.len());
        problems.push(Problem::at_key("/arms", message));
    }
    let names: Vec<_> = file.arms.keys().cloned().collect();
    names.iter().filter_map(|name| arm(file, name, problems)).collect()
}

fn arm(file: &File, name: &str, problems: &mut Problems) -> Option<ArmPlan> {
    let arm = &file.arms[name];
    let at = format!("/arms/{}", escape(name));
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c)) {
        let problem = Problem::at_key(&at, format!("`{name}` cannot name an arm"));
        problems.push(problem.with_help("use letters, digits, dots, dashes and underscores"));
    }
    for invalid in arm.controller.invalid() {
        let at = format!("{at}/controller/{}/{}", arm.controller.name(), invalid.field);
        problems.push(Problem::at_value(at, invalid.message));
    }
    let mut missing = |what: &str| {
        let problem = Problem::at_key(&at, format!("arm `{name}` has no {what}"));
        let help = format!("write `{what}:` here, or once for all arms at the top of the file");
        problems.push(problem.with_help(help));
    };
    let backend = arm.backend.clone().or_else(|| file.backend.clone());
    let load = arm.load.clone().or_else(|| file.load.clone());
    if backend.is_none() {
        missing("backend");
    }
    if load.is_none() {
        missing("load");
    }
    let admission = arm.admission.clone().unwrap_or_else(|| file.admission.clone());
    let (backend, load) = (backend?, load?);
    crowded(&at, &load, &admission, problems);
    Some(ArmPlan {
        name: name.to_owned(),
        controller: arm.controller.clone(),
        backend,
        load,
        admission,
    })
}

/// Clients or an input that do not fit into the queue would be rejected at the start.
fn crowded(at: &str, load: &LoadConfig, admission: &AdmissionFile, problems: &mut Problems) {
    let (at_once, what) = match load {
        LoadConfig::Closed(closed) => (u64::from(closed.clients), "clients"),
        LoadConfig::Input(input) => (input.requests, "requests of input"),
        LoadConfig::Open(_) => return,
    };
    if at_once > u64::from(admission.max_waiting) {
        let message =
            format!("{at_once} {what} do not fit into max_waiting {}", admission.max_waiting);
        let help = format!("write `admission: {{ max_waiting: {at_once} }}`, or less load");
        problems.push(Problem::at_key(at, message).with_help(help));
    }
}

/// Clients that do not think and are answered at once would ask again without time passing.
fn spinning(faults: &[FaultPlan], arms: &[ArmPlan], problems: &mut Problems) {
    let restless =
        |arm: &ArmPlan| matches!(&arm.load, LoadConfig::Closed(closed) if closed.think.is_none());
    for arm in arms.iter().filter(|arm| restless(arm)) {
        if arm.backend.service.mean() == Nanos::ZERO {
            let at = format!("/arms/{}", escape(&arm.name));
            let message =
                format!("clients of arm `{}` do not think, and service takes 0s", arm.name);
            let help = "give the backend a service time, or the clients a `think:`";
            problems.push(Problem::at_key(at, message).with_help(help));
        }
    }
    for (index, fault) in faults.iter().enumerate() {
        let Action::Reject(reject) = &fault.action else { continue };
        let at_once = reject.after == Nanos::ZERO && reject.calls.is_none();
        if at_once && fault.arms.iter().filter_map(|arm| arms.get(*arm)).any(restless) {
            let at = format!("/faults/{index}/backend/reject/after");
            let message = "clients that do not think, rejected after 0s, would spin";
            let help = "give the rejection an `after:`, or the clients a `think:`";
            problems.push(Problem::at_value(at, message).with_help(help));
        }
    }
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

/// The index of `name` among `names`; a problem at `at` if it is not there.
fn resolve(
    what: &str,
    name: &str,
    names: &[&str],
    at: String,
    problems: &mut Problems,
) -> Option<usize> {
    let found = names.iter().position(|other| *other == name);
    if found.is_none() {
        let hint = did_you_mean(name, names.iter().copied());
        let problem = Problem::at_value(at, format!("there is no {what} `{name}`{hint}"));
        problems.push(problem.with_help(format!("{what}s here: {}", names.join(", "))));
    }
    found
}

/// A name as a part of a JSON pointer (RFC 6901, section 3).
fn escape(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
