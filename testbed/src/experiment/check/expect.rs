//! What the schema cannot see of expectations.

mod recorded;

pub(super) use recorded::Asked;

use super::{Problems, Scene, resolve, unique};
use crate::experiment::file::File;
use crate::experiment::plan::{Expectation, PhasePlan};
use crate::experiment::problem::Problem;
use crate::verdict::grammar::{self, GrammarError, Sentence, What};

/// Resolves the expectations of a file; those for another mode are checked and left out.
pub(super) fn check(scene: &Scene<'_>, problems: &mut Problems) -> Vec<Expectation> {
    let file = scene.file;
    unique(file.expect.iter().map(|expect| expect.id.as_str()), "/expect", "id", problems);
    let mut expectations = Vec::new();
    for (index, expect) in file.expect.iter().enumerate() {
        let at = format!("/expect/{index}");
        let (arm, phase) = (expect.arm.as_deref(), expect.phase.as_deref());
        let said = Said { that: &expect.that, arm, phase };
        let resolved = said.resolve(scene, &at, problems);
        let Some((arms, phase, sentence)) = resolved else { continue };
        if expect.mode.is_none_or(|mode| mode == file.run.mode) {
            let id = expect.id.clone();
            let (severity, over_seeds) = (expect.severity, expect.over_seeds);
            expectations.push(Expectation { id, arms, phase, severity, over_seeds, sentence });
        }
    }
    expectations
}

/// A sentence, and what it speaks of, as a file writes them.
pub(super) struct Said<'a> {
    pub(super) that: &'a str,
    pub(super) arm: Option<&'a str>,
    pub(super) phase: Option<&'a str>,
}

impl Said<'_> {
    /// The arms, the phase and the sentence.
    pub(super) fn resolve(
        &self,
        scene: &Scene<'_>,
        at: &str,
        problems: &mut Problems,
    ) -> Option<(Vec<usize>, Option<usize>, Sentence)> {
        let sentence = self.sentence(at, problems);
        let arms = speaks_of(scene.file, self.arm, sentence.as_ref(), at, problems);
        let phase = phase(self.phase, scene.phases, at, problems);
        let (sentence, arms) = (sentence?, arms?);
        let asked = Asked::new(scene, self.that, format!("{at}/that"));
        problems.extend(asked.sentence(&sentence, &arms));
        Some((arms, phase?, sentence))
    }

    fn sentence(&self, at: &str, problems: &mut Problems) -> Option<Sentence> {
        let wrong = |error| problems.push(unreadable(format!("{at}/that"), error));
        grammar::parse(self.that).map_err(wrong).ok()
    }
}

/// The problem with a text that is no sentence.
pub(super) fn unreadable(at: String, error: GrammarError) -> Problem {
    let message = format!("{} (column {} of the sentence)", error.message, error.column);
    Problem::at_value(at, message).with_help(error.help)
}

/// The arms that an expectation speaks of: the one that it is about, or each. If every part of its sentence names
/// an arm, it is judged once, as one of the first.
pub(super) fn speaks_of(
    file: &File,
    arm: Option<&str>,
    sentence: Option<&Sentence>,
    at: &str,
    problems: &mut Problems,
) -> Option<Vec<usize>> {
    let names: Vec<_> = file.arms.keys().map(String::as_str).collect();
    let named = sentence.and_then(named_throughout);
    match (arm, named) {
        (Some(name), _) => Some(vec![resolve("arm", name, &names, format!("{at}/arm"), problems)?]),
        (None, _) if problems.lost.covers(&format!("{at}/arm")) => None,
        (None, Some(name)) => {
            Some(vec![resolve("arm", &name, &names, format!("{at}/that"), problems)?])
        }
        (None, None) => Some((0..names.len()).collect()),
    }
}

/// The first arm that a sentence names, if each of its parts names one.
fn named_throughout(sentence: &Sentence) -> Option<String> {
    let operands: Vec<_> = sentence
        .clauses()
        .flat_map(|clause| clause.expressions())
        .flat_map(|expression| expression.operands())
        .filter(|operand| !matches!(operand.what, What::Number(_)))
        .collect();
    let all = operands.iter().all(|operand| operand.arm.is_some());
    operands.first().filter(|_| all).and_then(|operand| operand.arm.clone())
}

pub(super) fn phase(
    phase: Option<&str>,
    phases: &[PhasePlan],
    at: &str,
    problems: &mut Problems,
) -> Option<Option<usize>> {
    let names: Vec<_> = phases.iter().map(|phase| phase.name.as_str()).collect();
    match phase {
        None => Some(None),
        Some(name) => resolve("phase", name, &names, format!("{at}/in"), problems).map(Some),
    }
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
  open: { controller: { unlimited: {} }, load: { closed: { clients: 1 } } }
  policy:
    limiter: { fifo: { levels: { global: { rate: 1MiB/s } } } }
    download: { tasks: 1, chunk: { fixed: 16KiB } }
backend: { servers: 1, service: { constant: 1ms } }
phases: [{ name: p, for: 1s }]
faults: [{ name: slow, arms: [law], backend: { hold: { scale: 2 } } }]
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
            ("open", "max(admission.in_flight) == 1", None),
            ("open", "max(controller.window) <= 2", Some("has no window")),
            ("open", "always controller.limit < 2", Some("has no window")),
            ("law", "max(controller.limit) of open <= 2", Some("has no window")),
            ("law", "overtakes == 0", Some("no series `limiter.overtakes`")),
            ("law", "max(limiter.wait) / fifo <= 3", Some("no series `limiter.wait`")),
            ("law", "jain(download.granted by waiter) >= 0.9", Some(waiters)),
            ("law", "zero_progress(20 rounds) == 0", Some(waiters)),
            ("policy", "time_to(real - quoted > 0s) <= 1s", Some("use it with max")),
            ("law", "mean(rpc.goodput) of law >= 0.5 * mean(oracle.capacity)", None),
            ("policy", "makespan of policy <= 1.5 * makespan of law", None),
            ("policy", "mean(oracle.capacity) >= 1/s", Some("no series `oracle.capacity`")),
            ("law", "max(controller.window) <= max(rpc.latency)", Some("cannot be compared")),
            ("law", "always rpc.goodput > 9ms", Some("(column 22 of the sentence)")),
            ("law", "max(controller.window) of la <= 2", Some("did you mean `law`?")),
            ("law", "always rpc.latency < 9ms", Some("reaches nothing at a time")),
            ("law", "slope(rpc.latency) < 9ms", Some("reaches nothing at a time")),
            ("law", "rate(rpc.goodput) < 9", Some("is no counter")),
            ("law", "'reaction(controller.window, fault=slow) < 1s'", None),
            ("law", "'reaction(controller.window, fault=slo) < 1s'", Some("did you mean `slow`?")),
            (
                "policy",
                "'reaction(limiter.tokens, fault=slow) < 1s'",
                Some("`slow` does not act on arm `policy`"),
            ),
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
