//! An arm's way to its backend and back, simulated: keep-alive connections through a proxy with
//! toxics, and the service model.
//!
//! As in the live world, a call takes an idle connection or opens one, and has it to itself until
//! its answer is there. While there is nothing wrong with the network a call goes straight to the
//! backend: the network itself takes no time in virtual mode.

mod answer;
mod connection;
mod transfers;

use super::super::world::{ArmFaults, GivenUp, ReadBack};
use crate::backend::FILE_PATH;
use crate::experiment::file::Classify;
use crate::experiment::plan::ArmPlan;
use answer::Harmed;
use connection::{Cargo, Connection};
use faults::engine::ProxyState;
use faults::{Chain, Item, Payload, ProxyFaults, Stream, Tally, link_rng};
use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::rc::Rc;
use testbed_core::client::{Connections, Patience};
use testbed_core::download::{Progress, TransferId};
use testbed_core::event::Network;
use testbed_core::hold::Feed;
use testbed_core::request::{Answer, Attempt, Outcome, Ticket};
use testbed_core::rng::Streams;
use testbed_core::service::{BackendState, Counts, Released, Request, Service};
use testbed_core::time::{Nanos, Time};

/// Bytes of a request on the wire: about what the live client sends.
const REQUEST_BYTES: u64 = 100;
/// How long it takes to be known that a connection was refused, or closed by a toxic, so that a client that tries again at once
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

/// What came back to the client's side.
#[derive(Debug)]
pub(super) enum Back {
    Answer(Ticket, Answer),
    Transfer(TransferId, Progress),
    /// The backend lets an answer go that is for another arm, by index.
    Shared(usize, Released<Call>),
}

/// What the backend is given: where its answer goes. Another connection may have taken the place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    arm: usize,
    connection: usize,
    number: u64,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Path {
    /// The arm, by index.
    arm: usize,
    /// Whether it is this arm that lets the backend go on.
    hosts: bool,
    service: Rc<RefCell<Service<Call>>>,
    classify: Classify,
    connections_are: Connections,
    patience: Patience,
    classes: Vec<String>,
    faults: ProxyFaults,
    streams: Streams,
    name: String,
    connections: Vec<Connection>,
    idle: Vec<usize>,
    /// Places of connections that were closed.
    free: Vec<usize>,
    opened: u64,
    /// What toxics have done to links, as of the last look.
    tally: Tally,
    /// The connections of transfers.
    transfers: BTreeMap<TransferId, usize>,
    /// When something may move on a link. Entries may be stale; the link knows better.
    moves: BinaryHeap<Reverse<(Time, usize)>>,
    /// What came back without a link: calls that failed, and chunks on a plain link.
    known: BTreeMap<(Time, u64), Back>,
    events: u64,
}

impl Path {
    /// The way of the arm `index`, to the backend of `host` or to one of its own.
    pub(super) fn new(index: usize, arm: &ArmPlan, host: Option<&Self>, streams: &Streams) -> Self {
        let own = || Rc::new(RefCell::new(Service::new(&arm.backend, streams)));
        Self {
            arm: index,
            hosts: host.is_none(),
            service: host.map_or_else(own, |host| Rc::clone(&host.service)),
            classify: arm.classify(),
            connections_are: arm.client().connections,
            patience: arm.client().patience(),
            classes: arm.client().classes.into_keys().collect(),
            faults: ProxyFaults::default(),
            streams: *streams,
            name: arm.name.clone(),
            connections: Vec::new(),
            idle: Vec::new(),
            free: Vec::new(),
            opened: 0,
            tally: Tally::NOTHING,
            transfers: BTreeMap::new(),
            moves: BinaryHeap::new(),
            known: BTreeMap::new(),
            events: 0,
        }
    }

    pub(super) fn send(&mut self, now: Time, ticket: Ticket) {
        if !self.faults.enabled() {
            self.lose(now.after(REFUSED_AFTER), Cargo::Call(ticket), false);
            return;
        }
        let connection = self.idle.pop().unwrap_or_else(|| self.open(now));
        self.request(now, connection, Cargo::Call(ticket));
    }

