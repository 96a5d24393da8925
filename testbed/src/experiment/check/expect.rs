//! What the schema cannot see of expectations.

use super::{Problems, resolve, unique, units};
use crate::experiment::file::{ExpectFile, File};
use crate::experiment::plan::{ArmPlan, Expectation, PhasePlan};
use crate::experiment::problem::{Problem, did_you_mean};
use crate::verdict::grammar::{self, Measure, Sentence};
use crate::watch::series::{self, Kind};

/// Resolves the expectations of a file; those for another mode are checked and left out.
pub(super) fn check(
    file: &File,
    phases: &[PhasePlan],
    arms: &[Option<ArmPlan>],
    problems: &mut Problems,
) -> Vec<Expectation> {
    unique(file.expect.iter().map(|expect| expect.id.as_str()), "/expect", "id", problems);
    let mut expectations = Vec::new();
    for (index, expect) in file.expect.iter().enumerate() {
        let at = format!("/expect/{index}");
        let sentence = sentence(expect, &at, problems);
        let speaks_of = speaks_of(file, expect, &at, problems);
        let phase = phase(expect, phases, &at, problems);
        let (Some(sentence), Some(speaks_of)) = (sentence, speaks_of) else { continue };
        recorded((&expect.that, &sentence), &speaks_of, arms, &format!("{at}/that"), problems);
        let Some(phase) = phase else { continue };
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
        None if problems.lost.covers(&format!("{at}/arm")) => None,
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

/// Whether each arm records what the sentence speaks of, in its unit; the first that does not is a
/// problem.
fn recorded(
    (text, sentence): (&str, &Sentence),
    speaks_of: &[usize],
    arms: &[Option<ArmPlan>],
    at: &str,
    problems: &mut Problems,
) {
    let mut speaks_of = speaks_of.iter().filter_map(|arm| arms.get(*arm)?.as_ref());
    let problem =
        speaks_of.find_map(|arm| match &sentence.measure {
            Measure::Aggregate { series, .. } => of_series(series, false, arm, at)
                .or_else(|| of_unit((text, sentence), series, arm, at)),
            Measure::TimeTo { series, .. } => of_series(series, true, arm, at)
                .or_else(|| of_unit((text, sentence), series, arm, at)),
            Measure::OverFifo(_) => of_series(grammar::WAIT, false, arm, at),
            measure @ (Measure::Jain | Measure::ZeroProgress { .. }) => {
                of_waiters(measure, arm, arms, at)
            }
        });
    problems.extend(problem);
}

/// The problem with asking `arm` for a series, at `instants` or for its values.
fn of_series(name: &str, instants: bool, arm: &ArmPlan, at: &str) -> Option<Problem> {
    match series::find(name, &arm.work) {
        None => Some(unknown(name, arm, at)),
        Some((_, Kind::Distribution)) if instants => {
            let message = format!("`{name}` has one value a request; it reaches nothing at a time");
            let help = "use it with max, min, mean, last or a percentile";
            Some(Problem::at_value(at, message).with_help(help))
        }
        Some(_) => None,
    }
}

/// The problem with comparing what `arm` records under a name with numbers of another unit.
fn of_unit(
    (text, sentence): (&str, &Sentence),
    name: &str,
    arm: &ArmPlan,
    at: &str,
) -> Option<Problem> {
    let (unit, _) = series::find(name, &arm.work)?;
    units::check(text, sentence, (name, unit), at)
}

/// The problem with asking `arm` for its waiters.
fn of_waiters(
    measure: &Measure,
    arm: &ArmPlan,
    arms: &[Option<ArmPlan>],
    at: &str,
) -> Option<Problem> {
    if arm.downloads().is_some() {
        return None;
    }
    let (what, law) = arm.work.law();
    let message = format!(
        "`{measure}` asks for waiters; only arms with a limiter have them, and arm `{}` has {what} \
         `{law}`",
        arm.name
    );
    let limited = arms.iter().flatten().filter(|arm| arm.downloads().is_some());
    let names: Vec<_> = limited.map(|arm| arm.name.as_str()).collect();
    let help = if names.is_empty() {
        "give the arm a `limiter` in place of its `controller`".to_owned()
    } else {
        format!("name one of them with `arm:`; here: {}", names.join(", "))
    };
    Some(Problem::at_value(at, message).with_help(help))
}

fn unknown(name: &str, arm: &ArmPlan, at: &str) -> Problem {
    let names = series::names(&arm.work);
    let hint = did_you_mean(name, names.iter().map(String::as_str));
    let (what, law) = arm.work.law();
    let message = format!("arm `{}` ({what} `{law}`) has no series `{name}`{hint}", arm.name);
    Problem::at_value(at, message).with_help("`windtunnel list series` names them all")
}

#[cfg(test)]
mod tests {
    use crate::experiment::{self, Overrides};

    /// An arm `law` with a controller, and an arm `policy` with a limiter.
    const BOTH: &str = "
version: 1
name: both
arms:
  law: { controller: { fixed: { limit: 1 } }, load: { closed: { clients: 1 } } }
  policy:
    limiter: { fifo: { levels: { global: { rate: 1MiB/s } } } }
    download: { tasks: 1, chunk: { fixed: 16KiB } }
backend: { servers: 1, service: { constant: 1ms } }
phases: [{ name: p, for: 1s }]
";

    #[test]
    fn arms_are_asked_for_what_they_record() {
        let waiters = "name one of them with `arm:`; here: policy";
        for (arm, sentence, cure) in [
            ("policy", "max(limiter.wait) / fifo <= 3", None),
            ("policy", "jain(download.granted by waiter) >= 0.9", None),
            ("policy", "zero_progress(20 rounds) == 0", None),
            ("policy", "overtakes == 0", None),
            ("policy", "max(real - quoted) == 0s", None),
            ("policy", "max(limiter.tokens) <= 16KiB", None),
            ("policy", "time_to(limiter.throughput >= 512KiB/s) <= 1s", None),
            ("policy", "makespan <= 1s", None),
            ("law", "makespan <= 1s", None),
            ("law", "overtakes == 0", Some("no series `limiter.overtakes`")),
            ("law", "max(limiter.wait) / fifo <= 3", Some("no series `limiter.wait`")),
            ("law", "jain(download.granted by waiter) >= 0.9", Some(waiters)),
            ("law", "zero_progress(20 rounds) == 0", Some(waiters)),
            ("policy", "time_to(real - quoted > 0s) <= 1s", Some("use it with max")),
        ] {
            let text = format!("{BOTH}expect: [{{ id: x, arm: {arm}, that: {sentence} }}]\n");
            let loaded = experiment::load("both", &text, &Overrides::default());
            match (loaded, cure) {
                (Ok(_), None) => {}
                (Err(report), Some(cure)) => {
                    let said = report.to_string();
                    assert!(said.contains(cure), "{sentence}: {said}");
                }
                (loaded, _) => panic!("{sentence}: {loaded:?}"),
            }
        }
    }
}
