//! A connection of an arm's way: its two links and what it carries.

use super::Chunk;
use super::answer::Harmed;
use super::transfers::Transfer;
use faults::{Chain, Item, Tally};
use testbed_core::request::{Served, Ticket};
use testbed_core::service::RetryAfter;
use testbed_core::time::Time;

#[derive(Debug)]
pub(super) struct Connection {
    /// Connections opened before it.
    pub(super) number: u64,
    /// Whether its place is still its own.
    pub(super) open: bool,
    pub(super) up: Chain<Chunk>,
    pub(super) down: Chain<Chunk>,
    pub(super) carries: Option<Cargo>,
    /// Bytes of the message under way that have not arrived yet.
    pub(super) missing: u64,
    pub(super) answer: Option<Head>,
    /// An answer on its way to which a rule does something.
    pub(super) harmed: Option<Harmed>,
    /// Whether the answer says that no other follows.
    pub(super) last: bool,
}

/// What is in the head of an answer.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) status: u16,
    /// Bytes of the body.
    pub(super) body: u64,
    pub(super) served: Served,
    /// What its Retry-After says, and when it was written.
    pub(super) retry_after: Option<(RetryAfter, Time)>,
}

/// What a connection is taken for.
#[derive(Debug)]
pub(super) enum Cargo {
    Call(Ticket),
    Transfer(Transfer),
}

impl Connection {
    /// The connection of this number, idle.
    pub(super) const fn new(number: u64, up: Chain<Chunk>, down: Chain<Chunk>) -> Self {
        Self {
            number,
            open: true,
            up,
            down,
            carries: None,
            missing: 0,
            answer: None,
            harmed: None,
            last: false,
        }
    }

    /// Whether a toxic acts on one of its links now.
    pub(super) fn is_struck(&self) -> bool {
        self.up.is_struck() || self.down.is_struck()
    }

    /// What toxics have done to its links since the last call.
    pub(super) fn take_tally(&mut self) -> Tally {
        let mut tally = self.up.take_tally();
        tally.add(self.down.take_tally());
        tally
    }

    /// Lets go of what its links hold: it is closed. What toxics have done to them since the last call.
    pub(super) fn end(&mut self) -> Tally {
        self.up.discard();
        self.down.discard();
        self.take_tally()
    }

    /// Whether this is the connection of that number, and open.
    pub(super) const fn is(&self, number: u64) -> bool {
        self.open && self.number == number
    }

    /// Takes in what came off a link; whether the message is complete by it.
    pub(super) fn arrived(&mut self, item: &Item<Chunk>) -> bool {
        let Item::Data(chunk) = item else {
            return false;
        };
        self.missing = self.missing.saturating_sub(chunk.0);
        self.missing == 0
    }
}
