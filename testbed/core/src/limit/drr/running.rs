//! The running policy.

use super::Config;
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
pub struct Drr {
    quantum: u64,
    levels: Levels,
    /// With each wait, its ticket.
    waiting: Waiting<u64>,
    tasks: Vec<Task>,
    /// Tasks with waiters, in the order of their turns. The first has its turn.
    ring: VecDeque<u32>,
    /// A task changes when no bucket of its own or of its queue holds it back any more.
    alarms: Alarms,
    counters: Counters,
}

#[derive(Debug, Default)]
struct Task {
    line: Line,
    turn: Turn,
    place: Place,
}

/// Where a task stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Place {
    /// Nobody of it waits.
    #[default]
    Idle,
    /// In the ring.
    Ring,
    /// Held back until this instant by a bucket that has its tokens later than the global one;
    /// `NEVER` for a cost that does not fit.
    HeldBack(Time),
}

impl Drr {
    pub(super) fn new(config: &Config, streams: &Streams) -> Self {
        Self {
            quantum: config.quantum.get().max(1),
            levels: Levels::new(&config.levels, streams),
            waiting: Waiting::default(),
            tasks: Vec::new(),
            ring: VecDeque::new(),
            alarms: Alarms::default(),
            counters: Counters::default(),
        }
    }

    fn task(&mut self, task: u32) -> &mut Task {
        let index = task as usize;
        if index >= self.tasks.len() {
            self.tasks.resize_with(index + 1, Task::default);
        }
        &mut self.tasks[index]
    }

    /// The first waiter of a task and its cost.
    fn first(&self, task: u32) -> Option<(Waiter, u64)> {
        let wait = self.waiting.get(self.tasks[task as usize].line.head()?)?;
        Some((wait.waiter, wait.cost))
    }

    /// A task goes to the end of the ring.
    fn enter_ring(&mut self, task: u32) {
        self.leave_place(task);
        self.task(task).place = Place::Ring;
        self.ring.push_back(task);
    }

    /// A task leaves the ring or the bench.
    fn leave_place(&mut self, task: u32) {
        let place = std::mem::take(&mut self.task(task).place);
        match place {
            Place::Idle => {}
            // As a rule it is the one whose turn it is.
            Place::Ring if self.ring.front() == Some(&task) => {
                self.ring.pop_front();
            }
            Place::Ring => self.ring.retain(|other| *other != task),
            Place::HeldBack(until) => self.alarms.remove(until, task),
        }
    }

    /// The task whose turn it is leaves the ring until its first waiter's `cost` is there.
    fn hold_back(&mut self, task: u32, cost: u64, until: Time) {
        self.leave_place(task);
        let held = self.task(task);
        held.turn.leave(cost);
        held.place = Place::HeldBack(until);
        self.alarms.add(until, task);
    }

    /// Nobody of the task waits any more.
    fn retire(&mut self, task: u32) {
        self.leave_place(task);
        self.task(task).turn.leave(0);
    }

    /// Brings back those whose tokens are there.
    fn bring_back(&mut self, now: Time) {
        while let Some(task) = self.alarms.changed(now) {
            self.enter_ring(task);
        }
    }

    /// Turns the ring until a waiter goes, or the one whose turn it is lacks global tokens.
    fn turn(&mut self, now: Time) -> Option<Grant> {
        self.bring_back(now);
        while let Some(&task) = self.ring.front() {
            let (waiter, cost) = self.first(task)?;
            let quantum = self.quantum;
            let turn = &mut self.task(task).turn;
            if !turn.may_spend(quantum, cost) {
                turn.pass();
                self.ring.rotate_left(1);
                continue;
            }
            self.counters.wakes += 1;
            let Err(ready_at) = self.levels.take_or_wait(now, waiter, cost) else {
                return self.grant(now, task, waiter.id);
            };
            let global = self.levels.level_ready_at(now, Level::Global, waiter, cost);
            if ready_at.is_some() && ready_at == global {
                self.alarms.set_turn(ready_at);
                return None;
            }
            self.hold_back(task, cost, ready_at.unwrap_or(Time::NEVER));
        }
        None
    }

    /// The first waiter of the task whose turn it is goes.
    fn grant(&mut self, now: Time, task: u32, id: u32) -> Option<Grant> {
        let wait = self.waiting.remove(id)?;
        let served = self.task(task);
        served.turn.spend(wait.cost);
        served.line.leave(wait.state, wait.cost);
        if served.line.is_empty() {
            self.retire(task);
        }
        self.wake_at(now);
        self.counters.grants += 1;
        Some(wait.grant())
    }

    /// Looks at the turn after a change: now, to let [`Drr::turn`] find out what the change means.
    fn wake_at(&mut self, now: Time) {
        self.alarms.set_turn((!self.ring.is_empty()).then_some(now));
    }
}

impl Limiter for Drr {
    fn ask(&mut self, now: Time, waiter: Waiter, cost: u64) -> Ask {
        self.counters.asks += 1;
        // Who finds somebody in the ring waits for his turn; those held back do not count.
        let is_free = self.ring.is_empty() && self.task(waiter.task).line.is_empty();
        let quoted = match self.levels.ready_at(now, waiter, cost) {
            Some(at) if at <= now && is_free => {
                self.levels.take(now, waiter, cost);
                self.counters.grants += 1;
                return Ask::Granted;
            }
            ready_at => ready_at,
        };
        let ticket = self.counters.asks;
        self.waiting.insert(Wait { waiter, cost, asked_at: now, quoted, state: ticket });
        self.task(waiter.task).line.join(ticket, waiter.id, cost);
        if self.task(waiter.task).place == Place::Idle {
            self.enter_ring(waiter.task);
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
        self.task(task).line.leave(wait.state, wait.cost);
        match self.task(task).line.is_empty() {
            true => self.retire(task),
            // What held it back may have been the one who went.
            false if self.task(task).place != Place::Ring => self.enter_ring(task),
            false => {}
        }
        self.wake_at(now);
        true
    }

    fn set_rate(&mut self, now: Time, level: Level, rate: ByteRate) {
        self.levels.set_rate(now, level, rate);
        let held_back: Vec<u32> = self.alarms.changing().collect();
        held_back.into_iter().for_each(|task| self.enter_ring(task));
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
