//! Where an expectation stands while its run goes on: a pure function of what is recorded so far.
//!
//! What is decided stays: either all that the expectation speaks of is recorded, or one value has broken or met its limit
//! for good. The rest is told as what it would be if the run ended now.

use super::Class;
use super::evaluate::Scope;
use super::grammar::{Aggregate, Claim, Clause, Comparison, Measure, Sentence, Watch, What, When};
use super::judge::{Finding, Judge, hung_on};
use crate::experiment::file::Severity;
use crate::experiment::plan::{Expectation, Plan};
use crate::watch::store::Store;
use serde::{Deserialize, Serialize};

/// How an expectation of an arm stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stand {
    /// Decided: it has come true.
    Pass,
    /// Decided: it has not come true, and the file says that this is only to be told.
    Warn,
    /// Decided: what was recorded cannot say.
    Inconclusive,
    /// Decided: it has not come true.
    Fail,
    /// Open: true of what is recorded so far.
    Holds,
    /// Open: not true of what is recorded so far.
    Lacks,
    /// Open: nothing that it speaks of is recorded yet.
    Waits,
    /// Open until the end: what is recorded so far says nothing about it, or it takes too long to ask.
    AtEnd,
}

/// An expectation of one arm as it stands.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Standing {
    /// The expectation's name.
    pub id: String,
    /// The arm.
    pub arm: String,
    /// The phase, if it speaks of one.
    #[serde(rename = "in", default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// The whole sentence.
    pub that: String,
    /// How it stands.
    pub stand: Stand,
    /// What was observed so far and what was expected, as people read it; empty where there is nothing to tell.
    pub text: String,
}

impl Standing {
    /// Of an expectation of which nothing is known yet.
    pub fn new(plan: &Plan, expectation: &Expectation, arm: usize) -> Self {
        let sentence = &expectation.sentence;
        let late = answers_late(sentence)
            || expectation.phase.is_none() && asks_for_the_final_level(sentence);
        Self {
            id: expectation.id.clone(),
            arm: plan.arms[arm].name.clone(),
            phase: expectation.phase.map(|phase| plan.phases[phase].name.clone()),
            that: expectation.sentence.to_string(),
            stand: if late { Stand::AtEnd } else { Stand::Waits },
            text: String::new(),
        }
    }

    /// Whether nothing will change it but the end of the run.
    pub const fn is_settled(&self) -> bool {
        !matches!(self.stand, Stand::Holds | Stand::Lacks | Stand::Waits)
    }

    /// Takes in what `store` has so far, of which `judge` judges; nothing, if it is settled.
    pub fn look(
        &mut self,
        judge: &Judge<'_>,
        store: &Store,
        expectation: &Expectation,
        arm: usize,
    ) {
        if self.is_settled() {
            return;
        }
        let scope = Scope { arm, phase: expectation.phase };
        let over = expectation.phase.is_some_and(|phase| store.phases.len() > phase + 1);
        let sentence = &expectation.sentence;
        if !over && (store.span(scope.phase).is_none() || asks_for_the_final_level(sentence)) {
            return;
        }
        let findings = judge.findings(scope, sentence);
        let decided = for_good(sentence, &findings);
        let finding = hung_on(findings);
        let decided = if over { Some(finding.class) } else { decided.map(class) };
        self.stand = match (decided, finding.class) {
            (Some(class), _) => decided_as(class, expectation.severity),
            (None, Class::Pass) => Stand::Holds,
            (None, Class::Inconclusive) => Stand::Waits,
            (None, _) => Stand::Lacks,
        };
        self.text = finding.text;
    }
}

const fn class(holds: bool) -> Class {
    if holds { Class::Pass } else { Class::Fail }
}

fn decided_as(class: Class, severity: Severity) -> Stand {
    match class {
        Class::Pass => Stand::Pass,
        Class::Fail if severity == Severity::Warn => Stand::Warn,
        Class::Fail | Class::Warn => Stand::Fail,
        Class::Inconclusive | Class::Error => Stand::Inconclusive,
    }
}

