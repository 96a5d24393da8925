//! What the schema cannot see of faults.

use super::{Problems, resolve, unique};
use crate::experiment::file::{BackendFault, FaultFile, File, Freeze};
use crate::experiment::plan::{Action, ArmPlan, FaultPlan, PhasePlan};
use crate::experiment::problem::Problem;
use testbed_core::control::Invalid;
use testbed_core::hold::{Hold, HoldConfig};
use testbed_core::service::HttpFault;
use testbed_core::time::Time;

/// Resolves the faults of a file, each with its index there.
pub(super) fn check(
    file: &File,
    phases: &[PhasePlan],
    arms: &[Option<ArmPlan>],
    problems: &mut Problems,
) -> Vec<(usize, FaultPlan)> {
    unique(file.faults.iter().map(|fault| fault.name.as_str()), "/faults", "name", problems);
    let mut plans = Vec::new();
    for (index, fault) in file.faults.iter().enumerate() {
        let at = format!("/faults/{index}");
        let span = span(fault, phases, &at, problems);
        let acts_on = acts_on(file, fault, &at, problems);
        let action = action(fault, &at, problems);
        if let (Some((begin, end)), Some(arms), Some(action)) = (span, acts_on, action) {
            let name = fault.name.clone();
            plans.push((index, FaultPlan { name, begin, end, arms, action }));
        }
    }
    holds(&plans, arms, problems);
    plans
}

/// From when to when a fault is on: within its phase, or the run.
fn span(
    fault: &FaultFile,
    phases: &[PhasePlan],
    at: &str,
    problems: &mut Problems,
) -> Option<(Time, Time)> {
    let (what, begin, end, place) = match &fault.during {
        None => ("the run".to_owned(), Time::ZERO, phases.last()?.end, "/phases".to_owned()),
        Some(name) => {
            let names: Vec<_> = phases.iter().map(|phase| phase.name.as_str()).collect();
            let index = resolve("phase", name, &names, format!("{at}/during"), problems)?;
            let PhasePlan { begin, end, .. } = phases[index];
            (format!("phase `{name}`"), begin, end, format!("/phases/{index}"))
        }
    };
    let unknown = |field: &str| problems.lost.covers(&format!("{at}/{field}"));
    if ["during", "at", "for"].into_iter().any(unknown) || problems.lost.touches(&place) {
        return None;
    }
    let on = begin.after(fault.at.unwrap_or_default());
    let off = fault.length.map_or(end, |length| on.after(length));
    let length = end.since(begin);
    let mut refuse = |field: &str, message: String| {
        problems.push(Problem::at_value(format!("{at}/{field}"), message));
    };
    if on >= end {
        refuse("at", format!("{what} lasts {length}; this fault would begin at its end or later"));
    } else if off > end {
        refuse(
            "for",
            format!("{what} lasts {length}; this fault would end {} later", off.since(end)),
        );
    } else if off == on {
        refuse("for", "a fault of no length is never seen".to_owned());
    }
    (on < off && off <= end).then_some((on, off))
}

fn acts_on(
    file: &File,
    fault: &FaultFile,
    at: &str,
    problems: &mut Problems,
) -> Option<Vec<usize>> {
    let names: Vec<_> = file.arms.keys().map(String::as_str).collect();
    if problems.lost.covers(&format!("{at}/arms")) {
        return None;
    }
    let Some(wanted) = &fault.arms else {
        return Some((0..names.len()).collect());
    };
    if wanted.is_empty() {
        let problem = Problem::at_value(format!("{at}/arms"), "a fault without arms does nothing");
        problems.push(problem.with_help("name an arm, or leave `arms:` out for all"));
    }
    let places = wanted.iter().enumerate();
    places
        .map(|(place, name)| resolve("arm", name, &names, format!("{at}/arms/{place}"), problems))
        .collect()
}

