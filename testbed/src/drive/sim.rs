//! The simulated world: virtual time in whole nanoseconds, backends and networks as function calls.
//!
//! One thread. What happens next is the earliest thing due, and at one instant the arm that comes
//! first in the file; within an arm, what was put in first. So a run is the same every time.

mod path;

use super::interrupt::Interrupt;
use super::world::{ArmFaults, Closed, GivenUp, ReadBack, Signal, Step, World, WorldError};
use crate::experiment::plan::ArmPlan;
use path::{Back, Path};
use testbed_core::download::Command;
use testbed_core::event::Network;
use testbed_core::hold::Feed;
use testbed_core::request::{Arm, Attempt, Ticket};
use testbed_core::rng::Streams;
use testbed_core::service::{BackendState, Counts};
use testbed_core::time::Time;

/// More events than this at one instant, and virtual time is taken to stand still. The largest input
/// that a file may have is worked off at one instant by fewer.
const PATIENCE: u64 = 30_000_000;

/// A world that is simulated.
#[derive(Debug)]
pub struct Sim {
    now: Time,
    paths: Vec<Path>,
    interrupt: Interrupt,
    events_at_now: u64,
    patience: u64,
}

impl Sim {
    /// A world at its beginning, with a path for each arm. Those that share a backend have it from the
    /// first of them.
    pub fn new(arms: &[ArmPlan], streams: &Streams, interrupt: Interrupt) -> Self {
        let mut paths = Vec::new();
        for (index, arm) in arms.iter().enumerate() {
            let path = Path::new(index, arm, paths.get(arm.host), streams);
            paths.push(path);
        }
        Self { now: Time::ZERO, paths, interrupt, events_at_now: 0, patience: PATIENCE }
    }

    /// The same world, but it takes time to stand still after `events` at one instant.
    pub const fn with_patience(mut self, events: u64) -> Self {
        self.patience = events;
        self
    }

    fn next_due(&self) -> Option<(Time, usize)> {
        let due = |(index, path): (usize, &Path)| Some((path.next_wake()?, index));
        self.paths.iter().enumerate().filter_map(due).min()
    }

    /// Does the next thing that is due on the way of the arm `index`.
    fn advance(&mut self, index: usize) -> Option<Step> {
        let (index, back) = match self.paths[index].advance(self.now)? {
            Back::Shared(of, released) => (of, self.paths[of].answer(self.now, released)?),
            back => (index, back),
        };
        let arm = Arm(index as u16);
        match back {
            Back::Answer(ticket, answer) => Some(Step::Answer { arm, ticket, answer }),
            Back::Transfer(id, progress) => Some(Step::Transfer { arm, id, progress }),
            Back::Shared(..) => None,
        }
    }

    fn advance_to(&mut self, at: Time) -> Result<(), WorldError> {
        if at > self.now {
            (self.now, self.events_at_now) = (at, 0);
        }
        self.events_at_now += 1;
        if self.events_at_now > self.patience {
            return Err(WorldError::StandsStill { at: self.now, events: self.events_at_now });
        }
        Ok(())
    }
}

impl World for Sim {
    fn now(&self) -> Time {
        self.now
    }

    fn halted(&self) -> bool {
        self.interrupt.signal() == Some(Signal::Halt)
    }

    fn send(&mut self, arm: Arm, ticket: Ticket) {
        self.paths[arm.index()].send(self.now, ticket);
    }

    fn give_up(&mut self, arm: Arm, attempt: Attempt) -> Option<GivenUp> {
        self.paths[arm.index()].give_up(attempt)
    }

    fn transfer(&mut self, arm: Arm, command: Command) {
        self.paths[arm.index()].transfer(self.now, command);
    }

    fn step(&mut self, until: Time) -> Result<Step, WorldError> {
        if let Some(signal) = self.interrupt.signal() {
            return Ok(Step::Interrupted(signal));
        }
        while let Some((at, index)) = self.next_due().filter(|(at, _)| *at <= until) {
            self.advance_to(at)?;
            if let Some(step) = self.advance(index) {
                return Ok(step);
            }
        }
        self.advance_to(until)?;
        Ok(Step::Reached)
    }

    fn set_faults(&mut self, arm: Arm, faults: &ArmFaults) -> Result<(), WorldError> {
        self.paths[arm.index()].set_faults(self.now, faults);
        Ok(())
    }

    fn feed(&mut self, arm: Arm, feed: Feed) {
        self.paths[arm.index()].feed(feed);
    }

    fn look(&mut self, arm: Arm) -> BackendState {
        self.paths[arm.index()].look(self.now)
    }

    fn injected(&mut self, arm: Arm) -> Vec<(String, Counts)> {
        self.paths[arm.index()].injected()
    }

    fn network(&mut self, arm: Arm) -> Option<Network> {
        Some(self.paths[arm.index()].network())
    }

    fn read_back(&mut self, arm: Arm) -> Result<ReadBack, WorldError> {
        Ok(self.paths[arm.index()].read_back())
    }

    fn close(&mut self) -> Closed {
        let arms = (0u16..).map(Arm);
        let of = |(arm, path): (Arm, &mut Path)| {
            path.close().into_iter().map(move |ticket| (arm, ticket))
        };
        Closed { tickets: arms.zip(&mut self.paths).flat_map(of).collect(), outcome: Ok(()) }
    }
}
