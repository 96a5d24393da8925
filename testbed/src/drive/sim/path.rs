//! An arm's way to its backend and back, simulated: keep-alive connections through a proxy with
//! toxics, and the service model.
//!
//! As in the live world, a call takes an idle connection or opens one, and has it to itself until
//! its answer is there. While there is nothing wrong with the network a call goes straight to the
//! backend: the network itself takes no time in virtual mode.

use super::super::world::ArmFaults;
use crate::experiment::file::Classify;
use crate::experiment::plan::ArmPlan;
use faults::{Chain, Item, Payload, ProxyFaults, Stream, link_rng};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use testbed_core::hold::Feed;
use testbed_core::request::{Answer, Outcome, Served, Ticket};
use testbed_core::rng::Streams;
use testbed_core::service::{BackendState, Released, Service};
use testbed_core::time::{Nanos, Time};

/// Bytes of a request and of an answer on the wire: about what the live client and backend send.
const REQUEST_BYTES: u64 = 100;
const ANSWER_BYTES: u64 = 200;
/// How long a refused connection takes to be known, so that a client that tries again at once
/// cannot stop virtual time. A refusal on loopback takes about this long.
const REFUSED_AFTER: Nanos = Nanos::from_micros(100);

/// A chunk of a message of which only the length matters.
#[derive(Debug)]
struct Chunk(u64);

impl Payload for Chunk {
    fn len(&self) -> u64 {
        self.0
    }

    fn split_to(&mut self, n: u64) -> Self {
        let front = n.min(self.0);
        self.0 -= front;
        Self(front)
    }
}

/// What the backend is given: where its answer goes. `epoch` tells whether that still exists.
#[derive(Clone, Copy, Debug)]
struct Call {
    connection: usize,
    epoch: u32,
}

#[derive(Debug)]
struct Connection {
    up: Chain<Chunk>,
    down: Chain<Chunk>,
    carries: Option<Ticket>,
    /// Bytes of the message under way that have not arrived yet.
    missing: u64,
    answer: Option<(u16, Served)>,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Path {
    service: Service<Call>,
    classify: Classify,
    faults: ProxyFaults,
    streams: Streams,
    name: String,
    connections: Vec<Connection>,
    idle: Vec<usize>,
    opened: u64,
    epoch: u32,
    /// When something may move on a link. Entries may be stale; the link knows better.
    moves: BinaryHeap<Reverse<(Time, usize)>>,
    /// Calls that failed, in the order in which this becomes known.
    failed: VecDeque<(Time, Ticket)>,
}

impl Path {
    pub(super) fn new(arm: &ArmPlan, streams: &Streams) -> Self {
        Self {
            service: Service::new(&arm.backend, streams),
            classify: arm.admission.classify.clone(),
            faults: ProxyFaults::default(),
            streams: *streams,
            name: arm.name.clone(),
            connections: Vec::new(),
            idle: Vec::new(),
            opened: 0,
            epoch: 0,
            moves: BinaryHeap::new(),
            failed: VecDeque::new(),
        }
    }

    pub(super) fn send(&mut self, now: Time, ticket: Ticket) {
        if !self.faults.enabled() {
            self.failed.push_back((now.after(REFUSED_AFTER), ticket));
            return;
        }
        let connection = self.idle.pop().unwrap_or_else(|| self.open(now));
        let link = &mut self.connections[connection];
        link.carries = Some(ticket);
        if link.up.is_plain() {
            self.service.arrive(now, Call { connection, epoch: self.epoch });
        } else {
            link.missing = REQUEST_BYTES;
            link.up.push(now, Item::Data(Chunk(REQUEST_BYTES)));
            self.moves.push(Reverse((now, connection)));
        }
    }

    pub(super) fn next_wake(&self) -> Option<Time> {
        let moves = self.moves.peek().map(|Reverse((at, _))| *at);
        let failed = self.failed.front().map(|(at, _)| *at);
        Time::earliest([self.service.next_wake(), moves, failed])
    }

    /// Does the next thing that is due at `now`; a request that came back by it, if any.
    pub(super) fn advance(&mut self, now: Time) -> Option<(Ticket, Answer)> {
        if self.failed.front().is_some_and(|(at, _)| *at <= now) {
            let (_, ticket) = self.failed.pop_front()?;
            let answer = Answer::without(Outcome::Error, ticket.start, now);
            return Some((ticket, answer));
        }
        if self.moves.peek().is_some_and(|Reverse((at, _))| *at <= now) {
            return self.move_links(now);
        }
        let released = self.service.release(now)?;
        self.answer(now, &released)
    }

