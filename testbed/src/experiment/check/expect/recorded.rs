//! Whether arms record what a sentence asks of them.

use crate::experiment::check::Scene;
use crate::experiment::plan::ArmPlan;
use crate::experiment::problem::{Problem, did_you_mean};
use crate::verdict::grammar::{
    self, Aggregate, Clause, Expression, Measure, Operand, Sentence, What,
};
use crate::verdict::oracle;
use crate::verdict::units::{self, Dimension, Mismatch};
use crate::watch::series::{self, Kind};
use testbed_core::vitals::Unit;

/// A sentence, and whom it is asked of.
pub(in crate::experiment::check) struct Asked<'a> {
    /// The sentence as it is written.
    text: &'a str,
    /// Where it stands in the file.
    at: String,
    scene: &'a Scene<'a>,
    /// Whether it may be asked for the window of a law that has none.
    of_any_law: bool,
}

impl<'a> Asked<'a> {
    /// A sentence of a file, at this place.
    pub(in crate::experiment::check) fn new(
        scene: &'a Scene<'a>,
        text: &'a str,
        at: String,
    ) -> Self {
        Self { text, at, scene, of_any_law: false }
    }

    /// The same, of whatever law: one number that is taken of many of them, and is none for some.
    pub(in crate::experiment::check) fn of_any_law(self) -> Self {
        Self { of_any_law: true, ..self }
    }

    /// The first problem with asking these arms, if there is one.
    pub(super) fn sentence(&self, sentence: &Sentence, speaks_of: &[usize]) -> Option<Problem> {
        let mut arms = self.read(speaks_of);
        arms.find_map(|arm| sentence.clauses().find_map(|clause| self.clause(clause, arm)))
    }

    /// The first problem with asking these arms for a clause.
    pub(in crate::experiment::check) fn clauses(
        &self,
        clause: &Clause,
        speaks_of: &[usize],
    ) -> Option<Problem> {
        let mut arms = self.read(speaks_of);
        arms.find_map(|arm| self.clause(clause, arm))
    }

    /// The unit of what an expression comes to, asked of this arm.
    ///
    /// # Errors
    /// The first problem with asking it.
    pub(in crate::experiment::check) fn expression(
        &self,
        expression: &Expression,
        arm: &ArmPlan,
    ) -> Result<Unit, Problem> {
        let mut operands = expression.operands().into_iter();
        if let Some(problem) = operands.find_map(|operand| self.operand(operand, arm)) {
            return Err(problem);
        }
        let dimension =
            units::check_expression(expression, &|name, series| self.unit_of(arm, name, series));
        dimension.map(Dimension::unit).map_err(|mismatch| self.mismatched(&mismatch))
    }

    /// Those of the arms that could be read.
    fn read(&self, speaks_of: &[usize]) -> impl Iterator<Item = &ArmPlan> {
        speaks_of.iter().filter_map(|arm| self.scene.arms.get(*arm)?.as_ref())
    }

    fn clause(&self, clause: &Clause, arm: &ArmPlan) -> Option<Problem> {
        let expressions = clause.expressions();
        let operands = expressions.iter().flat_map(|expression| expression.operands());
        let problem = operands.into_iter().find_map(|operand| self.operand(operand, arm));
        problem.or_else(|| self.units(clause, arm))
    }

    fn operand(&self, operand: &Operand, arm: &ArmPlan) -> Option<Problem> {
        let arm = match &operand.arm {
            None => arm,
            Some(name) => match self.named(name) {
                Some(arm) => arm,
                None if self.scene.file.arms.contains_key(name) => return None,
                None => return Some(self.no_arm(name)),
            },
        };
        match &operand.what {
            What::Number(_) => None,
            What::Series(series) => self.series(series, Use::Instants, arm),
            What::Measure(measure) => self.measure(measure, arm),
        }
    }

    fn measure(&self, measure: &Measure, arm: &ArmPlan) -> Option<Problem> {
        match measure {
            Measure::Aggregate { aggregate, series } => {
                self.series(series, Use::of(*aggregate), arm)
            }
            Measure::TimeTo { series, .. } | Measure::Settling { series, .. } => {
                self.series(series, Use::Instants, arm)
            }
            Measure::Response { series, fault, .. } => {
                self.series(series, Use::Instants, arm).or_else(|| self.fault(fault, arm))
            }
            Measure::Error { series, target } | Measure::Convergence { series, target, .. } => {
                let mut both = [series, target].into_iter();
                both.find_map(|series| self.series(series, Use::Instants, arm))
            }
            Measure::Increase { series, while_series, .. } => self
                .series(series, Use::Changes, arm)
                .or_else(|| self.series(series, Use::Instants, arm))
                .or_else(|| self.series(while_series, Use::Instants, arm)),
            Measure::OverFifo(_) => self.series(grammar::WAIT, Use::Values, arm),
            Measure::Jain | Measure::ZeroProgress { .. } => {
                of_waiters(measure, arm, self.scene.arms, &self.at)
            }
        }
    }

