//! One expectation of one arm: what was observed, held against what was expected.

mod breach;
mod claim;

use super::Class;
use super::evaluate::{Evidence, Scope, Watched, watch};
use super::grammar::{Clause, Sentence, Watch, When, Writing};
use crate::experiment::plan::Plan;
use testbed_core::time::{Nanos, Time};
use testbed_core::vitals::Unit;

/// What became of a sentence, or of one of its clauses.
#[derive(Clone, PartialEq, Debug)]
pub struct Finding {
    /// How it came out.
    pub class: Class,
    /// What was measured, as the sentence has it.
    pub measure: String,
    /// The value, in base units; none if there is no number.
    pub observed: Option<f64>,
    /// What there is instead of a number.
    pub remark: Option<String>,
    /// What it was held against, in base units.
    pub limit: String,
    /// How far within the limit the value is, in base units; below 0 beyond it.
    pub margin: Option<f64>,
    /// When the limit was first broken, if it was and there is such an instant.
    pub breach: Option<Time>,
    /// What was observed and what was expected, as people read it.
    pub text: String,
}

/// Who judges the sentences of a run.
#[derive(Clone, Debug)]
pub struct Judge<'a> {
    plan: &'a Plan,
    evidence: Evidence<'a>,
}

impl<'a> Judge<'a> {
    /// A judge of what a run of `plan` recorded.
    pub const fn new(plan: &'a Plan, evidence: Evidence<'a>) -> Self {
        Self { plan, evidence }
    }

    /// Judges a sentence: the best of its alternatives, each of them as good as the worst of its clauses. What is
    /// told is the clause on which it hung.
    pub fn judge(&self, scope: Scope, sentence: &Sentence) -> Finding {
        hung_on(self.findings(scope, sentence))
    }

    /// What became of each clause of each alternative.
    pub(super) fn findings(&self, scope: Scope, sentence: &Sentence) -> Vec<Vec<Finding>> {
        let of = |clauses: &Vec<Clause>| clauses.iter().map(|c| self.clause(scope, c)).collect();
        sentence.alternatives.iter().map(of).collect()
    }

    fn clause(&self, scope: Scope, clause: &Clause) -> Finding {
        match clause {
            Clause::Claim(claim) => self.claim(scope, claim),
            Clause::Watch(watch) => self.watch(scope, watch),
        }
    }

    fn watch(&self, scope: Scope, Watch { when, condition }: &Watch) -> Finding {
        let limit = |writing: Writing| match condition.lasting {
            Nanos::ZERO => when.to_string(),
            lasting => format!("{when} for {}", writing.text(lasting.as_secs_f64())),
        };
        let (measure, usual) = (condition.to_string(), Writing::usual(Unit::Seconds));
        let watched = match watch(&self.evidence, scope, condition) {
            Ok(watched) => watched,
            Err(unknown) => return Finding::nothing(measure, limit(usual), unknown.0),
        };
        let (observed, margin) = lengths(*when, &watched, condition.lasting);
        let holds = match when {
            When::Always => watched.broken.is_none(),
            When::Never => watched.lasted.is_none(),
            When::Eventually => watched.lasted.is_some(),
        };
        let breach = match when {
            When::Always => watched.broken,
            When::Never => watched.lasted,
            When::Eventually => self.evidence.store.span(scope.phase).map(|span| span.end),
        };
        let longest = watched.longest.unwrap_or(Nanos::ZERO).as_secs_f64();
        let apart = Writing::apart(Unit::Seconds, longest, &[condition.lasting.as_secs_f64()]);
        let text = format!("{}, expected {}", in_words(&watched, apart), limit(apart));
        Finding {
            class: if holds { Class::Pass } else { Class::Fail },
            observed: Some(observed),
            remark: None,
            margin: Some(margin),
            breach: breach.filter(|_| !holds),
            measure,
            limit: limit(usual),
            text,
        }
    }
}

/// The clause on which a sentence hung, of those of all its alternatives.
pub(super) fn hung_on(findings: Vec<Vec<Finding>>) -> Finding {
    let worst = |clauses: Vec<Finding>| {
        clauses
            .into_iter()
            .reduce(|worst, next| if next.class > worst.class { next } else { worst })
    };
    let alternatives = findings.into_iter().filter_map(worst);
    alternatives
        .reduce(|best, next| if next.class < best.class { next } else { best })
        .expect("a sentence has a clause")
}

/// The seconds that count, and how far they are within the limit.
fn lengths(when: When, watched: &Watched, lasting: Nanos) -> (f64, f64) {
    let longest = watched.longest.unwrap_or(Nanos::ZERO).as_secs_f64();
    let without = watched.without.as_secs_f64();
    match when {
        When::Always => (without, 0.0 - without),
        When::Never => (longest, lasting.as_secs_f64() - longest),
        When::Eventually => (longest, longest - lasting.as_secs_f64()),
    }
}

fn in_words(watched: &Watched, writing: Writing) -> String {
    let text = |length: Nanos| writing.text(length.as_secs_f64());
    match watched.longest {
        None => "never true".to_owned(),
        Some(_) if watched.broken.is_none() => "true at every instant".to_owned(),
        Some(longest) => {
            let (longest, without) = (text(longest), text(watched.without));
            format!("true for {longest} at a time, false for {without} in all")
        }
    }
}

impl Finding {
    /// That nothing was recorded which could answer.
    fn nothing(measure: String, limit: String, why: String) -> Self {
        Self {
            class: Class::Inconclusive,
            observed: None,
            remark: Some(why.clone()),
            margin: None,
            breach: None,
            text: format!("{why}, expected {limit}"),
            measure,
            limit,
        }
    }
}
