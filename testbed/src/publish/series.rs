//! `series.csv`: what is summed up or counted over sampling intervals, and the sampling instants
//! themselves.

use super::PublishError;
use super::points::{Id, Points};
use super::source::{Source, labels};
use crate::experiment::plan::{Action, Plan, Work};
use crate::watch::names::{self, Metric};
use crate::watch::series::{self, Counted, Faulted, Kind, LIMITER, MAKESPAN, Queueing, Sampled};
use std::collections::{BTreeMap, BTreeSet};
use testbed_core::limit;
use testbed_core::queue::Rejection;
use testbed_core::request::Outcome;
use testbed_core::time::Time;
use testbed_core::wait::WaitEnd;

/// What `series.csv` gives.
#[derive(Debug)]
pub(super) struct FromSeries {
    pub(super) points: Points,
    /// Every sampling instant, the run's beginning included, in order.
    pub(super) ticks: Vec<Time>,
    /// Lines that could not be read.
    pub(super) unread: u64,
}

/// A recorded series, the metric that shows it, and the label that comes after the arm.
type Shown = (String, Metric, Option<String>);

/// Reads it.
pub(super) fn read(source: &Source) -> Result<FromSeries, PublishError> {
    let mut fold = Fold::new(&source.plan);
    let unread = source.lines("series.csv", |line| {
        fold.points.room()?;
        fold.line(line)
    })?;
    fold.finish_instant()?;
    Ok(FromSeries { points: fold.points, ticks: fold.ticks, unread })
}

/// A row of `series.csv`.
struct Row<'a> {
    at: Time,
    arm: &'a str,
    series: &'a str,
    value: f64,
}

impl<'a> Row<'a> {
    fn read(line: &'a str) -> Option<Self> {
        let mut fields = line.split(',');
        let at = Time::from_nanos(fields.next()?.parse().ok()?);
        let (arm, series) = (fields.next()?, fields.next()?);
        Some(Self { at, arm, series, value: fields.next()?.parse().ok()? })
    }
}

struct Fold {
    points: Points,
    ticks: Vec<Time>,
    /// For each arm, what is made of its rows.
    arms: BTreeMap<String, BTreeMap<String, Vec<Id>>>,
    /// Series that have a row at every sampling instant, and at no other.
    intervals: BTreeSet<&'static str>,
    now: Time,
    is_tick: bool,
}

impl Fold {
    fn new(plan: &Plan) -> Self {
        let mut points = Points::default();
        let arms = (0..plan.arms.len()).map(|arm| {
            let name = plan.arms[arm].name.clone();
            let shown = shown(plan, arm);
            (name.clone(), ids(&mut points, &name, &shown))
        });
        let arms = arms.collect();
        let of_intervals = series::common().into_iter().filter(|info| info.kind == Kind::Intervals);
        let intervals = of_intervals.map(|info| info.name).collect();
        Self { points, ticks: vec![Time::ZERO], arms, intervals, now: Time::ZERO, is_tick: false }
    }

    /// A line; whether it is one of ours.
    fn line(&mut self, line: &str) -> Result<bool, PublishError> {
        if line == "t_ns,arm,series,value" {
            return Ok(true);
        }
        let Some(row) = Row::read(line) else { return Ok(false) };
        if row.at > self.now {
            self.finish_instant()?;
            self.now = row.at;
        }
        let Some(of_arm) = self.arms.get(row.arm) else { return Ok(false) };
        self.is_tick |= self.intervals.contains(row.series);
        let ids = of_arm.get(row.series).into_iter().flatten();
        ids.for_each(|id| self.points.set(*id, row.at, row.value));
        Ok(true)
    }

    /// All rows of an instant have been read. At a sampling instant, what is recorded only when it changes is
    /// said again.
    fn finish_instant(&mut self) -> Result<(), PublishError> {
        if std::mem::take(&mut self.is_tick) {
            self.points.sample(self.now)?;
            self.ticks.push(self.now);
        }
        Ok(())
    }
}

/// The series of the metrics that show each recorded series of an arm. All begin at 0, as on /metrics,
/// but those that are not there before something is known of them.
fn ids(points: &mut Points, arm: &str, shown: &[Shown]) -> BTreeMap<String, Vec<Id>> {
    let absent = [names::LIMITER_VITAL, names::LIMITER_TOKENS, names::INJECTED, names::OVERFLOW];
    let mut ids: BTreeMap<String, Vec<Id>> = BTreeMap::new();
    for (series, metric, more) in shown {
        let id = points.sampled(metric, &labels(metric, arm, more.as_deref()));
        if !absent.contains(metric) {
            points.set(id, Time::ZERO, 0.0);
        }
        ids.entry(series.clone()).or_default().push(id);
    }
    ids
}

