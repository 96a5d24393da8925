//! `events.jsonl`: every update of every law, phases, faults, regimes and transfers.

use super::PublishError;
use super::points::Points;
use super::source::{Source, Ticks};
use crate::experiment::plan::{ArmPlan, Plan};
use crate::run;
use crate::watch::names::{self, Metric};
use crate::watch::prometheus::MAX_NAMED;
use crate::watch::regime::Regime;
use serde::Deserialize;
use std::collections::BTreeMap;
use testbed_core::download::Reason;
use testbed_core::time::{Nanos, Time};

/// Stores keep one value of a series for a millisecond. An update takes the next that is free.
const MILLISECOND: Nanos = Nanos::from_millis(1);
/// By no more than this is an update moved; beyond it, it replaces the one before.
const MOVED_AT_MOST: Nanos = Nanos::from_millis(100);

/// What `events.jsonl` gives.
#[derive(Debug)]
pub(super) struct FromEvents {
    pub(super) points: Points,
    /// How many updates there are.
    pub(super) updates: u64,
    /// How many of them are told of a later millisecond, since their own was taken.
    pub(super) moved: u64,
    /// The waiters of each arm in the order in which they first had a transfer.
    pub(super) opened: BTreeMap<String, Vec<String>>,
    /// The instant of the last event.
    pub(super) last: Time,
    /// Lines that could not be read.
    pub(super) unread: u64,
}

/// A line, as far as it is published.
#[derive(Deserialize)]
struct Line {
    t_ns: u64,
    #[serde(flatten)]
    what: What,
}

#[derive(Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum What {
    Phase {
        phase: String,
    },
    Fault {
        fault: String,
        on: bool,
    },
    Update(Update),
    Transfer {
        arm: String,
        waiter: String,
        change: String,
        reason: Option<String>,
    },
    Regime {
        arm: String,
        regime: String,
    },
    End,
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Update {
    arm: String,
    // Null of a law that has no window.
    new: Option<f64>,
    limit: Option<u64>,
    direction: String,
    reason: String,
    // What is no number is written as null.
    vitals: BTreeMap<String, Option<f64>>,
}

/// Reads it, while the sampling instants go by.
pub(super) fn read(source: &Source, ticks: &[Time]) -> Result<FromEvents, PublishError> {
    let (mut fold, mut ticks) = (Fold::new(&source.plan), Ticks::new(ticks));
    let unread = source.lines("events.jsonl", |line| {
        fold.from.points.room()?;
        let Ok(Line { t_ns, what }) = serde_json::from_str(line) else { return Ok(false) };
        let at = Time::from_nanos(t_ns);
        while let Some(tick) = ticks.before(at) {
            fold.from.points.sample(tick)?;
        }
        fold.from.last = fold.from.last.max(at);
        Ok(fold.event(at, what))
    })?;
    while let Some(tick) = ticks.before(Time::NEVER) {
        fold.from.points.sample(tick)?;
    }
    fold.from.unread = unread;
    Ok(fold.from)
}

struct Fold<'a> {
    plan: &'a Plan,
    deadlines: Vec<Nanos>,
    /// For each arm, when its last update is said to have been.
    updated: BTreeMap<String, Time>,
    from: FromEvents,
}

impl<'a> Fold<'a> {
    fn new(plan: &'a Plan) -> Self {
        let (points, opened, last) = (Points::default(), BTreeMap::new(), Time::ZERO);
        let from = FromEvents { points, updates: 0, moved: 0, opened, last, unread: 0 };
        let (deadlines, updated) = (run::labels(plan).deadlines, BTreeMap::new());
        let mut fold = Self { plan, deadlines, updated, from };
        fold.phase(Time::ZERO, None);
        for fault in &plan.faults {
            fold.state(Time::ZERO, &names::FAULT_ACTIVE, &[&fault.name], false);
            for to in ["on", "off"] {
                fold.count(&names::FAULT_TRANSITIONS, &[&fault.name, to], 0.0);
            }
        }
        plan.arms.iter().for_each(|arm| fold.begin(arm));
        fold
    }

    /// What is there of an arm from the start.
    fn begin(&mut self, arm: &ArmPlan) {
        self.regime(Time::ZERO, &arm.name, Regime::default().name());
        if let Some(calls) = arm.calls() {
            if calls.controller.has_window() {
                self.from.points.histogram(&names::UPDATE_WINDOW, &[&arm.name], &self.deadlines);
            }
        } else {
            for how in ["done", "failed", Reason::LowSpeed.name(), Reason::Broken.name()] {
                self.count(&names::TRANSFER_ENDS, &[&arm.name, how], 0.0);
            }
        }
    }

