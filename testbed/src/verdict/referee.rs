//! Gates and aborts: what ends a run before its last phase.
//!
//! The referee watches what the recorder has so far. It changes no decision of the run; all it can do is end it,
//! by the way on which signals come.

use super::evaluate::{Evidence, Scope};
use super::grammar::{Condition, What};
use super::judge::Judge;
use super::oracle::Oracle;
use super::{Class, Instant};
use crate::drive::interrupt::Interrupt;
use crate::drive::world::Signal;
use crate::experiment::plan::{Abort, Expectation, Plan};
use crate::watch::recorder::Recorder;
use crate::watch::store::{ArmStore, Store};
use serde::Serialize;
use std::io::{self, Write};
use testbed_core::event::Event;
use testbed_core::observe::Observer;
use testbed_core::time::Time;

/// Why a run ended before its last phase.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ruling {
    /// `gate` or `abort`.
    pub by: &'static str,
    /// What becomes of the run.
    pub verdict: Class,
    /// When it was ended.
    pub at: Instant,
    /// The arm that it was about.
    pub arm: String,
    /// The sentence or condition.
    pub that: String,
    /// What was observed, as people read it.
    pub text: String,
}

/// An abort, followed in one arm.
#[derive(Debug)]
struct Alarm<'p> {
    abort: &'p Abort,
    arm: usize,
    /// Since when its condition has been true.
    since: Option<Time>,
}

/// A recorder with somebody who looks over its shoulder.
pub struct Referee<'p, W: Write> {
    plan: &'p Plan,
    recorder: Recorder<W>,
    interrupt: Interrupt,
    oracles: Vec<Oracle>,
    alarms: Vec<Alarm<'p>>,
    ruling: Option<Ruling>,
}

impl<'p, W: Write> Referee<'p, W> {
    /// A referee who ends the run of `plan` through `interrupt`.
    pub fn new(plan: &'p Plan, recorder: Recorder<W>, interrupt: Interrupt) -> Self {
        let of =
            |abort: &'p Abort| abort.arms.iter().map(move |&arm| Alarm { abort, arm, since: None });
        Self {
            alarms: plan.aborts.iter().flat_map(of).collect(),
            oracles: (0..plan.arms.len()).map(|arm| Oracle::new(plan, arm)).collect(),
            ruling: None,
            plan,
            recorder,
            interrupt,
        }
    }

    /// What was recorded so far.
    pub const fn store(&self) -> &Store {
        self.recorder.store()
    }

    /// What was recorded, and why the run ended if it did not by itself.
    ///
    /// # Errors
    /// The first failure to write a row, if any.
    pub fn finish(self) -> io::Result<(Store, Option<Ruling>)> {
        Ok((self.recorder.finish()?, self.ruling))
    }

    /// Whether the gates of a phase that has ended are open.
    fn gates(&self, now: Time, phase: usize) -> Option<Ruling> {
        let mut gates = self.plan.gates.iter().filter(|gate| gate.phase == Some(phase)).peekable();
        gates.peek()?;
        let judge = Judge::new(self.plan, Evidence::new(self.plan, self.recorder.store()));
        gates.find_map(|gate| self.gate(&judge, now, gate))
    }

    fn gate(&self, judge: &Judge<'_>, now: Time, gate: &Expectation) -> Option<Ruling> {
        gate.arms.iter().find_map(|&arm| {
            let finding = judge.judge(Scope { arm, phase: gate.phase }, &gate.sentence);
            let text = format!("{} = {}", finding.measure, finding.text);
            let shut = finding.class != Class::Pass;
            let that = gate.sentence.to_string();
            shut.then(|| self.ruling("gate", Class::Inconclusive, now, arm, that, text))
        })
    }

    /// The first abort whose condition has been true for as long as told.
    fn aborts(&mut self, now: Time) -> Option<Ruling> {
        let store = self.recorder.store();
        let mut due = None;
        for alarm in &mut self.alarms {
            let Condition { lasting, .. } = alarm.abort.condition;
            let holds = holds_now(self.plan, store, &self.oracles, alarm, now);
            alarm.since = holds.then(|| alarm.since.unwrap_or(now));
            if due.is_none() && alarm.since.is_some_and(|since| now.since(since) >= lasting) {
                due = Some((alarm.abort, alarm.arm));
            }
        }
        let (abort, arm) = due?;
        let that = abort.condition.to_string();
        let text = format!("true at {now}");
        Some(self.ruling("abort", abort.ends_as.into(), now, arm, that, text))
    }

    fn ruling(
        &self,
        by: &'static str,
        verdict: Class,
        now: Time,
        arm: usize,
        that: String,
        text: String,
    ) -> Ruling {
        let at = Instant { t_ns: now.as_nanos(), phase: self.plan.phase_at(now) };
        Ruling { by, verdict, at, arm: self.plan.arms[arm].name.clone(), that, text }
    }
}

/// Whether the condition of an alarm is true of the latest values. One that is not known yet makes it false.
fn holds_now(plan: &Plan, store: &Store, oracles: &[Oracle], alarm: &Alarm<'_>, now: Time) -> bool {
    let Condition { left, right, .. } = &alarm.abort.condition;
    let operands = [left.operands(), right.operands()].concat();
    let values = operands.into_iter().map(|operand| match &operand.what {
        What::Number(number) => Some(number.value),
        What::Series(series) => {
            let named = operand.arm.as_ref();
            let arm = named.and_then(|name| plan.arms.iter().position(|arm| arm.name == *name));
            let arm = arm.unwrap_or(alarm.arm);
            latest(&store.arms[arm], series).or_else(|| oracles[arm].at(series, now))
        }
        What::Measure(_) => None,
    });
    let values: Option<Vec<_>> = values.collect();
    values.is_some_and(|values| alarm.abort.condition.holds(&mut values.into_iter()))
}

fn latest(arm: &ArmStore, series: &str) -> Option<f64> {
    let interval = || arm.intervals.get(series)?.items.last().map(|interval| interval.mean);
    let step = || arm.steps.get(series)?.points.last().map(|(_, value)| *value);
    interval().or_else(step)
}

impl<W: Write> Observer for Referee<'_, W> {
    fn on_event(&mut self, now: Time, event: &Event<'_>) {
        self.recorder.on_event(now, event);
        if self.ruling.is_some() {
            return;
        }
        self.ruling = match *event {
            Event::Phase { index, .. } if index > 0 => self.gates(now, index - 1),
            Event::Tick if !self.alarms.is_empty() => self.aborts(now),
            _ => None,
        };
        if self.ruling.is_some() {
            self.interrupt.raise(Signal::Halt);
        }
    }
}
