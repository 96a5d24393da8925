//! The running policy.

use super::Config;
use crate::bucket::{Bucket, BucketConfig};
use crate::limit::line::Line;
use crate::limit::quantity::ByteRate;
use crate::limit::turns::{Alarms, Turn};
use crate::limit::waiting::{Wait, Waiting};
use crate::limit::{Ask, Counters, Grant, Level, Levels, Limiter, Waiter};
use crate::rng::Streams;
use crate::time::Time;
use std::collections::VecDeque;

/// The running policy.
#[derive(Debug)]
pub struct Htb {
    quantum: u64,
    assured: Vec<ByteRate>,
    streams: Streams,
    levels: Levels,
    /// With each wait, its ticket.
    waiting: Waiting<u64>,
    leaves: Vec<Leaf>,
    /// In the order of their turns: leaves that are assured, and all that may go. One that is assured
    /// for a while keeps its turn to borrow.
    rings: [VecDeque<u32>; 2],
    /// A leaf changes when its standing does.
    alarms: Alarms,
    counters: Counters,
}

/// A task.
#[derive(Debug, Default)]
struct Leaf {
    /// At its assured rate; without one it only borrows.
    own: Option<Box<Bucket>>,
    line: Line,
    /// In each ring.
    turns: [Turn; 2],
    standing: Standing,
    /// When its standing changes by itself.
    change: Option<Time>,
}

/// The ring of those that are assured.
const ASSURED: usize = 0;

/// What a leaf may do for its first waiter.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Standing {
    /// Nothing: nobody waits.
    #[default]
    Idle,
    /// Go before all that borrow.
    Assured,
    /// Go if nobody assured waits.
    Borrows,
    /// Nothing until its ceiling, or the limit of its queue, has the cost.
    HeldBack,
}

impl Standing {
    /// Whether a leaf that stands so has turns in a ring.
    const fn is_in(self, ring: usize) -> bool {
        match self {
            Self::Assured => true,
            Self::Borrows => ring != ASSURED,
            Self::Idle | Self::HeldBack => false,
        }
    }
}

impl Htb {
    pub(super) fn new(config: &Config, streams: &Streams) -> Self {
        Self {
            quantum: config.quantum.get().max(1),
            assured: config.assured.clone(),
            streams: *streams,
            levels: Levels::new(&config.levels, streams),
            waiting: Waiting::default(),
            leaves: Vec::new(),
            rings: Default::default(),
            alarms: Alarms::default(),
            counters: Counters::default(),
        }
    }

    fn leaf(&mut self, task: u32) -> &mut Leaf {
        let index = task as usize;
        if index >= self.leaves.len() {
            self.leaves.resize_with(index + 1, Leaf::default);
        }
        &mut self.leaves[index]
    }

    /// A task that asks for the first time gets its own bucket, full.
    fn come_into_being(&mut self, now: Time, task: u32) {
        let Some(&rate) = self.assured.get(task as usize) else { return };
        let streams = self.streams;
        let bucket = || Bucket::new(&BucketConfig::new(rate), now, || streams.stream("refill"));
        self.leaf(task).own.get_or_insert_with(|| Box::new(bucket()));
    }

    /// The first waiter of a task and its cost.
    fn first(&self, task: u32) -> Option<(Waiter, u64)> {
        let wait = self.waiting.get(self.leaves[task as usize].line.head()?)?;
        Some((wait.waiter, wait.cost))
    }

    /// When a leaf's own bucket is out of debt; `None` if it has none.
    fn assured_at(&mut self, now: Time, task: u32) -> Option<Time> {
        self.leaf(task).own.as_mut().map(|own| own.due(now, 0))
    }

    /// Until when a cost is held back by another limit than the parent's: `NEVER` for one that does
    /// not fit, into the parent's either.
    fn held_back_until(&mut self, now: Time, waiter: Waiter, cost: u64) -> Time {
        let limits = [Level::Task, Level::Queue];
        let ready_at = |level| self.levels.level_ready_at(now, level, waiter, cost);
        let held = limits.map(ready_at).into_iter().try_fold(now, |held, at| Some(held.max(at?)));
        let fits = self.levels.capacity(Level::Global).is_none_or(|capacity| cost <= capacity);
        held.filter(|_| fits).unwrap_or(Time::NEVER)
    }

    /// What a leaf may do at `now`, and when that changes by itself.
    fn standing(&mut self, now: Time, task: u32) -> (Standing, Option<Time>) {
        let Some((waiter, cost)) = self.first(task) else { return (Standing::Idle, None) };
        let held = self.held_back_until(now, waiter, cost);
        if held > now {
            return (Standing::HeldBack, Some(held));
        }
        match self.assured_at(now, task) {
            Some(at) if at <= now => (Standing::Assured, None),
            later => (Standing::Borrows, later),
        }
    }

    /// Puts a leaf where it stands at `now`. In a ring in which it was it keeps its turn.
    fn sort_in(&mut self, now: Time, task: u32) {
        let (standing, change) = self.standing(now, task);
        let leaf = self.leaf(task);
        let old_change = std::mem::replace(&mut leaf.change, change);
        let old = std::mem::replace(&mut leaf.standing, standing);
        if let Some(at) = old_change {
            self.alarms.remove(at, task);
        }
        if let Some(at) = change {
            self.alarms.add(at, task);
        }
        for ring in 0..self.rings.len() {
            match (old.is_in(ring), standing.is_in(ring)) {
                (true, false) => self.leave(ring, task),
                (false, true) => self.rings[ring].push_back(task),
                _ => {}
            }
        }
    }

