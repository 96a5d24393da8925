//! The queue: requests that wait for the gate, bounded; who of them is next, and who leaves it unserved.
//!
//! Requests are kept in the order in which they came. A [discipline](QueueDiscipline) picks one of them, a
//! division of the window (`queue/partitions.rs`) says whom it may pick, and a [longest wait](GiveUp) sends away who
//! has waited too long.

mod discipline;
mod give_up;
mod partitions;

pub use discipline::{AdaptiveLifo, QueueDiscipline};
pub use give_up::{GiveUp, Tie, Zero};

use crate::quantity::Share;
use crate::request::Arrival;
use crate::rng::Streams;
use crate::time::{Nanos, Time};
use discipline::Order;
use partitions::Partitions;
use std::collections::VecDeque;

/// How requests wait.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueConfig {
    /// Requests that may wait.
    pub max: usize,
    /// Who is next.
    pub discipline: QueueDiscipline,
    /// When one leaves that has waited too long; never, if `None`.
    pub give_up: Option<GiveUp>,
    /// The share of the window of each class, by its number; empty if the window is not divided.
    pub shares: Vec<Share>,
}

/// Why a request was turned away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// The law did not accept it.
    Law,
    /// The queue was full.
    Full,
    /// CoDel dropped it when its turn came.
    Codel,
    /// It had waited as long as a request may.
    MaxWait,
}

impl Rejection {
    /// Why a request is turned away that had a place in the queue, and so had waited.
    pub const QUEUED: [Self; 2] = [Self::Codel, Self::MaxWait];

    /// The reason's name in series and metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Law => "law",
            Self::Full => "full",
            Self::Codel => "codel",
            Self::MaxWait => "max_wait",
        }
    }
}

/// Whose turn it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// That of the request at this place, which still waits.
    Go(usize),
    /// That of a request that has waited too long: it has left the queue.
    Away(Arrival),
}

/// A request that waits.
#[derive(Clone, Copy, Debug)]
struct Waiter {
    arrival: Arrival,
    /// When it came into the queue.
    since: Time,
    /// Whether its turn has come and CoDel let it pass; it is judged once.
    passed: bool,
}

/// A bounded queue of waiting requests.
#[derive(Debug)]
pub struct Queue {
    /// In the order in which they came.
    waiting: VecDeque<Waiter>,
    max: usize,
    order: Order,
    give_up: Option<GiveUp>,
    partitions: Option<Partitions>,
    /// When a place at the gate was last released.
    released: Time,
    looks: u64,
}

impl Queue {
    /// An empty queue for `max` requests, first come, first served.
    pub const fn new(max: usize) -> Self {
        let (give_up, partitions) = (None, None);
        let (order, released) = (Order::Fifo, Time::ZERO);
        Self { waiting: VecDeque::new(), max, order, give_up, partitions, released, looks: 0 }
    }

    /// An empty queue. Chance comes from the stream `queue`.
    pub fn of(config: &QueueConfig, streams: &Streams) -> Self {
        Self {
            order: Order::new(config.discipline, streams),
            give_up: config.give_up,
            partitions: Partitions::new(&config.shares),
            ..Self::new(config.max)
        }
    }

