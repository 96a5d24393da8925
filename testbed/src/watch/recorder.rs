//! The recorder: folds events into the store, and writes `series.csv` as the run goes.

mod calls;
mod downloads;
mod faults;
mod queue;
mod sheet;

use super::series::{self, LIMIT, MAKESPAN, PerRequest, Sampled, WINDOW};
use super::store::{Interval, Store};
use crate::experiment::plan::{ArmPlan, Work};
use calls::{CallsFold, End};
use downloads::DownloadsFold;
use faults::FaultsFold;
use sheet::Sheet;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::rc::Rc;
use testbed_core::control::Update;
use testbed_core::event::Event;
use testbed_core::observe::Observer;
use testbed_core::request::Arm;
use testbed_core::time::Time;
use testbed_core::vitals::Vitals;

/// An observer that records series, in memory and as rows of `t_ns,arm,series,value`.
pub struct Recorder<W: Write> {
    sheet: Sheet<W>,
    folds: Vec<Fold>,
    faults: Vec<FaultsFold>,
    vital_names: BTreeMap<&'static str, Rc<str>>,
    live: bool,
    last_tick: Time,
}

/// What is known of one arm between two sampling instants.
enum Fold {
    Calls(Box<CallsFold>),
    Downloads(Box<DownloadsFold>),
}

impl Fold {
    fn new(arm: &ArmPlan) -> Self {
        match &arm.work {
            Work::Calls(_) => Self::Calls(Box::default()),
            Work::Downloads(plan) => Self::Downloads(Box::new(DownloadsFold::new(plan))),
        }
    }
}

impl<W: Write> Recorder<W> {
    /// A recorder for these arms that writes to `out`, header first.
    pub fn new(arms: &[ArmPlan], live: bool, out: W) -> Self {
        let names = arms.iter().map(|arm| arm.name.clone()).collect();
        Self {
            sheet: Sheet::new(names, out),
            folds: arms.iter().map(Fold::new).collect(),
            faults: arms.iter().map(|_| FaultsFold::default()).collect(),
            vital_names: BTreeMap::new(),
            live,
            last_tick: Time::ZERO,
        }
    }

    /// What was recorded so far.
    pub const fn store(&self) -> &Store {
        &self.sheet.store
    }

    /// What was recorded.
    ///
    /// # Errors
    /// The first failure to write a row, if any.
    pub fn finish(self) -> io::Result<Store> {
        self.sheet.finish()
    }

    fn update(&mut self, now: Time, arm: Arm, update: &Update, vitals: &Vitals) {
        let arm = arm.index();
        if let (Some(window), Some(limit)) = (update.window(), update.bound()) {
            self.sheet.step(now, arm, WINDOW, window);
            self.sheet.step(now, arm, LIMIT, limit as f64);
        }
        for vital in vitals {
            let name = self.vital_name(vital.name);
            self.sheet.step(now, arm, &name, vital.value);
        }
    }

    /// The name of a vital's series, made once a run.
    fn vital_name(&mut self, vital: &'static str) -> Rc<str> {
        let make = || format!("{}{vital}", series::CONTROLLER).into();
        Rc::clone(self.vital_names.entry(vital).or_insert_with(make))
    }

    fn backend(&mut self, now: Time, arm: Arm, levels: [f64; 3]) {
        let series = [Sampled::Utilisation, Sampled::InSystem, Sampled::Queued];
        for (series, level) in series.into_iter().zip(levels) {
            let interval = Interval::level(self.last_tick, now, level);
            self.sheet.interval(arm.index(), series, interval);
        }
    }

    fn tick(&mut self, now: Time) {
        if now == self.last_tick {
            return;
        }
        for (arm, fold) in self.folds.iter_mut().enumerate() {
            match fold {
                Fold::Calls(calls) => calls.tick(self.last_tick, now, arm, &mut self.sheet),
                Fold::Downloads(all) => all.tick(self.last_tick, now, arm, &mut self.sheet),
            }
        }
        for (arm, faults) in self.faults.iter_mut().enumerate() {
            faults.tick(now, arm, &mut self.sheet);
        }
        self.last_tick = now;
        self.sheet.store.reach(now);
        if self.live {
            self.sheet.flush();
        }
    }

