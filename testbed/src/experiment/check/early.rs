//! What the schema cannot see of gates and aborts.

use super::expect::{Asked, Said, speaks_of, unreadable};
use super::{Problems, Scene};
use crate::experiment::file::{AbortFile, OverSeeds, Severity};
use crate::experiment::plan::{Abort, Expectation};
use crate::experiment::problem::Problem;
use crate::verdict::grammar::{self, Clause, Condition, Watch, What, When};

/// Resolves the gates of a file.
pub(super) fn gates(scene: &Scene<'_>, problems: &mut Problems) -> Vec<Expectation> {
    let mut gates = Vec::new();
    for (index, gate) in scene.file.gate.iter().enumerate() {
        let at = format!("/gate/{index}");
        let (arm, phase) = (gate.arm.as_deref(), Some(gate.phase.as_str()));
        let said = Said { that: &gate.that, arm, phase };
        let Some((arms, Some(phase), sentence)) = said.resolve(scene, &at, problems) else {
            continue;
        };
        problems.extend(untimely(scene, phase, format!("{at}/in")));
        let id = format!("gate {}", index + 1);
        let (severity, over_seeds) = (Severity::Fail, OverSeeds::default());
        gates.push(Expectation { id, arms, phase: Some(phase), severity, over_seeds, sentence });
    }
    gates
}

/// The problem with a gate at the end of this phase.
fn untimely(scene: &Scene<'_>, phase: usize, at: String) -> Option<Problem> {
    let plan = &scene.phases[phase];
    if phase + 1 == scene.phases.len() {
        let message =
            format!("nothing comes after `{}` that a gate could keep from happening", plan.name);
        return Some(Problem::at_value(at, message).with_help("write it under `expect`"));
    }
    let earlier =
        scene.faults.iter().map(|(_, fault)| fault).find(|fault| fault.begin < plan.end)?;
    let message = format!("a gate comes before the first fault; `{}` begins earlier", earlier.name);
    let help = "name a phase that ends before it, or begin with one";
    Some(Problem::at_value(at, message).with_help(help))
}

/// Resolves the aborts of a file.
pub(super) fn aborts(scene: &Scene<'_>, problems: &mut Problems) -> Vec<Abort> {
    let files = scene.file.abort.iter().enumerate();
    files.filter_map(|(index, file)| abort(scene, index, file, problems)).collect()
}

fn abort(
    scene: &Scene<'_>,
    index: usize,
    file: &AbortFile,
    problems: &mut Problems,
) -> Option<Abort> {
    let (at, when) = (format!("/abort/{index}"), format!("/abort/{index}/when"));
    let wrong = |error| problems.push(unreadable(when.clone(), error));
    let condition = grammar::condition(&file.when).map_err(wrong).ok();
    let arms = speaks_of(scene.file, file.arm.as_deref(), None, &at, problems);
    let (condition, arms) = (condition?, arms?);
    problems.extend(measured(&condition, &when));
    let watch = Watch { when: When::Eventually, condition: condition.clone() };
    let asked = Asked::new(scene, &file.when, when);
    problems.extend(asked.clauses(&Clause::Watch(watch), &arms));
    Some(Abort { arms, condition, ends_as: file.ends_as })
}

/// The problem with a condition that asks for more than an instant can tell.
fn measured(condition: &Condition, at: &str) -> Option<Problem> {
    let operands = [condition.left.operands(), condition.right.operands()].concat();
    let measure = operands.into_iter().find(|operand| matches!(operand.what, What::Measure(_)))?;
    let message = format!("`{measure}` is known at the end only; an abort compares series");
    Some(Problem::at_value(at, message).with_help("such as: rpc.goodput < 100/s for 10s"))
}