    /// The client of a call that is under way closes its connection. The backend works on.
    pub(super) fn give_up(&mut self, attempt: Attempt) -> Option<GivenUp> {
        let carries = |link: &Connection| match &link.carries {
            Some(Cargo::Call(ticket)) => ticket.arrival.attempt() == attempt,
            _ => false,
        };
        let index = self.connections.iter().position(carries)?;
        let hit = Some(self.connections[index].is_struck());
        match self.leave(index)? {
            Cargo::Call(ticket) => Some(GivenUp { ticket, hit }),
            Cargo::Transfer(_) => None,
        }
    }

    /// Sends a request on its way to the backend.
    fn request(&mut self, now: Time, connection: usize, cargo: Cargo) {
        let link = &mut self.connections[connection];
        link.carries = Some(cargo);
        if link.up.is_plain() {
            self.arrive(now, connection);
        } else {
            link.missing = REQUEST_BYTES;
            link.up.push(now, Item::Data(Chunk(REQUEST_BYTES)));
            self.moves.push(Reverse((now, connection)));
        }
    }

    /// A request has reached the backend.
    fn arrive(&mut self, now: Time, connection: usize) {
        let Connection { number, carries, .. } = &self.connections[connection];
        let request = match carries {
            Some(Cargo::Transfer(_)) => Request { path: FILE_PATH, ..Request::CALL },
            Some(Cargo::Call(ticket)) => {
                let class = self.classes.get(usize::from(ticket.arrival.class.0));
                let patience = self.patience.left(&ticket.arrival, ticket.start);
                let (class, arm) = (class.map(String::as_str), Some(self.name.as_str()));
                Request { class, patience, arm, ..Request::CALL }
            }
            None => Request::CALL,
        };
        let call = Call { arm: self.arm, connection, number: *number };
        self.service.borrow_mut().arrive(now, request, call);
    }

    pub(super) fn next_wake(&self) -> Option<Time> {
        let moves = self.moves.peek().map(|Reverse((at, _))| *at);
        let known = self.known.first_key_value().map(|((at, _), _)| *at);
        let service = if self.hosts { self.service.borrow().next_wake() } else { None };
        Time::earliest([service, moves, known])
    }

    /// Does the next thing that is due at `now`; what came back by it, if anything.
    pub(super) fn advance(&mut self, now: Time) -> Option<Back> {
        if self.known.first_key_value().is_some_and(|((at, _), _)| *at <= now) {
            return self.known.pop_first().map(|(_, back)| back);
        }
        if self.moves.peek().is_some_and(|Reverse((at, _))| *at <= now) {
            return self.move_links(now);
        }
        if !self.hosts {
            return None;
        }
        let released = self.service.borrow_mut().release(now)?;
        if released.job.arm == self.arm {
            return self.answer(now, released);
        }
        Some(Back::Shared(released.job.arm, released))
    }

    /// Something comes back at `at`, behind what comes back then already.
    fn know(&mut self, at: Time, back: Back) {
        self.known.insert((at, self.events), back);
        self.events += 1;
    }

    /// What a connection carried is lost, and this is known at `at`. `hit` is whether a toxic acted
    /// on it.
    fn lose(&mut self, at: Time, cargo: Cargo, hit: bool) {
        let back = match cargo {
            Cargo::Call(ticket) => {
                let answer = Answer::without(Outcome::Error, ticket.start, at);
                Back::Answer(ticket, Answer { hit: Some(hit), ..answer })
            }
            Cargo::Transfer(transfer) => {
                self.transfers.remove(&transfer.id);
                Back::Transfer(transfer.id, Progress::Broken)
            }
        };
        self.know(at, back);
    }

    pub(super) fn set_faults(&mut self, now: Time, faults: &ArmFaults) {
        if self.hosts {
            let mut service = self.service.borrow_mut();
            service.set_hold(now, faults.hold);
            service.set_rules(faults.rules.clone());
            service.set_slow_starts(now, &faults.slow_starts);
            service.set_servers(now, faults.servers);
            service.set_frozen(now, faults.frozen);
        }
        if !self.faults.follow(now, &faults.proxy) {
            return;
        }
        if self.faults.enabled() {
            let open = |(_, link): &(usize, &mut Connection)| link.open;
            for (index, connection) in self.connections.iter_mut().enumerate().filter(open) {
                connection.up.apply(now, &self.faults);
                connection.down.apply(now, &self.faults);
                self.moves.push(Reverse((now, index)));
            }
        } else {
            self.cut(now);
        }
    }

