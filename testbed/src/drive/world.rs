//! The world an experiment runs in: its time, and the way to the backend and back.

use crate::backend::BackendError;
use faults::EngineError;
use faults::engine::ProxyState;
use testbed_core::download::{Command, Progress, TransferId};
use testbed_core::event::Network;
use testbed_core::hold::{Feed, Hold};
use testbed_core::limit::{Limiter, LimiterConfig};
use testbed_core::request::{Answer, Arm, Attempt, Ticket};
use testbed_core::service::{BackendState, Counts, Rule, SlowStart};
use testbed_core::time::{Nanos, Time};
use thiserror::Error;

/// What is wrong, deliberately, on one arm's way to its backend and in the backend.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ArmFaults {
    /// Rules about single requests, with the names of their faults; the first that matches decides.
    pub rules: Vec<Rule>,
    /// What the backend is held at.
    pub hold: Option<Hold>,
    /// How many servers the backend has; those of the file if none.
    pub servers: Option<u32>,
    /// Whether the backend stands still.
    pub frozen: bool,
    /// Slow starts that are on, by the names of their faults; the slowest counts.
    pub slow_starts: Vec<(String, SlowStart)>,
    /// Toxics and whether the proxy is up.
    pub proxy: faults::ProxyFaults,
}

/// What happened when the world was let go on.
#[derive(Debug)]
pub enum Step {
    /// A request came back.
    Answer {
        /// The arm that sent it.
        arm: Arm,
        /// Its ticket.
        ticket: Ticket,
        /// How it came back.
        answer: Answer,
    },
    /// A transfer came on or broke.
    Transfer {
        /// The arm that it belongs to.
        arm: Arm,
        /// Which.
        id: TransferId,
        /// What became of it.
        progress: Progress,
    },
    /// The instant asked for, or before it somebody who is due: a limiter elsewhere has granted.
    Reached,
    /// Somebody asked for the run to stop.
    Interrupted(Signal),
}

/// An attempt that its client has given up.
#[derive(Debug)]
pub struct GivenUp {
    /// Its ticket.
    pub ticket: Ticket,
    /// Whether a toxic acted on the connection that carried it; `None` where nobody can tell.
    pub hit: Option<bool>,
}

/// What the fault engine and the backend themselves say of an arm's faults.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadBack {
    /// Whether the proxy is up.
    pub up: bool,
    /// The names of faults that are there: toxics, rules, and what else is wrong with the backend.
    pub left: Vec<String>,
}

impl ReadBack {
    /// A proxy's state, if there is a proxy, and what is wrong with the backend.
    pub fn new(proxy: Option<ProxyState>, backend: Vec<String>) -> Self {
        let up = proxy.as_ref().is_none_or(|proxy| proxy.enabled);
        let toxics = proxy.into_iter().flat_map(|proxy| proxy.toxics);
        Self { up, left: toxics.map(|toxic| toxic.name).chain(backend).collect() }
    }

    /// What is still there, in words; `None` if nothing is.
    pub fn unhealed(&self) -> Option<String> {
        let down = (!self.up).then_some("the proxy is down");
        let left = self.left.iter().map(String::as_str);
        let all: Vec<_> = down.into_iter().chain(left).collect();
        (!all.is_empty()).then(|| all.join(", "))
    }
}

/// Who asked a run to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Ctrl-C (SIGINT).
    Interrupt,
    /// SIGTERM.
    Terminate,
    /// The run's own: a gate was not met, or an abort came true.
    Halt,
}

impl Signal {
    /// What a process exits with that was stopped by it.
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Interrupt => 130,
            Self::Terminate => 143,
            Self::Halt => 4,
        }
    }
}