    pub(super) fn set_faults(&mut self, now: Time, faults: &ArmFaults) {
        self.service.set_hold(faults.hold);
        self.service.set_rejects(faults.rejects.clone());
        if self.faults == faults.proxy {
            return;
        }
        self.faults.clone_from(&faults.proxy);
        if self.faults.enabled() {
            for (index, connection) in self.connections.iter_mut().enumerate() {
                connection.up.apply(now, &self.faults);
                connection.down.apply(now, &self.faults);
                self.moves.push(Reverse((now, index)));
            }
        } else {
            self.cut(now);
        }
    }

    pub(super) fn feed(&mut self, feed: Feed) {
        self.service.feed(feed);
    }

    pub(super) fn look(&mut self, now: Time) -> BackendState {
        self.service.look(now)
    }

    pub(super) fn close(&mut self) -> Vec<Ticket> {
        self.service.drain();
        let carried = self.connections.drain(..).filter_map(|connection| connection.carries);
        carried.chain(self.failed.drain(..).map(|(_, ticket)| ticket)).collect()
    }

    fn open(&mut self, now: Time) -> usize {
        let link = |stream| {
            let mut chain =
                Chain::new(stream, link_rng(&self.streams, &self.name, self.opened, stream));
            chain.apply(now, &self.faults);
            chain
        };
        let (up, down) = (link(Stream::Upstream), link(Stream::Downstream));
        self.opened += 1;
        self.connections.push(Connection { up, down, carries: None, missing: 0, answer: None });
        self.connections.len() - 1
    }

    /// The proxy goes down: every connection is closed, and what it carried has failed. The backend
    /// goes on with its work; nobody will take the answers.
    fn cut(&mut self, now: Time) {
        self.epoch += 1;
        self.idle.clear();
        self.moves.clear();
        let carried = self.connections.drain(..).filter_map(|connection| connection.carries);
        self.failed.extend(carried.map(|ticket| (now, ticket)));
    }

    fn move_links(&mut self, now: Time) -> Option<(Ticket, Answer)> {
        let Reverse((_, index)) = self.moves.pop()?;
        let connection = self.connections.get_mut(index)?;
        let mut back = None;
        while let Some(item) = connection.up.pop(now) {
            if connection.arrived(&item) {
                self.service.arrive(now, Call { connection: index, epoch: self.epoch });
            }
        }
        while let Some(item) = connection.down.pop(now) {
            if connection.arrived(&item) {
                back = connection.answer.take();
            }
        }
        let wakes = [connection.up.next_wake(), connection.down.next_wake()];
        if let Some(at) = Time::earliest(wakes) {
            self.moves.push(Reverse((at, index)));
        }
        let (status, served) = back?;
        self.complete(now, index, status, served)
    }

    fn answer(&mut self, now: Time, released: &Released<Call>) -> Option<(Ticket, Answer)> {
        let Released { job: Call { connection: index, epoch }, status, served } = *released;
        if epoch != self.epoch {
            return None;
        }
        let connection = &mut self.connections[index];
        if connection.down.is_plain() {
            return self.complete(now, index, status, served);
        }
        connection.missing = ANSWER_BYTES;
        connection.answer = Some((status, served));
        connection.down.push(now, Item::Data(Chunk(ANSWER_BYTES)));
        self.moves.push(Reverse((now, index)));
        None
    }

    fn complete(
        &mut self,
        now: Time,
        index: usize,
        status: u16,
        served: Served,
    ) -> Option<(Ticket, Answer)> {
        self.idle.push(index);
        let ticket = self.connections[index].carries.take()?;
        let answer = Answer {
            sent: ticket.start,
            end: now,
            outcome: self.classify.outcome(status),
            bytes: ANSWER_BYTES,
            served: Some(served),
        };
        Some((ticket, answer))
    }
}

impl Connection {
    /// Takes in what came off a link; whether the message is complete by it.
    fn arrived(&mut self, item: &Item<Chunk>) -> bool {
        let Item::Data(chunk) = item else {
            return false;
        };
        self.missing = self.missing.saturating_sub(chunk.0);
        self.missing == 0
    }
}
