//! What the schema cannot see of expectations.

use super::{Problems, resolve, unique};
use crate::experiment::file::{ExpectFile, File};
use crate::experiment::plan::{ArmPlan, Expectation, PhasePlan};
use crate::experiment::problem::{Problem, did_you_mean};
use crate::verdict::grammar::{self, Measure, Sentence};
use crate::watch::series::{self, Kind};

/// Resolves the expectations of a file; those for another mode are checked and left out.
pub(super) fn check(
    file: &File,
    phases: &[PhasePlan],
    arms: &[ArmPlan],
    problems: &mut Problems,
) -> Vec<Expectation> {
    unique(file.expect.iter().map(|expect| expect.id.as_str()), "/expect", "id", problems);
    let mut expectations = Vec::new();
    for (index, expect) in file.expect.iter().enumerate() {
        let at = format!("/expect/{index}");
        let sentence = sentence(expect, &at, problems);
        let speaks_of = speaks_of(file, expect, &at, problems);
        let phase = phase(expect, phases, &at, problems);
        let (Some(sentence), Some(speaks_of), Some(phase)) = (sentence, speaks_of, phase) else {
            continue;
        };
        if arms.len() == file.arms.len() {
            series(&sentence, &speaks_of, arms, &at, problems);
        }
        if expect.mode.is_none_or(|mode| mode == file.run.mode) {
            let id = expect.id.clone();
            expectations.push(Expectation { id, arms: speaks_of, phase, sentence });
        }
    }
    expectations
}

fn sentence(expect: &ExpectFile, at: &str, problems: &mut Problems) -> Option<Sentence> {
    grammar::parse(&expect.that)
        .map_err(|error| {
            let message = format!("{} (column {} of the sentence)", error.message, error.column);
            problems.push(Problem::at_value(format!("{at}/that"), message).with_help(error.help));
        })
        .ok()
}

fn speaks_of(
    file: &File,
    expect: &ExpectFile,
    at: &str,
    problems: &mut Problems,
) -> Option<Vec<usize>> {
    let names: Vec<_> = file.arms.keys().map(String::as_str).collect();
    match &expect.arm {
        None => Some((0..names.len()).collect()),
        Some(name) => Some(vec![resolve("arm", name, &names, format!("{at}/arm"), problems)?]),
    }
}

fn phase(
    expect: &ExpectFile,
    phases: &[PhasePlan],
    at: &str,
    problems: &mut Problems,
) -> Option<Option<usize>> {
    let names: Vec<_> = phases.iter().map(|phase| phase.name.as_str()).collect();
    match &expect.phase {
        None => Some(None),
        Some(name) => resolve("phase", name, &names, format!("{at}/in"), problems).map(Some),
    }
}

fn series(
    sentence: &Sentence,
    speaks_of: &[usize],
    arms: &[ArmPlan],
    at: &str,
    problems: &mut Problems,
) {
    let (name, instants) = match &sentence.measure {
        Measure::Aggregate { series, .. } => (series, false),
        Measure::TimeTo { series, .. } => (series, true),
    };
    let at = format!("{at}/that");
    for arm in speaks_of.iter().filter_map(|arm| arms.get(*arm)) {
        match series::find(name, &arm.work) {
            None => problems.push(unknown(name, arm, &at)),
            Some((_, Kind::Distribution)) if instants => {
                let message =
                    format!("`{name}` has one value a request; it reaches nothing at a time");
                let help = "use it with max, min, mean, last or a percentile";
                problems.push(Problem::at_value(&at, message).with_help(help));
            }
            Some(_) => continue,
        }
        return;
    }
}

fn unknown(name: &str, arm: &ArmPlan, at: &str) -> Problem {
    let names = series::names(&arm.work);
    let hint = did_you_mean(name, names.iter().map(String::as_str));
    let (what, law) = arm.work.law();
    let message = format!("arm `{}` ({what} `{law}`) has no series `{name}`{hint}", arm.name);
    Problem::at_value(at, message).with_help("`windtunnel list series` names them all")
}
