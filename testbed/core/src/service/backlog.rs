//! The backlog: who of those that wait for a server is next, and who of them is turned away after all.

use crate::codel::{Codel, Control};
use crate::time::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// In which order those that wait are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Discipline {
    /// First come, first served.
    #[default]
    Fifo,
    /// Last come, first served: in an overload some are served at once, and the others never.
    Lifo,
    /// First come, first served, but what has waited too long for too long is turned away.
    Codel(Codel),
}

/// What becomes of a request whose client has given it up while it waited. Its client has said how
/// long it would wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Expired {
    /// It is served, for nobody.
    #[default]
    Serve,
    /// It is dropped when its turn comes, and takes no server.
    Drop,
}

/// A request that waits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub(super) slot: u32,
    /// When it arrived.
    pub(super) since: Time,
    /// When its client gives it up.
    pub(super) until: Time,
}

/// What becomes of the request whose turn it is, by its slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// A server takes it.
    Serve(u32),
    /// It has waited too long: it gets the answer of a full backlog.
    Away(u32),
    /// Nobody waits for it any more.
    Drop(u32),
}

/// Requests that wait for a server, bounded.
#[derive(Debug)]
pub(super) struct Backlog {
    waiting: VecDeque<Waiting>,
    most: usize,
    discipline: Discipline,
    expired: Expired,
    control: Control,
}

impl Backlog {
    pub(super) fn new(most: u32, discipline: Discipline, expired: Expired) -> Self {
        let waiting = VecDeque::new();
        Self { waiting, most: most as usize, discipline, expired, control: Control::default() }
    }

    /// How many wait.
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Puts one in; whether there was room.
    pub(super) fn push(&mut self, waiting: Waiting) -> bool {
        let room = self.waiting.len() < self.most;
        if room {
            self.waiting.push_back(waiting);
        }
        room
    }

    /// Takes out the one whose turn it is, now that a server is free.
    pub(super) fn pop(&mut self, now: Time) -> Option<Turn> {
        let next = match self.discipline {
            Discipline::Lifo => self.waiting.pop_back()?,
            Discipline::Fifo | Discipline::Codel(_) => self.waiting.pop_front()?,
        };
        if self.expired == Expired::Drop && next.until <= now {
            return Some(Turn::Drop(next.slot));
        }
        if let Discipline::Codel(codel) = self.discipline
            && self.control.drops(codel, now, now.since(next.since), self.waiting.len())
        {
            return Some(Turn::Away(next.slot));
        }
        Some(Turn::Serve(next.slot))
    }

    pub(super) fn clear(&mut self) {
        self.waiting.clear();
    }
}
