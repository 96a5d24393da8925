//! What a view knows of the run, drawn or not.

use super::calls::CallBoard;
use super::downloads::DownloadBoard;
use crate::watch::prometheus::{ArmKind, ArmLabel};
use testbed_core::event::Event;
use testbed_core::request::{Arm, Outcome};
use testbed_core::time::{Nanos, Time};

/// A moment at which something may be shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Cue<'a> {
    /// A phase began; [`Board::phase`] has its name.
    Phase,
    /// A fault was switched.
    Fault { name: &'a str, on: bool },
    /// A sampling instant.
    Tick,
    /// The run is over.
    End,
}

/// The state of the run at the last event.
#[derive(Debug)]
pub(super) struct Board {
    pub(super) now: Time,
    /// How long the run is planned to last.
    pub(super) total: Nanos,
    /// The phase's name; empty before the first.
    pub(super) phase: String,
    /// The faults that are on, in the order in which they came.
    pub(super) faults: Vec<String>,
    pub(super) arms: Vec<ArmBoard>,
}

/// The numbers of one arm.
#[derive(Debug)]
pub(super) struct ArmBoard {
    pub(super) name: String,
    pub(super) work: WorkBoard,
}

/// What there is to show of an arm depends on what it does.
#[derive(Debug)]
pub(super) enum WorkBoard {
    Calls(CallBoard),
    Downloads(DownloadBoard),
}

impl Board {
    pub(super) fn new(arms: &[ArmLabel], total: Nanos) -> Self {
        Self {
            now: Time::ZERO,
            total,
            phase: String::new(),
            faults: Vec::new(),
            arms: arms.iter().map(ArmBoard::new).collect(),
        }
    }

    pub(super) fn on_event<'a>(&mut self, now: Time, event: &Event<'a>) -> Option<Cue<'a>> {
        self.now = now;
        match *event {
            Event::Arrived { arm, .. } => self.calls(arm).arrived(),
            Event::Rejected { arm, .. } | Event::Abandoned { arm, .. } => self.calls(arm).left(),
            Event::Admitted { arm, in_flight, waiting, .. } => {
                self.calls(arm).admitted(in_flight, waiting);
            }
            Event::Finished { arm, arrival, ref sample, in_flight, again, .. } => {
                let calls = self.calls(arm);
                calls.finished(sample.outcome, in_flight);
                if again.is_none() && sample.outcome != Outcome::Cancelled {
                    calls.ended(sample.end.since(arrival.first));
                }
            }
            Event::Updated { arm, ref update, vitals } => self.calls(arm).updated(update, vitals),
            Event::Asked { arm, ref wait, waiting } => self.downloads(arm).asked(wait, waiting),
            Event::WaitEnded { arm, ref wait, end, waiting, .. } => {
                self.downloads(arm).wait_ended(wait, end, waiting);
            }
            Event::Transfer { arm, change, .. } => self.downloads(arm).changed(change),
            Event::Limiter { .. }
            | Event::Queue { .. }
            | Event::InputDone { .. }
            | Event::Injected { .. }
            | Event::Network { .. }
            | Event::Healed { .. }
            | Event::Fed { .. }
            | Event::Runtime { .. }
            | Event::Backend { .. } => {}
            Event::Phase { name, .. } => return Some(self.enter(name)),
            Event::Fault { name, on, .. } => return Some(self.switch(name, on)),
            Event::Tick => return Some(self.tick()),
            Event::End => return Some(Cue::End),
        }
        None
    }

    fn calls(&mut self, arm: Arm) -> &mut CallBoard {
        match &mut self.arms[arm.index()].work {
            WorkBoard::Calls(calls) => calls,
            WorkBoard::Downloads(_) => panic!("an arm with a limiter has no requests"),
        }
    }

    fn downloads(&mut self, arm: Arm) -> &mut DownloadBoard {
        match &mut self.arms[arm.index()].work {
            WorkBoard::Calls(_) => panic!("an arm with a controller has no downloads"),
            WorkBoard::Downloads(downloads) => downloads,
        }
    }

    fn enter<'a>(&mut self, phase: &str) -> Cue<'a> {
        phase.clone_into(&mut self.phase);
        Cue::Phase
    }

    fn switch<'a>(&mut self, name: &'a str, on: bool) -> Cue<'a> {
        self.faults.retain(|fault| fault != name);
        if on {
            self.faults.push(name.to_owned());
        }
        Cue::Fault { name, on }
    }

    fn tick<'a>(&mut self) -> Cue<'a> {
        for arm in &mut self.arms {
            match &mut arm.work {
                WorkBoard::Calls(calls) => calls.tick(self.now),
                WorkBoard::Downloads(downloads) => downloads.tick(self.now),
            }
        }
        Cue::Tick
    }
}

impl ArmBoard {
    fn new(label: &ArmLabel) -> Self {
        let work = match label.kind {
            ArmKind::Calls => WorkBoard::Calls(CallBoard::new()),
            ArmKind::Downloads => WorkBoard::Downloads(DownloadBoard::new()),
        };
        Self { name: label.name.clone(), work }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_listed_while_they_are_on() {
        let mut board = Board::new(&[], Nanos::from_secs(1));
        for (name, on, expected) in [
            ("a", true, &["a"][..]),
            ("b", true, &["a", "b"]),
            ("b", true, &["a", "b"]),
            ("a", false, &["b"]),
        ] {
            let cue = board.on_event(Time::ZERO, &Event::Fault { index: 0, name, on });
            assert_eq!(cue, Some(Cue::Fault { name, on }));
            assert_eq!(board.faults, expected);
        }
    }
}
