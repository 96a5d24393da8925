//! Every change of state, as data.
//!
//! No state changes without an event: a ledger that is rebuilt from events alone equals the true
//! state (`tests/operations.rs`). An observer matches this enum exhaustively, so a new event does not
//! compile until every exporter has decided what to do with it.

use crate::control::Update;
use crate::download::Change;
use crate::limit::Waiter;
use crate::limit::levels::Stock;
use crate::queue::Rejection;
use crate::request::{Arm, Arrival, Sample, Served};
use crate::service::Counts;
use crate::time::Nanos;
use crate::vitals::Vitals;
use crate::wait::{Wait, WaitEnd};

/// What toxics have done to the links of an arm since the run began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Network {
    /// Links that were opened: two a connection, one for each direction.
    pub links: u64,
    /// Those of them that a toxic has acted on.
    pub links_hit: u64,
    /// Bytes that came in and were not passed on.
    pub dropped: u64,
    /// Links that a toxic closed.
    pub aborts: u64,
    /// Links that a toxic reset.
    pub resets: u64,
}

/// One change of state. Its instant is passed beside it.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// The load offered a request, or its client tries it again.
    Arrived {
        /// Where.
        arm: Arm,
        /// The request.
        arrival: Arrival,
        /// How late the generator was against its plan.
        lag: Nanos,
    },
    /// A request was turned away, at once or after a wait, and will never run.
    Rejected {
        /// Where.
        arm: Arm,
        /// The request.
        arrival: Arrival,
        /// Why.
        why: Rejection,
    },
    /// A request was sent to the backend.
    Admitted {
        /// Where.
        arm: Arm,
        /// The request.
        arrival: Arrival,
        /// From its planned arrival until now.
        wait: Nanos,
        /// Requests in flight, itself included.
        in_flight: u32,
        /// Requests that still wait.
        waiting: u32,
        /// The limit now.
        limit: u64,
        /// Whether the window was asked. The end of an input may flush past it, and who has kept its
        /// place is not asked again.
        gated: bool,
    },
    /// A request ended, or one attempt of it.
    Finished {
        /// Where.
        arm: Arm,
        /// The request.
        arrival: Arrival,
        /// What its controller is told.
        sample: Sample,
        /// What the backend said of it.
        served: Option<Served>,
        /// Whether a toxic acted on the connection that carried it; `None` where nobody can tell.
        hit: Option<bool>,
        /// After how long its client tries it again; `None` if the request is over.
        again: Option<Nanos>,
        /// Requests in flight, itself no longer included.
        in_flight: u32,
    },
    /// A request was still waiting when the run ended.
    Abandoned {
        /// Where.
        arm: Arm,
        /// The request.
        arrival: Arrival,
    },
    /// The controller recomputed its window, whether or not the value changed.
    Updated {
        /// Where.
        arm: Arm,
        /// Old value, new value and the reason.
        update: Update,
        /// The law's inner numbers after it, among them the inputs that it used.
        vitals: &'a Vitals,
    },
    /// A waiter asked its limiter for tokens. Its wait ends with [`Event::WaitEnded`], perhaps at the
    /// same instant.
    Asked {
        /// Where.
        arm: Arm,
        /// Who asked for what, and what it was told.
        wait: Wait,
        /// Asks that wait, itself included.
        waiting: u32,
    },
    /// A wait for tokens ended.
    WaitEnded {
        /// Where.
        arm: Arm,
        /// The wait.
        wait: Wait,
        /// How it ended.
        end: WaitEnd,
        /// Waits that this grant overtook.
        overtook: u32,
        /// How late the limiter was woken for it (live).
        lag: Nanos,
        /// Asks that still wait.
        waiting: u32,
        /// Transfers at work or waiting, its own included.
        active: u32,
    },
    /// A transfer of a download began, was aborted, or ended.
    Transfer {
        /// Where.
        arm: Arm,
        /// The segment and its task.
        waiter: Waiter,
        /// What happened.
        change: Change,
        /// Transfers at work or waiting.
        active: u32,
    },
    /// The state of a limiter, taken at each sampling instant.
    Limiter {
        /// Where.
        arm: Arm,
        /// Its inner numbers.
        vitals: &'a Vitals,
        /// Tokens for all together in bytes, negative in debt:
        /// [`Limiter::tokens`](crate::limit::Limiter::tokens).
        tokens: Option<f64>,
        /// Where the tokens of each level came from and went, in the order of
        /// [`Level::ALL`](crate::limit::Level::ALL); `None` where a level has no limit.
        stocks: &'a [Option<Stock>; 3],
    },
    /// A finite input has been worked off.
    InputDone {
        /// Where.
        arm: Arm,
        /// From the first planned arrival to the last end.
        makespan: Nanos,
    },
    /// What a rule about single requests has done so far, taken at each sampling instant.
    Injected {
        /// Where.
        arm: Arm,
        /// The fault's name in the experiment file.
        name: &'a str,
        /// How often, and to how many at present.
        counts: Counts,
    },
    /// What toxics have done so far, taken at each sampling instant where the engine can tell.
    Network {
        /// Where.
        arm: Arm,
        /// How often.
        network: Network,
    },
    /// The run is over, and its faults are off: what the fault engine and the backend themselves say.
    Healed {
        /// Where.
        arm: Arm,
        /// Whether the proxy is up.
        up: bool,
        /// The names of faults that are still there; none, unless something is broken.
        left: &'a [String],
    },
    /// A feed has reached a backend in another process, and with it what a gradient hold there goes by;
    /// told of at the next sampling instant.
    Fed {
        /// Where.
        arm: Arm,
        /// How long after the answer that it speaks of.
        lag: Nanos,
    },
    /// The state of an admission, taken at each sampling instant.
    Queue {
        /// Where.
        arm: Arm,
        /// How long the request that came first of those that wait has waited; 0 if nobody waits.
        oldest: Nanos,
        /// How often somebody has looked whether it may go, since the run began.
        looks: u64,
        /// Permits that were lost since the run began: nobody will ever give them back.
        lost: u32,
    },
    /// The state of the backend, taken at each sampling instant.
    Backend {
        /// Where.
        arm: Arm,
        /// Requests inside, in service, waiting and held.
        in_system: u32,
        /// Requests that wait for a server.
        queued: u32,
        /// Mean share of busy servers since the last sampling instant.
        utilisation: f64,
    },
    /// A phase began; the one before it ended.
    Phase {
        /// Its index in the file.
        index: usize,
        /// Its name.
        name: &'a str,
    },
    /// A fault was switched on or off.
    Fault {
        /// Its index in the file.
        index: usize,
        /// Its name.
        name: &'a str,
        /// On or off.
        on: bool,
    },
    /// The world's runtime has run a task that was ready (live); asked for at each sampling instant.
    Runtime {
        /// How long the task was ready before it ran.
        lag: Nanos,
    },
    /// A sampling instant: every interval, and at each phase's end.
    Tick,
    /// The run is over; nothing follows.
    End,
}
