//! `waits.csv`: how long asks for tokens waited, each and by waiter.

use super::PublishError;
use super::events::FromEvents;
use super::points::{Id, Points};
use super::series::FromSeries;
use super::source::{Source, Ticks};
use crate::experiment::file::Waits;
use crate::run;
use crate::watch::names;
use std::collections::BTreeMap;
use testbed_core::time::{Nanos, Time};
use testbed_core::wait::WaitEnd;

/// Under this name all waiters are added up that have none of their own.
const OTHER: &str = "other";

/// What `waits.csv` gives.
#[derive(Debug)]
pub(super) struct FromWaits {
    pub(super) points: Points,
    /// Lines that could not be read.
    pub(super) unread: u64,
}

/// Reads it, while the sampling instants go by. A run that recorded no waits has none to publish.
pub(super) fn read(
    source: &Source,
    series: &FromSeries,
    events: &FromEvents,
) -> Result<FromWaits, PublishError> {
    let mut fold = Fold::new(source, series, events);
    let mut ticks = Ticks::new(&series.ticks);
    let unread = source.lines("waits.csv", |line| {
        fold.points.room()?;
        if line.starts_with("t_ns,") {
            return Ok(true);
        }
        let Some(row) = Row::read(line) else { return Ok(false) };
        // Rows are written at the ends of their waits.
        while let Some(tick) = ticks.before(row.end) {
            fold.sample(tick)?;
        }
        Ok(fold.row(&row))
    })?;
    while let Some(tick) = ticks.before(Time::NEVER) {
        fold.sample(tick)?;
    }
    Ok(FromWaits { points: fold.points, unread })
}

/// A row of `waits.csv`.
struct Row<'a> {
    arm: &'a str,
    waiter: &'a str,
    cost: u64,
    wait: Nanos,
    end: Time,
    outcome: &'a str,
}

impl<'a> Row<'a> {
    fn read(line: &'a str) -> Option<Self> {
        let mut fields = line.split(',');
        let asked = Time::from_nanos(fields.next()?.parse().ok()?);
        let (arm, waiter) = (fields.next()?, fields.next()?);
        let cost = fields.next()?.parse().ok()?;
        let _quoted = fields.next()?;
        let wait = Nanos::new(fields.next()?.parse().ok()?);
        let outcome = fields.next()?;
        Some(Self { arm, waiter, cost, wait, end: asked.after(wait), outcome })
    }
}

struct Fold<'a> {
    points: Points,
    /// Every wait has a row, those of no length too.
    all: bool,
    arms: BTreeMap<&'a str, OfArm<'a>>,
}

/// One arm with a limiter.
struct OfArm<'a> {
    wait: Id,
    cut_off: Id,
    /// Grants and cancels by sampling instants, as the limiter counted them.
    decided: [&'a [(Time, f64)]; 2],
    named: BTreeMap<&'a str, OfWaiter>,
    other: Option<OfWaiter>,
}

/// The series of one waiter.
#[derive(Clone, Copy)]
struct OfWaiter {
    waited: Id,
    /// Only where every wait has a row.
    each: Option<[Id; 3]>,
}

impl<'a> Fold<'a> {
    fn new(source: &'a Source, series: &'a FromSeries, events: &'a FromEvents) -> Self {
        let plan = &source.plan;
        let all = plan.waits == Waits::All;
        let mut fold = Self { points: Points::default(), all, arms: BTreeMap::new() };
        let recorded = plan.waits != Waits::Off;
        for arm in plan.arms.iter().filter(|arm| recorded && arm.downloads().is_some()) {
            let name = arm.name.as_str();
            let deadlines = run::labels(plan).deadlines;
            let points = &mut fold.points;
            let wait = points.histogram(&names::WAIT, &[name], &deadlines);
            let cut_off = points.sampled(&names::WAIT_ENDS, &[name, WaitEnd::CutOff.name()]);
            points.add(cut_off, 0.0);
            let decided = [WaitEnd::Granted, WaitEnd::Cancelled]
                .map(|end| series.points.values(&names::WAIT_ENDS, &[name, end.name()]));
            let first = events.opened.get(name).map_or(&[][..], |opened| opened);
            let named = first.iter().map(|waiter| (waiter.as_str(), fold.waiter(name, waiter)));
            let named = named.collect();
            fold.arms.insert(name, OfArm { wait, cut_off, decided, named, other: None });
        }
        fold
    }

    /// The series of a waiter, which begin at 0.
    fn waiter(&mut self, arm: &str, waiter: &str) -> OfWaiter {
        let labels = [arm, waiter];
        let waited = self.points.sampled(&names::WAITER_WAIT, &labels);
        self.points.add(waited, 0.0);
        let each = [names::WAITER_DECISIONS, names::WAITER_GRANTED, names::WAITER_LAST_WAIT];
        let each = self.all.then(|| each.map(|metric| self.points.sampled(&metric, &labels)));
        each.iter().flatten().for_each(|id| self.points.add(*id, 0.0));
        OfWaiter { waited, each }
    }

    /// A row; whether it is of an arm that there is.
    fn row(&mut self, row: &Row<'_>) -> bool {
        let Some(arm) = self.arms.get(row.arm) else { return false };
        if row.outcome == WaitEnd::CutOff.name() {
            self.points.add(arm.cut_off, 1.0);
            return true;
        }
        let waiter = arm.named.get(row.waiter).copied().or(arm.other);
        self.points.observe(arm.wait, row.wait.as_secs_f64(), 1);
        let waiter = waiter.unwrap_or_else(|| self.other(row.arm));
        self.decided(waiter, row);
        true
    }

    fn other(&mut self, arm: &str) -> OfWaiter {
        let other = self.waiter(arm, OTHER);
        if let Some(arm) = self.arms.get_mut(arm) {
            arm.other = Some(other);
        }
        other
    }

    /// A wait was granted or given up.
    fn decided(&mut self, waiter: OfWaiter, row: &Row<'_>) {
        let wait = row.wait.as_secs_f64();
        self.points.add(waiter.waited, wait);
        let Some([decisions, granted, last]) = waiter.each else { return };
        self.points.add(decisions, 1.0);
        if row.outcome == WaitEnd::Granted.name() {
            self.points.add(granted, row.cost as f64);
        }
        self.points.set(last, row.end, wait);
    }

    /// A sampling instant. Waits of no length that have no row are those that the limiter counted
    /// beyond the rows.
    fn sample(&mut self, at: Time) -> Result<(), PublishError> {
        for arm in self.arms.values_mut().filter(|_| !self.all) {
            let decided: f64 = arm.decided.iter_mut().map(|counts| at_instant(counts, at)).sum();
            let zeros = (decided as u64).saturating_sub(self.points.count(arm.wait));
            self.points.observe(arm.wait, 0.0, zeros);
        }
        self.points.sample(at)
    }
}

/// The value that holds at `at`; all before it are passed.
fn at_instant(points: &mut &[(Time, f64)], at: Time) -> f64 {
    while points.get(1).is_some_and(|(next, _)| *next <= at) {
        *points = &points[1..];
    }
    points.first().filter(|(first, _)| *first <= at).map_or(0.0, |(_, value)| *value)
}
