//! What can be known of downloads from their events alone. Every event is checked against what came
//! before it.

use std::collections::BTreeMap;
use testbed_core::download::{Change, DownloadConfig};
use testbed_core::event::Event;
use testbed_core::limit::Waiter;
use testbed_core::limit::quantity::Bytes;
use testbed_core::observe::Observer;
use testbed_core::time::{Nanos, Time};
use testbed_core::wait::{Wait, WaitEnd};

/// A wait that ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Ended {
    pub(crate) at: Time,
    pub(crate) wait: Wait,
    pub(crate) end: WaitEnd,
}

/// Where a segment stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Stand {
    #[default]
    Pending,
    Open,
    BacksOff,
    Done,
    Failed,
}

#[derive(Clone, Copy, Debug, Default)]
struct Known {
    stand: Stand,
    attempts: u32,
    granted: u64,
    lost: u64,
}

/// A wait under way.
#[derive(Clone, Copy, Debug)]
struct Waits {
    wait: Wait,
    /// Which ask it is, counted from the beginning.
    number: u64,
}

/// All that happened.
#[derive(Debug)]
pub(crate) struct Ledger {
    config: DownloadConfig,
    last: Time,
    segments: BTreeMap<u32, Known>,
    waiting: BTreeMap<u32, Waits>,
    asks: u64,
    /// Events, those of the limiter's state left out.
    pub(crate) events: u64,
    pub(crate) ended: Vec<Ended>,
    pub(crate) changes: Vec<(Time, Waiter, Change)>,
    pub(crate) makespan: Option<Nanos>,
    /// Waits that the limiter says were given up.
    pub(crate) cancels: f64,
}

impl Ledger {
    pub(crate) fn new(config: &DownloadConfig) -> Self {
        let segments = 0..config.all_segments() as u32;
        Self {
            config: config.clone(),
            last: Time::ZERO,
            segments: segments.map(|id| (id, Known::default())).collect(),
            waiting: BTreeMap::new(),
            asks: 0,
            events: 0,
            ended: Vec::new(),
            changes: Vec::new(),
            makespan: None,
            cancels: 0.0,
        }
    }

    pub(crate) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// How far a segment is, in bytes from its beginning.
    pub(crate) fn position(&self, segment: u32) -> u64 {
        let known = &self.segments[&segment];
        known.granted - known.lost
    }

    /// Segments of a task that are whole.
    fn whole(&self, task: u32) -> u32 {
        let ids = task * self.config.segments..(task + 1) * self.config.segments;
        ids.filter(|id| self.segments[id].stand == Stand::Done).count() as u32
    }

    fn active(&self) -> u32 {
        let at_work = |known: &&Known| matches!(known.stand, Stand::Open | Stand::BacksOff);
        self.segments.values().filter(at_work).count() as u32
    }

    /// Waits that were granted, in the order of their grants.
    pub(crate) fn granted(&self) -> impl Iterator<Item = &Ended> {
        self.ended.iter().filter(|ended| ended.end == WaitEnd::Granted)
    }

    /// (instant, segment) of every change that `which` picks.
    pub(crate) fn when(&self, which: impl Fn(Change) -> bool) -> Vec<(Time, u32)> {
        let picked = self.changes.iter().filter(|(_, _, change)| which(*change));
        picked.map(|(at, waiter, _)| (*at, waiter.id)).collect()
    }

    fn asked(&mut self, now: Time, wait: Wait, waiting: u32) {
        assert_eq!(wait.asked_at, now);
        assert_eq!(self.segments[&wait.waiter.id].stand, Stand::Open, "only who is open asks");
        let new = Waits { wait, number: self.asks };
        self.asks += 1;
        let old = self.waiting.insert(wait.waiter.id, new);
        assert!(old.is_none(), "it waits already: {old:?}");
        assert_eq!(waiting as usize, self.waiting.len());
    }