    /// An event; whether it speaks of what the plan has.
    fn event(&mut self, at: Time, what: What) -> bool {
        let known = self.knows(&what);
        match what {
            _ if !known => {}
            What::Phase { phase } => self.phase(at, Some(&phase)),
            What::Fault { fault, on } => self.fault(at, &fault, on),
            What::Regime { arm, regime } => self.regime(at, &arm, &regime),
            What::Update(update) => self.update(at, &update),
            What::Transfer { arm, waiter, change, reason } => {
                self.transfer(arm, waiter, &change, reason.as_deref());
            }
            What::End => self.phase(at, None),
            What::Other => {}
        }
        known
    }

    fn knows(&self, what: &What) -> bool {
        let arm = |name: &str| self.plan.arms.iter().find(|arm| arm.name == name);
        match what {
            What::Phase { phase } => self.plan.phases.iter().any(|known| known.name == *phase),
            What::Fault { fault, .. } => self.plan.faults.iter().any(|known| known.name == *fault),
            What::Regime { arm: name, .. } => arm(name).is_some(),
            What::Update(update) => arm(&update.arm).is_some_and(|arm| arm.calls().is_some()),
            What::Transfer { arm: name, .. } => {
                arm(name).is_some_and(|arm| arm.downloads().is_some())
            }
            What::End | What::Other => true,
        }
    }

    /// A phase begins, or none is under way any more.
    fn phase(&mut self, at: Time, active: Option<&str>) {
        for phase in &self.plan.phases {
            let active = active == Some(&phase.name);
            self.state(at, &names::PHASE_ACTIVE, &[&phase.name], active);
        }
        if let Some(name) = active {
            let id = self.from.points.sampled(&names::PHASE_START, &[name]);
            self.from.points.set(id, at, at.as_secs_f64());
        }
    }

    fn fault(&mut self, at: Time, fault: &str, on: bool) {
        self.state(at, &names::FAULT_ACTIVE, &[fault], on);
        let to = if on { "on" } else { "off" };
        self.count(&names::FAULT_TRANSITIONS, &[fault, to], 1.0);
    }

    fn regime(&mut self, at: Time, arm: &str, name: &str) {
        for regime in Regime::ALL {
            let is = regime.name() == name;
            self.state(at, &names::REGIME, &[arm, regime.name()], is);
        }
    }

    fn update(&mut self, at: Time, update: &Update) {
        let arm = update.arm.as_str();
        let at = self.free_millisecond(at, arm);
        if let (Some(window), Some(limit)) = (update.new, update.limit) {
            self.every(at, &names::WINDOW, &[arm], window);
            self.every(at, &names::LIMIT, &[arm], limit as f64);
            self.observe(&names::UPDATE_WINDOW, arm, window);
        }
        for (name, value) in &update.vitals {
            let Some(value) = *value else { continue };
            self.every(at, &names::VITAL, &[arm, name], value);
            if let Some((metric, kind)) = names::of_vital(name) {
                let labels: Vec<_> = [arm].into_iter().chain(kind).collect();
                self.every(at, &metric, &labels, value);
                if metric == names::GRADIENT {
                    self.observe(&names::UPDATE_GRADIENT, arm, value);
                }
            }
        }
        self.count(&names::UPDATES, &[arm, &update.direction, &update.reason], 1.0);
        self.from.updates += 1;
    }

    /// When an update of an arm is said to have been: then, or as soon as no other of the arm was.
    fn free_millisecond(&mut self, at: Time, arm: &str) -> Time {
        let last = self.updated.get(arm).copied();
        let free = last.map_or(at, |last| at.max(last.after(MILLISECOND)));
        self.from.moved += u64::from(free > at);
        let free = if free.since(at) > MOVED_AT_MOST { last.unwrap_or(at) } else { free };
        self.updated.insert(arm.to_owned(), free);
        free
    }

    fn transfer(&mut self, arm: String, waiter: String, change: &str, reason: Option<&str>) {
        match (change, reason) {
            ("opened", _) => {
                let opened = self.from.opened.entry(arm).or_default();
                if opened.len() < MAX_NAMED && !opened.contains(&waiter) {
                    opened.push(waiter);
                }
            }
            ("done" | "failed", _) => self.count(&names::TRANSFER_ENDS, &[&arm, change], 1.0),
            (_, Some(reason)) => self.count(&names::TRANSFER_ENDS, &[&arm, reason], 1.0),
            _ => {}
        }
    }

    fn state(&mut self, at: Time, metric: &Metric, labels: &[&str], on: bool) {
        let id = self.from.points.sampled(metric, labels);
        self.from.points.set(id, at, f64::from(u8::from(on)));
    }

    fn every(&mut self, at: Time, metric: &Metric, labels: &[&str], value: f64) {
        let id = self.from.points.every(metric, labels);
        self.from.points.set(id, at, value);
    }

    fn count(&mut self, metric: &Metric, labels: &[&str], more: f64) {
        let id = self.from.points.sampled(metric, labels);
        self.from.points.add(id, more);
    }

    fn observe(&mut self, metric: &Metric, arm: &str, value: f64) {
        let id = self.from.points.histogram(metric, &[arm], &self.deadlines);
        self.from.points.observe(id, value, 1);
    }
}
