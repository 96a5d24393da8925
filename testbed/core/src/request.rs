//! A request's identity and its ticket: what it carries from admission to its end.

use crate::time::{Nanos, Time};

/// Which variant of the experiment: an index into the file's arms, in file order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Arm(pub u16);

impl Arm {
    /// The arm as an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A class of requests: an index into the classes of the arm's client, in file order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Class(pub u8);

/// Which attempt of which request of an arm.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Attempt {
    /// The request's number, from 0.
    pub request: u64,
    /// How often it was tried before.
    pub number: u32,
}

/// A request that the load has offered, or a client tries again, and that has not been admitted yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrival {
    /// Number of the request in its arm, from 0. Its retries keep it.
    pub id: u64,
    /// The client that sent it, from 0.
    pub client: u32,
    /// Its class; 0 without classes.
    pub class: Class,
    /// How often it was tried before.
    pub attempt: u32,
    /// When its first attempt was meant to arrive. Latencies count from here.
    pub first: Time,
    /// When this attempt was meant to arrive. Waits count from here, so a late generator cannot
    /// flatter them (coordinated omission).
    pub planned: Time,
}

impl Arrival {
    /// The first attempt of a request, of class 0.
    pub const fn new(id: u64, client: u32, planned: Time) -> Self {
        Self { id, client, class: Class(0), attempt: 0, first: planned, planned }
    }

    /// Which attempt of which request this is.
    pub const fn attempt(&self) -> Attempt {
        Attempt { request: self.id, number: self.attempt }
    }

    /// The next attempt of the same request, planned at `planned`.
    pub const fn again(self, planned: Time) -> Self {
        Self { attempt: self.attempt.saturating_add(1), planned, ..self }
    }
}

/// An admitted request's memory, from admission to its end. It is consumed by
/// [`Admission::finish`](crate::admission::Admission::finish), so it ends exactly once.
#[derive(PartialEq, Eq, Debug)]
#[must_use = "a ticket that is dropped leaves its slot taken for ever"]
pub struct Ticket {
    /// The request as it arrived.
    pub arrival: Arrival,
    /// When it was admitted and sent.
    pub start: Time,
    /// Since when its request has its place in the window: `start`, unless it has kept it from an
    /// earlier attempt.
    pub since: Time,
    /// Requests in flight just after it was admitted, itself included, and those that keep a place.
    pub in_flight_at_start: u32,
    /// The limit when it was admitted.
    pub limit_at_start: u64,
}

/// How a request ended, as the experiment's `classify` sees the answer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Outcome {
    /// An answer to build on.
    Success,
    /// The backend said that it is overloaded, for example by status 429.
    Overload,
    /// Another failure: a status that is not classified, or a broken connection.
    Error,
    /// No answer in time.
    Timeout,
    /// Given up by the caller, or cut off by the end of the run.
    Cancelled,
}

impl Outcome {
    /// Every outcome, in the order in which they are reported.
    pub const ALL: [Self; 5] =
        [Self::Success, Self::Overload, Self::Error, Self::Timeout, Self::Cancelled];

    /// Whether it is a drop in the sense of the laws that learn of losses: overloaded or too late.
    /// `None` for what says nothing of the load.
    pub const fn dropped(self) -> Option<bool> {
        match self {
            Self::Success => Some(false),
            Self::Overload | Self::Timeout => Some(true),
            Self::Error | Self::Cancelled => None,
        }
    }

    /// The outcome's name in series, events and metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Success => "ok",
            Self::Overload => "overload",
            Self::Error => "error",
            Self::Timeout => "timeout",
            Self::Cancelled => "cancelled",
        }
    }
}

/// What the backend says of a request that it answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Served {
    /// From the request's arrival at the backend to the release of its answer.
    pub age: Nanos,
    /// How much later than planned the answer was released: 0 in virtual time, the timer's and
    /// the machine's lateness in live runs. 0 under a gradient hold, whose plan moves.
    pub lateness: Nanos,
}

/// How a request came back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Answer {
    /// When the request was really written: the admission's instant in virtual time, a little later
    /// in live runs.
    pub sent: Time,
    /// When the answer was there, or the failure was known.
    pub end: Time,
    /// The classified result.
    pub outcome: Outcome,
    /// Body bytes received.
    pub bytes: u64,
    /// The backend's own account, if an answer of the service arrived.
    pub served: Option<Served>,
    /// How long the answer asks its client to wait before it tries again: a Retry-After header.
    pub retry_after: Option<Nanos>,
    /// Whether a toxic acted on the connection that carried it; `None` where nobody can tell.
    pub hit: Option<bool>,
}

impl Answer {
    /// An end without an answer.
    pub const fn without(outcome: Outcome, sent: Time, end: Time) -> Self {
        Self { sent, end, outcome, bytes: 0, served: None, retry_after: None, hit: None }
    }
}

/// What a finished request tells a controller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sample {
    /// When the request was admitted, or by a feedback of whole sequences its first attempt:
    /// round-trip times count from here.
    pub start: Time,
    /// When it was really written.
    pub sent: Time,
    /// When its answer was there.
    pub end: Time,
    /// Requests in flight just after it was admitted, itself included, and those that keep a place.
    pub in_flight_at_start: u32,
    /// The same just before it ended.
    pub in_flight_at_end: u32,
    /// The limit when it was admitted.
    pub limit_at_start: u64,
    /// How it ended.
    pub outcome: Outcome,
    /// Body bytes received.
    pub bytes: u64,
}

impl Sample {
    /// The round-trip time: from admission to the answer.
    pub const fn rtt(&self) -> Nanos {
        self.end.since(self.start)
    }
}