/// What is shown of an arm's recorded series.
fn shown(plan: &Plan, arm: usize) -> Vec<Shown> {
    let mut shown = vec![
        of(MAKESPAN, names::MAKESPAN),
        of(Sampled::Utilisation.info().name, names::UTILISATION),
        of(Sampled::InSystem.info().name, names::IN_SYSTEM),
        of(Sampled::Queued.info().name, names::QUEUED),
        of(Faulted::LinksHit.info().name, names::LINKS_HIT),
        of(Faulted::Dropped.info().name, names::DROPPED),
        of(Faulted::Aborts.info().name, names::ABORTS),
        of(Faulted::Resets.info().name, names::RESETS),
    ];
    if let Some(rule) = only_rule(plan, arm) {
        shown.push(with(Faulted::Injected.info().name, names::INJECTED, rule));
        shown.push(with(Faulted::Overflow.info().name, names::OVERFLOW, rule));
    }
    shown.extend(match plan.arms[arm].work {
        Work::Calls(_) => of_calls(),
        Work::Downloads(_) => of_downloads(),
    });
    shown
}

fn of(series: &str, metric: Metric) -> Shown {
    (series.to_owned(), metric, None)
}

fn with(series: &str, metric: Metric, label: &str) -> Shown {
    (series.to_owned(), metric, Some(label.to_owned()))
}

/// Recorded is what all rules of an arm have done together. It can be said of which only if there is one.
fn only_rule(plan: &Plan, arm: usize) -> Option<&str> {
    let acts = |action: &Action| matches!(action, Action::Http(_));
    let mut rules =
        plan.faults.iter().filter(|fault| acts(&fault.action) && fault.arms.contains(&arm));
    let first = rules.next()?;
    rules.next().is_none().then_some(first.name.as_str())
}

fn of_calls() -> Vec<Shown> {
    let mut shown = vec![
        of(Sampled::InFlight.info().name, names::IN_FLIGHT),
        of(Sampled::Waiting.info().name, names::WAITING),
        of(series::REJECTED.name, names::REJECTED),
        of(series::RETRIES.name, names::RETRIES),
        of(Queueing::OldestAge.info().name, names::OLDEST_AGE),
        of(Queueing::Looks.info().name, names::QUEUE_LOOKS),
        of(Queueing::PermitsLost.info().name, names::PERMITS_LOST),
    ];
    let dropped =
        |why: Rejection| Some(with(Queueing::of(why)?.info().name, names::QUEUE_DROPS, why.name()));
    shown.extend(Rejection::QUEUED.into_iter().filter_map(dropped));
    let ended = |outcome: Outcome| {
        with(series::outcome_series(outcome).name, names::REQUESTS, outcome.name())
    };
    shown.extend(Outcome::ALL.map(ended));
    shown
}

fn of_downloads() -> Vec<Shown> {
    let mut shown = vec![
        of(Sampled::Tokens.info().name, names::LIMITER_TOKENS),
        of(Sampled::OldestAge.info().name, names::OLDEST_AGE),
        of(Sampled::ZeroProgress.info().name, names::ZERO_PROGRESS),
        of(Sampled::Active.info().name, names::TRANSFERS),
        of(Counted::Overtakes.info().name, names::OVERTAKES),
        of(Counted::WakesPerGrant.info().name, names::WAKES_PER_GRANT),
        of(Counted::Granted.info().name, names::GRANTED),
        of(Counted::Lost.info().name, names::LOST),
        of(Counted::TasksDone.info().name, names::TASKS_DONE),
        of(&vital("waiting"), names::WAITING),
        of(&vital("asks"), names::ASKS),
        with(&vital("grants"), names::WAIT_ENDS, WaitEnd::Granted.name()),
        with(&vital("cancels"), names::WAIT_ENDS, WaitEnd::Cancelled.name()),
    ];
    let vitals = limit::VITALS.iter();
    shown.extend(vitals.map(|info| with(&vital(info.name), names::LIMITER_VITAL, info.name)));
    shown
}

/// The recorded series of a limiter's inner number.
fn vital(name: &str) -> String {
    format!("{LIMITER}{name}")
}
