//! The series of an arm's downloads: waits, shares of waiters, and what came of the transfers.

use super::sheet::Sheet;
use crate::experiment::plan::Downloads;
use crate::watch::progress::{Progress, WaitsUnderWay, wakes_per_grant};
use crate::watch::series::{Counted, LIMITER, PerRequest, Sampled};
use crate::watch::store::Interval;
use std::collections::BTreeMap;
use std::io::Write;
use testbed_core::download::Change;
use testbed_core::limit::{Level, LevelsConfig, Waiter};
use testbed_core::time::{Nanos, Time};
use testbed_core::vitals::Vitals;
use testbed_core::wait::{Wait, WaitEnd};

/// What is known of one arm's downloads.
pub(super) struct DownloadsFold {
    levels: LevelsConfig,
    tasks: u32,
    /// Bytes granted by each bucket.
    granted_by: BTreeMap<(Level, u32), u64>,
    /// NaN stands for what nobody counts.
    counted: [f64; Counted::ALL.len()],
    active: u32,
    granted_at_last_tick: f64,
    tokens: Option<f64>,
    progress: Progress,
    under_way: WaitsUnderWay,
}

impl DownloadsFold {
    pub(super) fn new(plan: &Downloads) -> Self {
        let mut counted = [0.0; Counted::ALL.len()];
        counted[Counted::TasksOpen as usize] = f64::from(plan.load.tasks);
        Self {
            levels: plan.limiter.levels().cloned().unwrap_or_default(),
            tasks: plan.load.tasks,
            granted_by: BTreeMap::new(),
            counted,
            active: 0,
            granted_at_last_tick: 0.0,
            tokens: None,
            progress: Progress::default(),
            under_way: WaitsUnderWay::default(),
        }
    }

    fn count(&mut self, what: Counted) -> &mut f64 {
        &mut self.counted[what as usize]
    }

    pub(super) fn asked(&mut self, wait: &Wait) {
        self.under_way.begin(wait);
    }

    /// A wait ended. Those that were given up or cut off count as long as they lasted: a waiter
    /// that never gets anything would not be seen otherwise.
    pub(super) fn wait_ended<W: Write>(
        &mut self,
        now: Time,
        wait: &Wait,
        end: WaitEnd,
        overtook: u32,
        arm: usize,
        sheet: &mut Sheet<W>,
    ) {
        self.under_way.end(wait);
        *self.count(Counted::Overtakes) += f64::from(overtook);
        let fifo = if end == WaitEnd::Granted { wait.fifo_at } else { wait.fifo_at.min(now) };
        sheet.record(arm, PerRequest::TokenWait, now.since(wait.asked_at));
        sheet.record(arm, PerRequest::FifoWait, fifo.since(wait.asked_at));
        if let Some(quoted) = wait.quoted {
            sheet.record(arm, PerRequest::Overrun, now.since(quoted));
        }
        if end == WaitEnd::Granted {
            self.granted(now, wait, arm, sheet);
        }
    }

    fn granted<W: Write>(&mut self, now: Time, wait: &Wait, arm: usize, sheet: &mut Sheet<W>) {
        *self.count(Counted::Granted) += wait.cost as f64;
        self.conserve(now, wait.waiter, wait.cost);
        let rounds = self.progress.grant(wait.waiter, self.active);
        if let Some(share) = sheet.arm(arm).waiter(wait.waiter.id) {
            share.took_part = true;
            share.granted += wait.cost;
            share.worst_rounds = share.worst_rounds.max(rounds);
        }
    }

    /// At no level may more be granted than a full bucket and its rate give.
    fn conserve(&mut self, now: Time, waiter: Waiter, cost: u64) {
        for level in Level::ALL {
            let Some(bucket) = self.levels.bucket(level) else { continue };
            let granted = self.granted_by.entry((level, level.key(waiter))).or_default();
            *granted += cost;
            let came = bucket.rate.get() as f64 * now.as_secs_f64() + bucket.capacity() as f64;
            let share = *granted as f64 / came;
            let worst = &mut self.counted[Counted::Conservation as usize];
            *worst = worst.max(share);
        }
    }

    pub(super) fn transfer(&mut self, waiter: Waiter, change: Change, active: u32) {
        self.active = active;
        self.progress.transfer(waiter, change);
        match change {
            Change::Opened { .. } => {}
            Change::Aborted { lost, .. } => {
                *self.count(Counted::Aborts) += 1.0;
                *self.count(Counted::Lost) += lost as f64;
            }
            Change::Done { task_done } => {
                *self.count(Counted::SegmentsDone) += 1.0;
                *self.count(Counted::TasksDone) += f64::from(u8::from(task_done));
                let open = f64::from(self.tasks) - *self.count(Counted::TasksDone);
                *self.count(Counted::TasksOpen) = open;
            }
            Change::Failed => *self.count(Counted::Failed) += 1.0,
        }
    }

    pub(super) fn looked<W: Write>(
        &mut self,
        now: Time,
        vitals: &Vitals,
        tokens: Option<f64>,
        arm: usize,
        sheet: &mut Sheet<W>,
    ) {
        self.tokens = tokens;
        for vital in vitals {
            sheet.change(now, arm, &format!("{LIMITER}{}", vital.name), vital.value);
        }
        *self.count(Counted::WakesPerGrant) = wakes_per_grant(vitals).unwrap_or(f64::NAN);
    }

    /// A sampling instant; the interval began at `begin`.
    pub(super) fn tick<W: Write>(
        &mut self,
        begin: Time,
        now: Time,
        arm: usize,
        sheet: &mut Sheet<W>,
    ) {
        self.settle(now, arm, sheet);
        let levels = self.levels(now.since(begin), now);
        for (series, level) in levels {
            sheet.interval(arm, series, Interval::level(begin, now, level));
        }
    }

    /// What holds at a sampling instant, or held on average since the last one.
    fn levels(&mut self, length: Nanos, now: Time) -> Vec<(Sampled, f64)> {
        let granted = *self.count(Counted::Granted);
        let throughput = (granted - self.granted_at_last_tick) / length.as_secs_f64();
        self.granted_at_last_tick = granted;
        let oldest = self.under_way.ages(now).next().unwrap_or(Nanos::ZERO);
        let mut levels = vec![
            (Sampled::Throughput, throughput),
            (Sampled::OldestAge, oldest.as_secs_f64()),
            (Sampled::ZeroProgress, self.progress.zero_progress() as f64),
            (Sampled::Active, f64::from(self.active)),
        ];
        levels.extend(self.tokens.map(|tokens| (Sampled::Tokens, tokens)));
        let global = self.levels.global.as_ref();
        levels.extend(global.map(|at| (Sampled::LimitUse, throughput / at.rate.get() as f64)));
        levels
    }

    /// What has come of everything so far. At the end of a run it is asked once more: the last
    /// grants may be of the very instant of the last sample.
    pub(super) fn settle<W: Write>(&self, now: Time, arm: usize, sheet: &mut Sheet<W>) {
        let count = |what: Counted| (what, self.counted[what as usize]);
        for (what, count) in
            Counted::ALL.map(count).into_iter().filter(|(_, count)| !count.is_nan())
        {
            sheet.change(now, arm, what.info().name, count);
        }
        for (id, rounds) in self.progress.without() {
            if let Some(share) = sheet.arm(arm).waiter(id) {
                share.took_part = true;
                share.worst_rounds = share.worst_rounds.max(rounds);
            }
        }
    }
}
