//! The backlog: who of those that wait for a server is next, and who of them is turned away after all.

mod fair;

pub use fair::{By, Fair, Start};

use super::http::Request;
use crate::codel::{Codel, Control};
use crate::time::{Nanos, Time};
use fair::Flows;
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
    /// The flow that has been worked for least is next, and in it first come, first served.
    Fair(Fair),
}

impl Discipline {
    /// Whether requests must say which arm they are of.
    pub const fn goes_by_arm(&self) -> bool {
        matches!(self, Self::Fair(Fair { by: By::Arm, .. }))
    }
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
    /// It is dropped when its turn comes and its client will not wait as long as its service takes,
    /// slow starts aside: no server begins what cannot end in time.
    DropHopeless,
}

impl Expired {
    /// Whether a request whose turn comes at `now` is dropped.
    fn drops(self, now: Time, next: &Waiting) -> bool {
        match self {
            Self::Serve => false,
            Self::Drop => next.until <= now,
            Self::DropHopeless => next.until < now.after(next.service),
        }
    }
}

/// A request that waits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub(super) slot: u32,
    /// When it arrived.
    pub(super) since: Time,
    /// When its client gives it up.
    pub(super) until: Time,
    /// How long a server will work on it.
    pub(super) service: Nanos,
    /// Whom it belongs to.
    pub(super) flow: u32,
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
    /// Those that wait if queueing is fair, in place of the others.
    flows: Option<Flows>,
    most: usize,
    discipline: Discipline,
    expired: Expired,
    control: Control,
}

impl Backlog {
    pub(super) fn new(most: u32, discipline: Discipline, expired: Expired) -> Self {
        let flows = match discipline {
            Discipline::Fair(fair) => Some(Flows::new(fair)),
            Discipline::Fifo | Discipline::Lifo | Discipline::Codel(_) => None,
        };
        let (waiting, control) = (VecDeque::new(), Control::default());
        Self { waiting, flows, most: most as usize, discipline, expired, control }
    }

    /// How many wait.
    pub(super) fn len(&self) -> usize {
        self.waiting.len() + self.flows.as_ref().map_or(0, Flows::len)
    }

    /// The flow of a request that arrives; all are of one unless queueing is fair.
    pub(super) fn arrive(&mut self, now: Time, request: Request<'_>) -> u32 {
        self.flows.as_mut().map_or(0, |flows| flows.arrive(now, request))
    }

    /// A server begins to work for a flow.
    pub(super) fn begin(&mut self, now: Time, flow: u32) {
        if let Some(flows) = &mut self.flows {
            flows.begin(now, flow);
        }
    }

    /// A server has worked so long for a flow.
    pub(super) fn end(&mut self, now: Time, flow: u32, work: Nanos) {
        if let Some(flows) = &mut self.flows {
            flows.end(now, flow, work);
        }
    }

    /// Puts one in; whether there was room.
    pub(super) fn push(&mut self, waiting: Waiting) -> bool {
        if self.len() >= self.most {
            return false;
        }
        match &mut self.flows {
            Some(flows) => flows.push(waiting),
            None => self.waiting.push_back(waiting),
        }
        true
    }

    /// Takes out the one whose turn it is, now that a server is free.
    pub(super) fn pop(&mut self, now: Time) -> Option<Turn> {
        let next = match self.discipline {
            Discipline::Lifo => self.waiting.pop_back()?,
            Discipline::Fifo | Discipline::Codel(_) => self.waiting.pop_front()?,
            Discipline::Fair(_) => self.flows.as_mut()?.pop(now)?,
        };
        if self.expired.drops(now, &next) {
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
        if let Discipline::Fair(fair) = self.discipline {
            self.flows = Some(Flows::new(fair));
        }
    }
}
