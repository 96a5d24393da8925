//! Open load that is more than a backend can serve for long: mostly a mistake in a number, and then all that
//! is measured is a queue that grows.

use super::Problems;
use crate::digits::apart;
use crate::experiment::file::File;
use crate::experiment::plan::{Action, ArmPlan, FaultPlan, PhasePlan};
use crate::experiment::problem::Problem;
use testbed_core::load::LoadConfig;
use testbed_core::time::{Nanos, Time};

/// Load may exceed capacity for less than this.
const LONG: Nanos = Nanos::from_secs(5);
/// A run is looked at in spans of this length, or a little longer if it has more than `MOST_SPANS`.
const SPAN: Nanos = Nanos::from_secs(1);
/// Spans that a run is looked at in, at most.
const MOST_SPANS: u64 = 10_000;
/// Load up to this much above capacity is taken for capacity: numbers in a file are round.
const SLACK: f64 = 1.001;

/// Refuses a file whose open load is too much for too long, unless it says that it means it, or a fault of
/// the backend is on.
pub(super) fn check(
    file: &File,
    phases: &[PhasePlan],
    arms: &[ArmPlan],
    faults: &[FaultPlan],
    problems: &mut Problems,
) {
    if file.overload {
        return;
    }
    for (host, arm) in arms.iter().enumerate().filter(|(index, arm)| arm.host == *index) {
        let group: Vec<_> = (0..arms.len()).filter(|index| arms[*index].host == host).collect();
        let explained = |begin: Time, end: Time| {
            let meant = phases
                .iter()
                .zip(&file.phases)
                .any(|(phase, written)| written.overload && phase.begin < end && begin < phase.end);
            meant
                || faults
                    .iter()
                    .any(|fault| explains(fault, host) && fault.begin < end && begin < fault.end)
        };
        let end = phases.last().map_or(Time::ZERO, |phase| phase.end);
        if let Some((at, offered)) = too_much(arms, &group, end, explained) {
            problems.push(problem(file, arm, at, offered));
        }
    }
}

fn explains(fault: &FaultPlan, arm: usize) -> bool {
    fault.arms.contains(&arm) && !matches!(fault.action, Action::Toxic(_) | Action::Down)
}

/// Requests a second that a backend can serve; infinite if service takes no time.
fn capacity(arm: &ArmPlan) -> f64 {
    arm.backend.capacity(arm.backend.servers)
}

/// From when on more is offered than can be served for `LONG`, and how much a second it is by then.
fn too_much(
    arms: &[ArmPlan],
    group: &[usize],
    end: Time,
    explained: impl Fn(Time, Time) -> bool,
) -> Option<(Time, f64)> {
    let capacity = group.first().map_or(f64::INFINITY, |arm| capacity(&arms[*arm]));
    let length = Nanos::new(SPAN.get().max(end.as_nanos() / MOST_SPANS));
    let mut since = None;
    let (mut begin, mut before) = (Time::ZERO, 0.0);
    while begin.after(length) <= end {
        let until = begin.after(length);
        let expected = expected(arms, group, until);
        let offered = (expected - before) / length.as_secs_f64();
        if offered <= capacity * SLACK || explained(begin, until) {
            since = None;
        } else if until.since(*since.get_or_insert(begin)) >= LONG {
            return since.map(|since| (since, offered));
        }
        (begin, before) = (until, expected);
    }
    None
}

/// Arrivals that the open loads of these arms let expect until an instant.
fn expected(arms: &[ArmPlan], group: &[usize], until: Time) -> f64 {
    let loads = group.iter().filter_map(|arm| arms[*arm].calls().map(|calls| &calls.load));
    let open = loads.filter_map(|load| match load {
        LoadConfig::Open(pace) => Some(pace.expected(until)),
        LoadConfig::Closed(_) | LoadConfig::Input(_) => None,
    });
    open.sum()
}

