//! Answers on a simulated way: those that leave at once and whole, and those that a rule lets leave
//! otherwise.

use super::connection::{Cargo, Connection, Head};
use super::{Back, Call, Chunk, Path};
use faults::Item;
use std::cmp::Reverse;
use testbed_core::client::Connections;
use testbed_core::request::Answer;
use testbed_core::service::{Active, End, Harm, Leaving, Manner, Released, RetryAfter, Schedule};
use testbed_core::time::{Nanos, Time};

/// Bytes of an answer's head on the wire: about what the live backend sends.
const HEAD_BYTES: u64 = 197;

/// An answer to which a rule does something, on its way into its connection.
#[derive(Debug)]
pub(super) struct Harmed {
    leaving: Leaving,
    /// Bytes of the head that go with the first of the body.
    head: u64,
    /// Bytes of the body that may go. A call takes all; a transfer what has been asked for.
    asked: u64,
    /// Whether nothing is left to be done but to stay.
    over: bool,
    _active: Active,
}

impl Harmed {
    /// The answer of a call.
    fn call(schedule: Schedule, now: Time, active: Active) -> Self {
        let leaving = Leaving::new(schedule, now);
        Self { leaving, head: HEAD_BYTES, asked: u64::MAX, over: false, _active: active }
    }

    /// The answer of a transfer of so many bytes, of which only what is asked for is taken. Its client
    /// takes no more than was declared, so what is sent beyond does not matter.
    pub(super) fn transfer(length: u64, now: Time, Harm { manner, active, .. }: Harm) -> Self {
        let schedule = manner.schedule(length);
        let leaving = Leaving::new(Schedule { sent: schedule.taken(), ..schedule }, now);
        Self { leaving, head: 0, asked: 0, over: false, _active: active }
    }

    /// An answer that breaks its transfer off by its head, when that comes.
    pub(super) fn refusal(now: Time, Harm { manner, active, .. }: Harm) -> Self {
        let schedule = Schedule { end: End::Close, ..manner.schedule(0) };
        let leaving = Leaving::new(schedule, now);
        Self { leaving, head: 0, asked: 1, over: false, _active: active }
    }

    /// So many further bytes of the body may go.
    pub(super) const fn ask(&mut self, bytes: u64) {
        self.asked += bytes;
    }

    /// When something leaves next, if nothing is asked for in between.
    pub(super) fn next_wake(&self) -> Option<Time> {
        let waits = self.over || self.head == 0 && self.asked == 0;
        (!waits).then(|| self.leaving.due()).filter(|due| *due < Time::NEVER)
    }

    /// What leaves next, if anything does at `now`.
    fn next_item(&mut self, now: Time) -> Option<Item<Chunk>> {
        self.next_wake().filter(|due| *due <= now)?;
        let body = self.leaving.take(self.asked);
        if body + self.head > 0 {
            self.asked -= body;
            return Some(Item::Data(Chunk(std::mem::take(&mut self.head) + body)));
        }
        // It has no more, and more is asked for.
        self.over = true;
        match self.leaving.schedule().end {
            End::Close => Some(Item::Eof),
            End::Reset => Some(Item::Reset),
            End::KeepAlive | End::StaysOpen => None,
        }
    }
}

impl Connection {
    /// Lets go into the link what leaves at `now`.
    fn let_out(&mut self, now: Time) {
        let Some(harmed) = &mut self.harmed else { return };
        while let Some(item) = harmed.next_item(now) {
            self.down.push(now, item);
        }
    }
}

impl Path {
    /// Moves on what is due at `now` on a connection; what came back by it, if anything.
    pub(super) fn move_links(&mut self, now: Time) -> Option<Back> {
        let Reverse((_, index)) = self.moves.pop()?;
        let connection = self.connections.get_mut(index).filter(|link| link.open)?;
        let (mut requested, mut arrived, mut ended) = (false, false, false);
        while let Some(item) = connection.up.pop(now) {
            ended |= item.is_end();
            requested |= connection.arrived(&item);
        }
        connection.let_out(now);
        while let Some(item) = connection.down.pop(now) {
            ended |= item.is_end();
            arrived |= connection.arrived(&item);
        }
        if requested {
            self.arrive(now, index);
        }
        self.schedule(index);
        let back = if arrived { self.arrived(now, index) } else { None };
        if ended {
            self.end(now, index);
        }
        back
    }

    /// The backend lets an answer go.
    pub(in super::super) fn answer(&mut self, now: Time, released: Released<Call>) -> Option<Back> {
        let (Call { connection: index, number, .. }, released) = released.split();
        let Released { status, body, served, harm, .. } = released;
        let said = harm.as_ref().and_then(|harm| harm.retry_after.clone());
        let harm = harm.filter(|harm| harm.manner != Manner::Plain);
        let connection = self.connections.get_mut(index).filter(|link| link.is(number))?;
        if matches!(connection.carries, Some(Cargo::Transfer(_))) {
            return self.start_transfer(now, index, status, harm);
        }
        let retry_after = said.map(|said| (said, now));
        connection.answer = Some(Head { status, body, served, retry_after });
        if let Some(harm) = harm {
            self.harm(now, index, body, *harm);
        } else if connection.down.is_plain() {
            return self.arrived(now, index);
        } else {
            connection.missing = HEAD_BYTES + body;
            connection.down.push(now, Item::Data(Chunk(HEAD_BYTES + body)));
            self.moves.push(Reverse((now, index)));
        }
        None
    }

    /// The answer of a call leaves in its manner.
    fn harm(&mut self, now: Time, index: usize, body: u64, harm: Harm) {
        let Harm { manner, active, .. } = harm;
        let schedule = manner.schedule(body);
        let connection = &mut self.connections[index];
        connection.missing = HEAD_BYTES + schedule.declared;
        connection.last = schedule.is_last();
        connection.harmed = Some(Harmed::call(schedule, now, active));
        self.moves.push(Reverse((now, index)));
    }

    /// A whole message is through.
    fn arrived(&mut self, now: Time, index: usize) -> Option<Back> {
        let connection = &mut self.connections[index];
        let ticket = match connection.carries.take()? {
            Cargo::Call(ticket) => ticket,
            Cargo::Transfer(mut transfer) => {
                let back = transfer.received();
                connection.carries = Some(Cargo::Transfer(transfer));
                return back;
            }
        };
        let head = connection.answer.take()?;
        let hit = Some(connection.is_struck());
        if connection.last || self.connections_are == Connections::PerRequest {
            self.leave(index);
        } else {
            connection.harmed = None;
            self.idle.push(index);
        }
        let answer = Answer {
            sent: ticket.start,
            end: now,
            outcome: self.classify.outcome(head.status),
            bytes: head.body,
            served: Some(head.served),
            retry_after: head.retry_after.and_then(|(said, at)| wait(&said, at, now)),
            hit,
        };
        Some(Back::Answer(ticket, answer))
    }
}

/// How long a Retry-After that was written at `at` asks to wait when it is read at `now`. The wall
/// clock of virtual time begins at a whole second.
fn wait(said: &RetryAfter, at: Time, now: Time) -> Option<Nanos> {
    said.said(at.since(Time::ZERO)).wait(now.since(Time::ZERO))
}