fn action(fault: &FaultFile, at: &str, problems: &mut Problems) -> Option<Action> {
    let unknown = |field: &str| problems.lost.covers(&format!("{at}/{field}"));
    match (&fault.backend, &fault.toxic, &fault.proxy) {
        (Some(backend), None, None) => backend_action(backend, &format!("{at}/backend"), problems),
        (None, Some(toxic), None) => Some(Action::Toxic(toxic.clone())),
        (None, None, Some(_)) => Some(Action::Down),
        (None, None, None) if ["backend", "toxic", "proxy"].into_iter().any(unknown) => None,
        _ => {
            let message = "a fault is exactly one of backend, toxic and proxy";
            problems.push(Problem::at_key(at, message).with_help("split it into several faults"));
            None
        }
    }
}

fn backend_action(backend: &BackendFault, at: &str, problems: &mut Problems) -> Option<Action> {
    use HttpFault as Http;
    let http = match backend.clone() {
        BackendFault::Reject(reject) => Http::Reject(reject),
        BackendFault::SlowHeaders(slow) => Http::SlowHeaders(slow),
        BackendFault::Drip(drip) => Http::Drip(drip),
        BackendFault::Truncate(truncate) => Http::Truncate(truncate),
        BackendFault::WrongLength(wrong) => Http::WrongLength(wrong),
        BackendFault::Reset(reset) => Http::Reset(reset),
        BackendFault::NoAnswer(silent) => Http::NoAnswer(silent),
        BackendFault::Hold(config) => return hold(&config, at, problems),
        BackendFault::Servers(servers) => return Some(Action::Servers(servers)),
        BackendFault::Freeze(Freeze {}) => return Some(Action::Freeze),
        BackendFault::SlowStart(start) => {
            let invalid = start.invalid();
            return possible(
                Action::SlowStart(start),
                &invalid,
                &format!("{at}/slow_start"),
                problems,
            );
        }
    };
    let (invalid, at) = (http.invalid(), format!("{at}/{}", http.name()));
    possible(Action::Http(http), &invalid, &at, problems)
}

fn hold(config: &HoldConfig, at: &str, problems: &mut Problems) -> Option<Action> {
    let hold = Hold::try_from(config);
    hold.map(Action::Hold)
        .map_err(|message| problems.push(Problem::at_key(format!("{at}/hold"), message)))
        .ok()
}

/// The action, unless it has settings that cannot work: those of the object at `at`.
fn possible(
    action: Action,
    invalid: &[Invalid],
    at: &str,
    problems: &mut Problems,
) -> Option<Action> {
    for Invalid { field, message } in invalid {
        problems.push(Problem::at_value(format!("{at}/{field}"), message));
    }
    invalid.is_empty().then_some(action)
}

/// A gradient can only be held where a law has a baseline, and a backend has one hold at a time.
fn holds(plans: &[(usize, FaultPlan)], arms: &[Option<ArmPlan>], problems: &mut Problems) {
    for (place, (index, plan)) in plans.iter().enumerate() {
        let Action::Hold(hold) = &plan.action else {
            continue;
        };
        let at = format!("/faults/{index}");
        for arm in plan.arms.iter().filter_map(|arm| arms.get(*arm)?.as_ref()) {
            let vitals = arm.calls().map_or_else(Vec::new, |calls| calls.controller.vitals());
            let follows = vitals.iter().any(|vital| vital.name == "baseline_rtt");
            if matches!(hold, Hold::Gradient { .. }) && !follows {
                let (what, law) = arm.work.law();
                let message = format!(
                    "a gradient is held against a law's baseline RTT, and {what} `{law}` of arm \
                     `{}` has none",
                    arm.name
                );
                let help = "name the arms that it is for: `arms: [...]`, or hold a latency";
                problems.push(Problem::at_key(&at, message).with_help(help));
            }
        }
        let overlaps = |(_, other): &&(usize, FaultPlan)| {
            matches!(other.action, Action::Hold(_))
                && other.begin < plan.end
                && plan.begin < other.end
                && other.arms.iter().any(|arm| plan.arms.contains(arm))
        };
        if let Some((_, other)) = plans[..place].iter().find(overlaps) {
            let message = format!("`{}` already holds this backend at that time", other.name);
            problems
                .push(Problem::at_key(&at, message).with_help("use another phase or other arms"));
        }
    }
}