    fn end(&mut self, now: Time) {
        self.sheet.store.reach(now);
        for (arm, fold) in self.folds.iter().enumerate() {
            match fold {
                Fold::Calls(calls) => calls.end(now, arm, &mut self.sheet),
                Fold::Downloads(downloads) => downloads.settle(now, arm, &mut self.sheet),
            }
        }
    }

    /// Events of requests.
    fn on_call(&mut self, now: Time, arm: Arm, event: &Event<'_>) {
        let index = arm.index();
        let Fold::Calls(calls) = &mut self.folds[index] else { return };
        match *event {
            Event::Arrived { lag, .. } => {
                calls.arrived(now);
                if self.live {
                    self.sheet.record(index, PerRequest::Lag, lag);
                }
            }
            Event::Rejected { why, .. } => calls.rejected(now, why),
            Event::Queue { oldest, looks, lost, .. } => calls.queue.looked(oldest, looks, lost),
            Event::Abandoned { .. } => calls.left(now),
            Event::Admitted { wait, in_flight, waiting, .. } => {
                calls.admitted(now, in_flight, waiting);
                self.sheet.record(index, PerRequest::Wait, wait);
            }
            Event::Finished { arrival, ref sample, served, hit, in_flight, again, .. } => {
                calls.in_flight(now, in_flight);
                calls.retried(again.is_some());
                let end = End { first: arrival.first, over: again.is_none(), served, hit };
                calls.finished((index, self.live), sample, &end, &mut self.sheet);
            }
            _ => {}
        }
    }

    /// Events of downloads.
    fn on_download(&mut self, now: Time, arm: Arm, event: &Event<'_>) {
        let index = arm.index();
        let Fold::Downloads(fold) = &mut self.folds[index] else { return };
        match *event {
            Event::Asked { ref wait, .. } => fold.asked(wait),
            Event::WaitEnded { ref wait, end, overtook, lag, .. } => {
                fold.wait_ended(now, wait, end, overtook, index, &mut self.sheet);
                if self.live {
                    self.sheet.record(index, PerRequest::Lag, lag);
                }
            }
            Event::Transfer { waiter, change, active, .. } => fold.transfer(waiter, change, active),
            Event::Limiter { vitals, tokens, .. } => {
                fold.looked(now, vitals, tokens, index, &mut self.sheet);
            }
            _ => {}
        }
    }
}

impl<W: Write> Observer for Recorder<W> {
    fn on_event(&mut self, now: Time, event: &Event<'_>) {
        match *event {
            Event::Arrived { arm, .. }
            | Event::Rejected { arm, .. }
            | Event::Admitted { arm, .. }
            | Event::Finished { arm, .. }
            | Event::Queue { arm, .. }
            | Event::Abandoned { arm, .. } => self.on_call(now, arm, event),
            Event::Asked { arm, .. }
            | Event::WaitEnded { arm, .. }
            | Event::Transfer { arm, .. }
            | Event::Limiter { arm, .. } => self.on_download(now, arm, event),
            Event::Updated { arm, ref update, vitals } => self.update(now, arm, update, vitals),
            Event::InputDone { arm, makespan } => {
                self.sheet.step(now, arm.index(), MAKESPAN, makespan.as_secs_f64());
            }
            Event::Backend { arm, in_system, queued, utilisation } => {
                let levels = [utilisation, f64::from(in_system), f64::from(queued)];
                self.backend(now, arm, levels);
            }
            Event::Fed { arm, lag } => self.sheet.record(arm.index(), PerRequest::FeedLag, lag),
            Event::Phase { .. } => self.sheet.store.begin_phase(now),
            Event::Injected { arm, counts, .. } => self.faults[arm.index()].injected(counts),
            Event::Network { arm, network } => self.faults[arm.index()].network(network),
            Event::Fault { .. } | Event::Healed { .. } | Event::Runtime { .. } => {}
            Event::Tick => self.tick(now),
            Event::End => self.end(now),
        }
    }
}