    pub(super) fn feed(&mut self, feed: Feed) {
        self.service.borrow_mut().feed(feed);
    }

    pub(super) fn look(&mut self, now: Time) -> BackendState {
        self.service.borrow_mut().look(now)
    }

    pub(super) fn injected(&self) -> Vec<(String, Counts)> {
        let service = self.service.borrow();
        service.injected().map(|(name, counts)| (name.to_owned(), counts)).collect()
    }

    /// What toxics have done to its links so far.
    pub(super) fn network(&mut self) -> Network {
        for connection in &mut self.connections {
            self.tally.add(connection.take_tally());
        }
        let Tally { dropped, links_hit, aborts, resets } = self.tally;
        Network { links: 2 * self.opened, links_hit, dropped, aborts, resets }
    }

    pub(super) fn read_back(&self) -> ReadBack {
        let proxy = ProxyState::of(&self.name, &self.faults);
        ReadBack::new(Some(proxy), self.service.borrow().faults())
    }

    /// Closes everything; the tickets of calls that have not come back.
    pub(super) fn close(&mut self) -> Vec<Ticket> {
        self.service.borrow_mut().drain();
        let carried = self.connections.drain(..).filter_map(|connection| connection.carries);
        let carried = carried.filter_map(|cargo| match cargo {
            Cargo::Call(ticket) => Some(ticket),
            Cargo::Transfer(_) => None,
        });
        let known = std::mem::take(&mut self.known).into_values();
        let known = known.filter_map(|back| match back {
            Back::Answer(ticket, _) => Some(ticket),
            Back::Transfer(..) | Back::Shared(..) => None,
        });
        carried.chain(known).collect()
    }

    /// A new connection, in the place of one that was closed if there is one.
    fn open(&mut self, now: Time) -> usize {
        let number = self.opened;
        self.opened += 1;
        let link = |stream| {
            let mut chain = Chain::new(stream, link_rng(&self.streams, &self.name, number, stream));
            chain.apply(now, &self.faults);
            chain
        };
        let (up, down) = (link(Stream::Upstream), link(Stream::Downstream));
        let index = self.place(Connection::new(number, up, down));
        self.schedule(index);
        index
    }

    fn place(&mut self, connection: Connection) -> usize {
        if let Some(index) = self.free.pop() {
            self.connections[index] = connection;
            return index;
        }
        self.connections.push(connection);
        self.connections.len() - 1
    }

    /// Comes back to a connection when something may move on it, or a toxic will end it.
    fn schedule(&mut self, index: usize) {
        let Connection { up, down, harmed, .. } = &self.connections[index];
        let leaves = harmed.as_ref().and_then(Harmed::next_wake);
        let wakes = [up.next_wake(), down.next_wake(), leaves];
        if let Some(at) = Time::earliest(wakes) {
            self.moves.push(Reverse((at, index)));
        }
    }

    /// The proxy goes down: every connection is closed, and what it carried has failed. The backend
    /// goes on with its work; nobody will take the answers.
    fn cut(&mut self, now: Time) {
        self.idle.clear();
        self.free.clear();
        self.moves.clear();
        self.transfers.clear();
        let tally = &mut self.tally;
        let carried = self.connections.drain(..).filter_map(|mut link| {
            let hit = link.is_struck();
            tally.add(link.end());
            Some((link.carries?, hit))
        });
        let carried: Vec<_> = carried.collect();
        carried.into_iter().for_each(|(cargo, hit)| self.lose(now, cargo, hit));
    }

    /// Closes the connection in this place; what it carried.
    fn leave(&mut self, index: usize) -> Option<Cargo> {
        let connection = &mut self.connections[index];
        if std::mem::replace(&mut connection.open, false) {
            self.free.push(index);
        }
        connection.harmed = None;
        self.tally.add(connection.end());
        connection.carries.take()
    }

    /// A fault has ended a connection, and what it carried has failed.
    fn end(&mut self, now: Time, index: usize) {
        self.idle.retain(|idle| *idle != index);
        let hit = self.connections[index].is_struck();
        if let Some(cargo) = self.leave(index) {
            self.lose(now.after(REFUSED_AFTER), cargo, hit);
        }
    }
}

#[cfg(test)]
mod tests;
