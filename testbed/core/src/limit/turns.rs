//! What policies by deficit round robin have in common: what one has of its turn, and when somebody has
//! to look.

use crate::time::Time;
use std::collections::BTreeSet;

/// What a task has of its turns in a ring.
#[derive(Clone, Copy, Debug, Default)]
pub struct Turn {
    /// Bytes that it may still spend.
    deficit: u64,
    /// Whether it has had its quantum for the turn that it has now.
    begun: bool,
}

impl Turn {
    /// Whether the task whose turn it is may spend `cost` bytes; its turn begins with a quantum.
    pub fn may_spend(&mut self, quantum: u64, cost: u64) -> bool {
        if !std::mem::replace(&mut self.begun, true) {
            self.deficit = self.deficit.saturating_add(quantum);
        }
        cost <= self.deficit
    }

    /// Spends `cost` bytes, which it [may](Self::may_spend).
    pub const fn spend(&mut self, cost: u64) {
        self.deficit -= cost;
    }

    /// The turn passes on; what is left of it stays.
    pub const fn pass(&mut self) {
        self.begun = false;
    }

    /// The task has no more turns for now. It keeps no more than the `cost` bytes that it could spend at
    /// once, or it would come back each time with a quantum more.
    pub fn leave(&mut self, cost: u64) {
        *self = Self { deficit: self.deficit.min(cost), begun: false };
    }
}

/// When somebody has to look: for the one whose turn it is, and for tasks that change by themselves.
#[derive(Debug, Default)]
pub struct Alarms {
    turn: Option<Time>,
    changes: BTreeSet<(Time, u32)>,
}

impl Alarms {
    /// The next of them.
    pub fn next(&self) -> Option<Time> {
        Time::earliest([self.turn, self.changes.first().map(|(at, _)| *at)])
    }

    /// Whether one is due at `now`. Then it is looked at the turn as well, whose alarm is over.
    pub fn ring(&mut self, now: Time) -> bool {
        let due = self.next().is_some_and(|at| at <= now);
        if due {
            self.turn = None;
        }
        due
    }

    /// When to look at the turn; `None` if nobody has one.
    pub const fn set_turn(&mut self, at: Option<Time>) {
        self.turn = at;
    }

    /// A task changes by itself at an instant.
    pub fn add(&mut self, at: Time, task: u32) {
        self.changes.insert((at, task));
    }

    /// It does not.
    pub fn remove(&mut self, at: Time, task: u32) {
        self.changes.remove(&(at, task));
    }

    /// The first task whose change is due at `now`. It stays until it is removed.
    pub fn changed(&self, now: Time) -> Option<u32> {
        self.changes.first().filter(|(at, _)| *at <= now).map(|(_, task)| *task)
    }

    /// Those that change by themselves, the next first.
    pub fn changing(&self) -> impl Iterator<Item = u32> {
        self.changes.iter().map(|(_, task)| *task)
    }
}