    /// The problem with asking `arm` for a series.
    fn series(&self, name: &str, wanted: Use, arm: &ArmPlan) -> Option<Problem> {
        let Some((_, kind)) = oracle::find(name, &arm.work) else {
            return Some(unknown(name, arm, &self.at));
        };
        if !self.of_any_law && series::lacks_window(name, &arm.work) {
            return Some(no_window(name, arm, &self.at));
        }
        let (message, help) = match (kind, wanted) {
            (Kind::Distribution, Use::Instants) => (
                format!("`{name}` has one value a request; it reaches nothing at a time"),
                "use it with max, min, mean, last or a percentile",
            ),
            (Kind::Intervals, Use::Changes) => (
                format!("`{name}` is no counter; `rate` would say how fast it changes"),
                "use `mean`, or `slope` for how fast it changes",
            ),
            _ => return None,
        };
        Some(Problem::at_value(&self.at, message).with_help(help))
    }

    fn fault(&self, name: &str, arm: &ArmPlan) -> Option<Problem> {
        let names = || self.scene.file.faults.iter().map(|fault| fault.name.as_str());
        let mut faults = self.scene.faults.iter().map(|(_, fault)| fault);
        let Some(fault) = faults.find(|fault| fault.name == name) else {
            if names().any(|known| known == name) {
                return None;
            }
            let hint = did_you_mean(name, names());
            let help = format!("faults here: {}", names().collect::<Vec<_>>().join(", "));
            let message = format!("there is no fault `{name}`{hint}");
            return Some(Problem::at_value(&self.at, message).with_help(help));
        };
        let acts = self.read(&fault.arms).any(|other| other.name == arm.name);
        let message = format!("fault `{name}` does not act on arm `{}`", arm.name);
        let help = "name another arm with `arm:` or behind it: of double";
        (!acts).then(|| Problem::at_value(&self.at, message).with_help(help))
    }

    fn units(&self, clause: &Clause, arm: &ArmPlan) -> Option<Problem> {
        let unit_of = |name: Option<&str>, series: &str| self.unit_of(arm, name, series);
        units::check_clause(clause, &unit_of).err().map(|mismatch| self.mismatched(&mismatch))
    }

    /// The unit of a series of the arm of this name; of `arm`, if there is none.
    fn unit_of(&self, arm: &ArmPlan, name: Option<&str>, series: &str) -> Option<Unit> {
        let arm = name.map_or(Some(arm), |name| self.named(name))?;
        oracle::find(series, &arm.work).map(|(unit, _)| unit)
    }

    fn mismatched(&self, mismatch: &Mismatch) -> Problem {
        let column = grammar::column(self.text, mismatch.offset);
        let message = format!("{} (column {column} of the sentence)", mismatch.message);
        let help = "give both sides the same unit, such as ms and s, or /s and /m";
        Problem::at_value(&self.at, message).with_help(help)
    }

    fn named(&self, name: &str) -> Option<&ArmPlan> {
        self.scene.arms.iter().flatten().find(|arm| arm.name == name)
    }

    fn no_arm(&self, name: &str) -> Problem {
        let names: Vec<_> = self.scene.file.arms.keys().map(String::as_str).collect();
        let hint = did_you_mean(name, names.iter().copied());
        let problem = Problem::at_value(&self.at, format!("there is no arm `{name}`{hint}"));
        problem.with_help(format!("arms here: {}", names.join(", ")))
    }
}

/// What a series is asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    /// Its values, whenever they were.
    Values,
    /// Its value at instants.
    Instants,
    /// How it changes from value to value.
    Changes,
}

impl Use {
    const fn of(aggregate: Aggregate) -> Self {
        match aggregate {
            Aggregate::Slope | Aggregate::Overshoot | Aggregate::Oscillation => Self::Instants,
            Aggregate::Rate => Self::Changes,
            _ => Self::Values,
        }
    }
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

fn no_window(name: &str, arm: &ArmPlan, at: &str) -> Problem {
    let (what, law) = arm.work.law();
    let message = format!("arm `{}` ({what} `{law}`) has no window, and so no `{name}`", arm.name);
    let help = "ask for what it lets through, such as admission.in_flight, or name another arm";
    Problem::at_value(at, message).with_help(help)
}

fn unknown(name: &str, arm: &ArmPlan, at: &str) -> Problem {
    let names = series::names(&arm.work);
    let hint = did_you_mean(name, names.iter().map(String::as_str));
    let (what, law) = arm.work.law();
    let message = format!("arm `{}` ({what} `{law}`) has no series `{name}`{hint}", arm.name);
    Problem::at_value(at, message).with_help("`windtunnel list series` names them all")
}