fn problem(file: &File, arm: &ArmPlan, at: Time, offered: f64) -> Problem {
    let own = file.arms.get(&arm.name).is_some_and(|arm| arm.load.is_some());
    let place =
        if own { format!("/arms/{}/load", super::escape(&arm.name)) } else { "/load".to_owned() };
    let [offered, served] = apart(offered, capacity(arm));
    let message = format!(
        "about {offered} requests a second from {at} on are more than the backend of arm `{}` can serve, \
         {served} a second ({} at a time, {} each): is that intended?",
        arm.name,
        arm.backend.servers,
        arm.backend.service.mean()
    );
    let help = "if so, write `overload: true` at the top of the file or in the phase; else less load, or \
                more servers";
    Problem::at_key(place, message).with_help(help)
}

#[cfg(test)]
mod tests {
    use crate::experiment::{Overrides, load};

    /// A backend of 100 requests a second under this load for 30 s; the problem, if there is one.
    fn check(load_is: &str, more: &str, phase: &str) -> Result<(), String> {
        checked("10ms", load_is, more, phase)
    }

    fn checked(service: &str, load_is: &str, more: &str, phase: &str) -> Result<(), String> {
        let text = format!(
            "version: 1\nname: t\n{more}\narms: {{ a: {{ controller: {{ fixed: {{ limit: 9 }} }} }} }}\n\
             backend: {{ servers: 1, service: {{ constant: {service} }} }}\nload: {{ open: {{ {load_is} }} }}\n\
             phases: [ {{ name: p, for: 10s }}, {{ name: q, for: 20s {phase} }} ]\n"
        );
        load("t", &text, &Overrides::default()).map(drop).map_err(|report| report.to_string())
    }

    #[test]
    fn load_may_exceed_capacity_for_a_moment_or_if_the_file_means_it() {
        let spike = |at: &str, length: &str| {
            format!("spike: {{ base: 50/s, peak: 200/s, at: {at}, for: {length} }}")
        };
        let freeze = "faults: [{ name: f, during: q, backend: { freeze: {} } }]";
        for (load_is, more, phase, accepted) in [
            ("poisson: { rate: 100/s }".to_owned(), "", "", true),
            ("poisson: { rate: 101/s }".to_owned(), "", "", false),
            ("poisson: { rate: 101/s }".to_owned(), "overload: true", "", true),
            (spike("12s", "4s"), "", "", true),
            (spike("12s", "8s"), "", "", false),
            (spike("12s", "8s"), "", ", overload: true", true),
            (spike("1s", "8s"), "", ", overload: true", false),
            (spike("12s", "8s"), freeze, "", true),
            ("ramp: { from: 50/s, to: 104/s, over: 30s }".to_owned(), "", "", true),
            ("ramp: { from: 50/s, to: 150/s, over: 30s }".to_owned(), "", "", false),
        ] {
            let checked = check(&load_is, more, phase);
            assert_eq!(checked.is_ok(), accepted, "{load_is} {more} {phase}: {checked:?}");
        }
    }

    #[test]
    fn the_problem_stands_at_the_load_and_names_the_cure() {
        let report = check("constant: { rate: 250/s }", "", "").unwrap_err();
        for words in ["t:6:1", "from 0s on", "(1 at a time, 10ms each)", "overload: true"] {
            assert!(report.contains(words), "{words}: {report}");
        }
    }

    #[test]
    fn rates_have_as_many_digits_as_tell_them_from_each_other_and_from_nothing() {
        for (rate, service, offered, served) in [
            ("250/s", "10ms", "250", "100"),
            ("100.2/s", "10ms", "100.2", "100"),
            ("0.05/s", "25s", "0.05", "0.04"),
            ("1/s", "3000s", "1", "0.000333"),
        ] {
            let load_is = format!("constant: {{ rate: {rate} }}");
            let report = checked(service, &load_is, "", "").unwrap_err();
            let [offered, served] =
                [format!("about {offered} requests"), format!(" {served} a second (1 at a time, ")];
            assert!(report.contains(&offered) && report.contains(&served), "{report}");
        }
    }
}