/// Something broke; it says nothing about the experiment's question.
#[derive(Debug, Error)]
pub enum WorldError {
    /// The simulation makes no progress.
    #[error(
        "virtual time stands still at {at}: {events} events at one instant; give clients a think \
         time, or rejections an `after:`"
    )]
    StandsStill {
        /// Where.
        at: Time,
        /// How many events have happened there.
        events: u64,
    },
    /// The fault engine did not do what it was to do, or has died.
    #[error("the fault engine failed: {0}")]
    Engine(#[from] EngineError),
    /// A backend elsewhere did not do what it was to do, or has died.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// A fault is still there at the end of the run.
    #[error("faults of arm `{arm}` are not healed: {what}")]
    NotHealed {
        /// The arm's name.
        arm: String,
        /// What is still there.
        what: String,
    },
    /// A part of the live world could not be set up or has died.
    #[error("{what}: {source}")]
    Io {
        /// What was being done.
        what: String,
        /// The system's answer.
        source: std::io::Error,
    },
}

/// What is left when a world is closed.
#[derive(Debug)]
pub struct Closed {
    /// The tickets of requests that did not come back.
    pub tickets: Vec<(Arm, Ticket)>,
    /// Whether everything is closed.
    pub outcome: Result<(), WorldError>,
}

/// Time and the way to the backends. The shell is written once over this; [`Sim`](super::sim::Sim)
/// simulates it, [`Live`](super::live::Live) has real sockets and real time.
pub trait World {
    /// The present instant.
    fn now(&self) -> Time;

    /// Whether the run has asked itself to stop: the next step will say so.
    fn halted(&self) -> bool;

    /// What an arm's downloads have in place of their policy, if this world has it from elsewhere.
    fn limiter(&mut self, _arm: Arm, _policy: &LimiterConfig) -> Option<Box<dyn Limiter>> {
        None
    }

    /// Sends an admitted request on its way.
    fn send(&mut self, arm: Arm, ticket: Ticket);

    /// A client gives an attempt up and closes its connection; what it was, unless it has come back.
    fn give_up(&mut self, arm: Arm, attempt: Attempt) -> Option<GivenUp>;

    /// Opens, reads or closes a transfer.
    fn transfer(&mut self, arm: Arm, command: Command);

    /// Goes on until something comes back, but not beyond `until`.
    ///
    /// # Errors
    /// When the world is broken; the run cannot go on.
    fn step(&mut self, until: Time) -> Result<Step, WorldError>;

    /// Makes these, and no others, the faults of `arm`.
    ///
    /// # Errors
    /// When the fault engine did not take them.
    fn set_faults(&mut self, arm: Arm, faults: &ArmFaults) -> Result<(), WorldError>;

    /// Tells the backend what the client's side knows, for a gradient hold to follow.
    fn feed(&mut self, arm: Arm, feed: Feed);

    /// How long the feeds since the last call were on their way to a backend elsewhere; asked for at each
    /// sampling instant. None where a feed is a call of a function.
    fn feed_lags(&mut self, _arm: Arm) -> Vec<Nanos> {
        Vec::new()
    }

    /// The state of an arm's backend.
    fn look(&mut self, arm: Arm) -> BackendState;

    /// What every rule that was ever in force in an arm's backend has done so far, by the name of its
    /// fault. Nothing once the world is closed.
    fn injected(&mut self, arm: Arm) -> Vec<(String, Counts)>;

    /// What toxics have done to an arm's links so far; `None` where the engine cannot tell.
    fn network(&mut self, arm: Arm) -> Option<Network>;

    /// What the fault engine and the backend themselves say of an arm's faults.
    ///
    /// # Errors
    /// When they do not say it.
    fn read_back(&mut self, arm: Arm) -> Result<ReadBack, WorldError>;

    /// How long the last task that was ready waited for the runtime, once it has run; asked for at each
    /// sampling instant. `None` where there is no runtime, or no news of it.
    fn runtime_lag(&mut self) -> Option<Nanos> {
        None
    }

    /// Closes everything. The tickets of requests that did not come back, and whether all is closed.
    fn close(&mut self) -> Closed;
}