    /// A leaf has no more turns in a ring.
    fn leave(&mut self, ring: usize, task: u32) {
        let cost = self.first(task).map_or(0, |(_, cost)| cost);
        self.leaf(task).turns[ring].leave(cost);
        let ring = &mut self.rings[ring];
        // As a rule it is the one whose turn it is.
        if ring.front() == Some(&task) {
            ring.pop_front();
        } else {
            ring.retain(|other| *other != task);
        }
    }

    /// Lets those change whose time has come.
    fn change(&mut self, now: Time) {
        while let Some(task) = self.alarms.changed(now) {
            self.sort_in(now, task);
        }
    }

    /// The ring that is served, and whose turn it is there.
    fn whose_turn(&self) -> Option<(usize, u32)> {
        let ring = self.rings.iter().position(|ring| !ring.is_empty())?;
        Some((ring, *self.rings[ring].front()?))
    }

    /// Turns the ring until a waiter goes, or the one whose turn it is lacks the parent's tokens.
    fn turn(&mut self, now: Time) -> Option<Grant> {
        self.change(now);
        while let Some((ring, task)) = self.whose_turn() {
            let (waiter, cost) = self.first(task)?;
            let quantum = self.quantum;
            let turn = &mut self.leaf(task).turns[ring];
            if !turn.may_spend(quantum, cost) {
                turn.pass();
                self.rings[ring].rotate_left(1);
                continue;
            }
            self.counters.wakes += 1;
            let Err(ready_at) = self.levels.take_or_wait(now, waiter, cost) else {
                return self.grant(now, ring, waiter);
            };
            // Another task may have emptied the bucket of its queue since it was sorted in.
            self.sort_in(now, task);
            if self.leaf(task).standing.is_in(ring) {
                self.alarms.set_turn(ready_at);
                return None;
            }
        }
        None
    }

    /// The first waiter of the leaf whose turn it is goes.
    fn grant(&mut self, now: Time, ring: usize, waiter: Waiter) -> Option<Grant> {
        let wait = self.waiting.remove(waiter.id)?;
        let leaf = self.leaf(waiter.task);
        leaf.turns[ring].spend(wait.cost);
        leaf.line.leave(wait.state, wait.cost);
        if ring == ASSURED {
            self.charge(now, waiter.task, wait.cost);
        }
        self.sort_in(now, waiter.task);
        self.wake_at(now);
        self.counters.grants += 1;
        Some(wait.grant())
    }

    /// A leaf goes at what it is assured.
    fn charge(&mut self, now: Time, task: u32, cost: u64) {
        if let Some(own) = &mut self.leaf(task).own {
            own.take(now, cost);
        }
    }

    /// Looks at the turn after a change: now, to let [`Htb::turn`] find out what the change means.
    fn wake_at(&mut self, now: Time) {
        let turn = self.whose_turn().map(|_| now);
        self.alarms.set_turn(turn);
    }
}

impl Limiter for Htb {
    fn ask(&mut self, now: Time, waiter: Waiter, cost: u64) -> Ask {
        self.counters.asks += 1;
        self.come_into_being(now, waiter.task);
        // Who finds somebody in a ring waits for his turn; those held back do not count.
        let is_free = self.whose_turn().is_none() && self.leaf(waiter.task).line.is_empty();
        let quoted = self.levels.ready_at(now, waiter, cost);
        if is_free && quoted.is_some_and(|at| at <= now) {
            self.levels.take(now, waiter, cost);
            if self.assured_at(now, waiter.task).is_some_and(|at| at <= now) {
                self.charge(now, waiter.task, cost);
            }
            self.counters.grants += 1;
            return Ask::Granted;
        }
        let ticket = self.counters.asks;
        self.waiting.insert(Wait { waiter, cost, asked_at: now, quoted, state: ticket });
        if self.leaf(waiter.task).line.join(ticket, waiter.id, cost) {
            self.sort_in(now, waiter.task);
        }
        self.wake_at(now);
        Ask::Waiting { quoted }
    }

    fn next_wake(&self) -> Option<Time> {
        self.alarms.next()
    }

    fn on_wake(&mut self, now: Time) -> Option<Grant> {
        if self.alarms.ring(now) { self.turn(now) } else { None }
    }

    fn cancel(&mut self, now: Time, id: u32) -> bool {
        let Some(wait) = self.waiting.remove(id) else { return false };
        self.counters.cancels += 1;
        let task = wait.waiter.task;
        if self.leaf(task).line.leave(wait.state, wait.cost) {
            self.sort_in(now, task);
        }
        self.wake_at(now);
        true
    }

    fn set_rate(&mut self, now: Time, level: Level, rate: ByteRate) {
        self.levels.set_rate(now, level, rate);
        (0..self.leaves.len()).for_each(|task| self.sort_in(now, task as u32));
        self.wake_at(now);
    }

    fn waiting(&self) -> usize {
        self.waiting.len()
    }

    fn counters(&self) -> Counters {
        self.counters
    }

    fn levels(&self) -> &Levels {
        &self.levels
    }
}