    fn wait_ended(&mut self, now: Time, wait: Wait, end: WaitEnd) -> u32 {
        let asked = self.waiting.remove(&wait.waiter.id).expect("only a wait ends");
        assert_eq!(
            wait, asked.wait,
            "what is told at the end agrees with what was told at the ask"
        );
        self.ended.push(Ended { at: now, wait, end });
        match end {
            WaitEnd::Granted => self.count_grant(&asked),
            WaitEnd::Cancelled | WaitEnd::CutOff => 0,
        }
    }

    /// How many this grant overtook.
    fn count_grant(&mut self, granted: &Waits) -> u32 {
        let segment = self.segments.get_mut(&granted.wait.waiter.id).unwrap();
        segment.granted += granted.wait.cost;
        let size = self.config.segment.map_or(u64::MAX, Bytes::get);
        assert!(segment.granted - segment.lost <= size, "no more than there is: {segment:?}");
        let earlier = self.waiting.values().filter(|other| other.number < granted.number);
        earlier.count() as u32
    }

    fn changed(&mut self, now: Time, waiter: Waiter, change: Change) {
        assert!(!self.waiting.contains_key(&waiter.id), "its wait ends before {change:?}");
        let segment = self.segments.get_mut(&waiter.id).unwrap();
        segment.stand = segment.after(change, self.config.checkpoint.get());
        if let Change::Done { task_done } = change {
            let size = self.config.segment.map(Bytes::get);
            assert_eq!(Some(self.position(waiter.id)), size, "done is whole");
            assert_eq!(task_done, self.whole(waiter.task) == self.config.segments);
        }
        self.changes.push((now, waiter, change));
    }

    fn input_done(&mut self, now: Time, makespan: Nanos) {
        assert_eq!(self.makespan.replace(makespan), None, "once");
        assert_eq!(makespan, now.since(Time::ZERO));
        let whole: u32 = (0..self.config.tasks).map(|task| self.whole(task)).sum();
        assert_eq!(u64::from(whole), self.config.all_segments(), "only what is whole is done");
    }
}

impl Known {
    fn after(&mut self, change: Change, checkpoint: u64) -> Stand {
        match (change, self.stand) {
            (Change::Opened { attempt }, Stand::Pending | Stand::BacksOff) => {
                assert_eq!(attempt, self.attempts, "attempts are counted");
                Stand::Open
            }
            (Change::Aborted { lost, .. }, Stand::Open) => {
                assert_eq!(lost, (self.granted - self.lost) % checkpoint, "since the checkpoint");
                self.lost += lost;
                self.attempts += 1;
                Stand::BacksOff
            }
            (Change::Done { .. }, Stand::Open) => Stand::Done,
            (Change::Failed, Stand::Open | Stand::BacksOff) => Stand::Failed,
            (change, stand) => panic!("{change:?} of one that is {stand:?}"),
        }
    }
}

impl Observer for Ledger {
    fn on_event(&mut self, now: Time, event: &Event<'_>) {
        assert!(now >= self.last, "events never go back in time");
        self.last = now;
        self.events += 1;
        match *event {
            Event::Asked { wait, waiting, .. } => self.asked(now, wait, waiting),
            Event::WaitEnded { wait, end, overtook, lag, waiting, active, .. } => {
                assert_eq!(lag, Nanos::ZERO, "this world wakes on time");
                assert_eq!(active, self.active());
                assert_eq!(overtook, self.wait_ended(now, wait, end));
                assert_eq!(waiting as usize, self.waiting.len());
            }
            Event::Transfer { waiter, change, active, .. } => {
                self.changed(now, waiter, change);
                assert_eq!(active, self.active());
                assert!(u64::from(active) <= self.config.slots(), "a transfer has a slot");
            }
            Event::InputDone { makespan, .. } => self.input_done(now, makespan),
            Event::Limiter { vitals, stocks, .. } => {
                for stock in stocks.iter().flatten() {
                    assert_eq!(stock.ledger.balance(), stock.available, "no token drifts away");
                }
                self.events -= 1;
                let vital = |name| vitals.iter().find(|vital| vital.name == name).unwrap().value;
                assert_eq!(vital("waiting"), self.waiting.len() as f64, "the limiter agrees");
                self.cancels = vital("cancels");
            }
            ref other => panic!("not of a download: {other:?}"),
        }
    }
}