/// Whether it heeds no phase, so that it can be judged at the end only.
fn answers_late(sentence: &Sentence) -> bool {
    measures(sentence).any(|measure| matches!(measure, Measure::Response { .. }))
}

/// Whether it is about where a series ends up, which a part of the span does not say.
fn asks_for_the_final_level(sentence: &Sentence) -> bool {
    let final_level = |measure: &Measure| match measure {
        Measure::Settling { .. } => true,
        Measure::Aggregate { aggregate, .. } => *aggregate == Aggregate::Overshoot,
        _ => false,
    };
    measures(sentence).any(final_level)
}

fn measures(sentence: &Sentence) -> impl Iterator<Item = &Measure> {
    let operands = sentence.clauses().flat_map(Clause::expressions).flat_map(|e| e.operands());
    operands.filter_map(|operand| match &operand.what {
        What::Measure(measure) => Some(measure),
        What::Series(_) | What::Number(_) => None,
    })
}

/// What no later part of the run can change of the sentence; `None` while it can.
fn for_good(sentence: &Sentence, findings: &[Vec<Finding>]) -> Option<bool> {
    let alternatives = sentence.alternatives.iter().zip(findings).map(|(clauses, findings)| {
        let parts = clauses.iter().zip(findings).map(|(c, f)| clause_for_good(c, f));
        joined(&parts.collect::<Vec<_>>(), false)
    });
    joined(&alternatives.collect::<Vec<_>>(), true)
}

/// Kleene's logic of three values: one `deciding` part decides, else all must be decided. `and` is decided by what is
/// false, `or` by what is true.
fn joined(parts: &[Option<bool>], deciding: bool) -> Option<bool> {
    if parts.contains(&Some(deciding)) {
        return Some(deciding);
    }
    parts.iter().all(Option::is_some).then_some(!deciding)
}

fn clause_for_good(clause: &Clause, finding: &Finding) -> Option<bool> {
    let holds = match finding.class {
        Class::Pass => true,
        Class::Fail => false,
        Class::Warn | Class::Inconclusive | Class::Error => return None,
    };
    let decides = match clause {
        Clause::Claim(claim) => claim_decides(claim, finding, holds),
        Clause::Watch(watch) => watch_decides(watch, holds),
    };
    decides.then_some(holds)
}

/// Whether what a claim has come to is what it stays: a maximum only grows, a minimum only falls, and what has happened
/// has happened.
fn claim_decides(claim: &Claim, finding: &Finding, holds: bool) -> bool {
    let (Some(measure), Some(comparison)) = (claim.plain(), claim.comparison()) else {
        return false;
    };
    let is_upper = matches!(comparison, Comparison::Less | Comparison::LessOrEqual);
    let is_lower = matches!(comparison, Comparison::Greater | Comparison::GreaterOrEqual);
    match measure {
        Measure::Aggregate { aggregate: Aggregate::Max | Aggregate::Count, .. }
        | Measure::ZeroProgress { .. } => {
            if holds {
                is_lower
            } else {
                is_upper
            }
        }
        Measure::Aggregate { aggregate: Aggregate::Min, .. } => {
            if holds {
                is_upper
            } else {
                is_lower
            }
        }
        Measure::TimeTo { .. } | Measure::Convergence { .. } => finding.observed.is_some(),
        _ => false,
    }
}

/// Of every instant so far, unless it is held against a measure of all of them.
fn watch_decides(watch: &Watch, holds: bool) -> bool {
    let expressions = [&watch.condition.left, &watch.condition.right];
    let is_measure = |what: &What| matches!(what, What::Measure(_));
    if expressions.iter().flat_map(|e| e.operands()).any(|operand| is_measure(&operand.what)) {
        return false;
    }
    match watch.when {
        When::Always | When::Never => !holds,
        When::Eventually => holds,
    }
}

#[cfg(test)]
mod tests;