    /// Requests that wait.
    pub fn len(&self) -> u32 {
        self.waiting.len() as u32
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// How often somebody looked whether it may go: for each grant one, or all that wait where they race.
    pub const fn looks(&self) -> u64 {
        self.looks
    }

    /// How long the request that came first of those that wait has waited; 0 if nobody waits.
    pub fn oldest(&self, now: Time) -> Nanos {
        self.waiting.front().map_or(Nanos::ZERO, |waiter| now.since(waiter.arrival.planned))
    }

    /// Puts in a request that comes at `now`.
    ///
    /// # Errors
    /// Hands the request back when the queue is full.
    pub fn push(&mut self, now: Time, arrival: Arrival) -> Result<(), Arrival> {
        if self.waiting.len() >= self.max {
            return Err(arrival);
        }
        if self.waiting.is_empty() {
            self.order.begins(now);
        }
        self.waiting.push_back(Waiter { arrival, since: now, passed: false });
        if let Some(partitions) = &mut self.partitions {
            partitions.queued(arrival.class);
        }
        Ok(())
    }

    /// Whose turn it is at a gate that has room and this limit.
    pub fn turn(&mut self, now: Time, limit: u64) -> Option<Turn> {
        let place = self.pick(now, limit)?;
        self.looks += self.order.looks(self.waiting.len());
        let others = self.waiting.len() - 1;
        let waiter = &mut self.waiting[place];
        let waited = now.since(waiter.since);
        if !waiter.passed && self.order.drops(now, waited, others) {
            return self.remove(place).map(Turn::Away);
        }
        waiter.passed = true;
        Some(Turn::Go(place))
    }

    /// First one whose partition is below its limit, then anyone.
    fn pick(&mut self, now: Time, limit: u64) -> Option<usize> {
        let Self { order, partitions, waiting, .. } = self;
        let len = waiting.len();
        let entitled = partitions.as_ref().filter(|partitions| partitions.one_is_below(limit));
        match entitled {
            None => order.pick(now, len, |_| true),
            Some(all) => order.pick(now, len, |at| all.is_below(waiting[at].arrival.class, limit)),
        }
    }

    /// The request at a place that [`Queue::turn`] has named.
    ///
    /// # Panics
    /// When the queue has changed since.
    pub fn at(&self, place: usize) -> &Arrival {
        &self.waiting[place].arrival
    }

    /// Lets go the request at a place that [`Queue::turn`] has named.
    pub fn take(&mut self, place: usize) -> Option<Arrival> {
        let arrival = self.remove(place)?;
        if let Some(partitions) = &mut self.partitions {
            partitions.entered(arrival.class);
        }
        Some(arrival)
    }

    /// Lets go whose turn it is, whatever limits, laws and waits say.
    pub fn take_next(&mut self, now: Time) -> Option<Arrival> {
        let place = self.order.pick(now, self.waiting.len(), |_| true)?;
        self.take(place)
    }

    /// Takes out one that leaves because it has waited for too long.
    pub fn leave(&mut self, now: Time) -> Option<Arrival> {
        let (place, _) = self.next_to_leave().filter(|(_, at)| *at <= now)?;
        self.remove(place)
    }

    /// Takes out a request that will never run.
    pub fn abandon(&mut self) -> Option<Arrival> {
        self.remove(0)
    }

    /// A request of this class that was let go has ended: whoever waits looks at the gate.
    pub fn released(&mut self, now: Time, arrival: &Arrival) {
        self.released = now;
        if let Some(partitions) = &mut self.partitions {
            partitions.left(arrival.class);
        }
    }

    /// When the next request leaves that has waited for too long.
    pub fn next_wake(&self) -> Option<Time> {
        self.next_to_leave().map(|(_, at)| at)
    }

    /// Whether one that leaves at `now` takes the permit with it that was released at the same instant.
    pub fn loses_permit(&self, now: Time) -> bool {
        self.released == now && self.give_up.is_some_and(|give_up| give_up.tie == Tie::LosesPermit)
    }

    /// Who leaves next, and when. Who came first leaves first, so it is the first that will leave at all.
    fn next_to_leave(&self) -> Option<(usize, Time)> {
        let give_up = self.give_up?;
        let leaves = |(place, waiter): (usize, &Waiter)| {
            Some((place, give_up.leaves_at(waiter.since, self.released)?))
        };
        self.waiting.iter().enumerate().find_map(leaves)
    }

    fn remove(&mut self, place: usize) -> Option<Arrival> {
        let arrival = self.waiting.remove(place)?.arrival;
        if let Some(partitions) = &mut self.partitions {
            partitions.gone(arrival.class);
        }
        Some(arrival)
    }
}

#[cfg(test)]
mod tests;
