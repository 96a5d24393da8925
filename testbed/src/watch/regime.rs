//! Regimes: what an arm looks like as a whole at each sampling instant. Pure; `docs/regimes.md` has
//! the definitions in prose.

mod calls;
mod sliding;
mod window;

use super::occupancy::Occupied;
use super::progress::Progress;
use super::prometheus::{ArmKind, ArmLabel};
use calls::CallsWatch;
use testbed_core::event::Event;
use testbed_core::request::Arm;
use testbed_core::time::Time;

/// What an arm looks like. Of several that hold, the one that comes last in this order is said.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Regime {
    /// None of the others.
    #[default]
    Healthy,
    /// Requests wait for the limit, and the backend is busy: there is no more to be had.
    Saturated,
    /// The window swings up and down.
    Oscillation,
    /// Requests wait for the limit, the backend has room, and the window does not climb.
    Stall,
    /// A waiter is passed over, round after round.
    Starvation,
    /// Hardly anything succeeds any more.
    Collapse,
}

impl Regime {
    /// Every regime, from the mildest to the worst.
    pub const ALL: [Self; 6] = [
        Self::Healthy,
        Self::Saturated,
        Self::Oscillation,
        Self::Stall,
        Self::Starvation,
        Self::Collapse,
    ];

    /// The regime's name in metrics and events.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::Saturated => "saturated",
            Self::Oscillation => "oscillation",
            Self::Stall => "stall",
            Self::Starvation => "starvation",
            Self::Collapse => "collapse",
        }
    }
}

/// Follows all arms and says in which regime each is. At the beginning every arm is healthy.
#[derive(Debug)]
pub(crate) struct Regimes {
    arms: Vec<(ArmWatch, Regime)>,
}

#[derive(Debug)]
enum ArmWatch {
    Calls(Box<CallsWatch>),
    Downloads(Progress),
}

impl Regimes {
    pub(crate) fn new(arms: &[ArmLabel]) -> Self {
        let arm = |label: &ArmLabel| (ArmWatch::new(label), Regime::default());
        Self { arms: arms.iter().map(arm).collect() }
    }

    /// Takes in an event; at a sampling instant, the arms whose regime is another now.
    pub(crate) fn follow(&mut self, now: Time, event: &Event<'_>) -> Vec<(Arm, Regime)> {
        match *event {
            Event::Arrived { arm, .. }
            | Event::Rejected { arm, .. }
            | Event::Admitted { arm, .. }
            | Event::Finished { arm, .. }
            | Event::Abandoned { arm, .. }
            | Event::Updated { arm, .. }
            | Event::WaitEnded { arm, .. }
            | Event::Transfer { arm, .. }
            | Event::Backend { arm, .. } => {
                self.arms[arm.index()].0.follow(now, event);
                Vec::new()
            }
            Event::Tick => self.look(now),
            Event::Asked { .. }
            | Event::Queue { .. }
            | Event::Limiter { .. }
            | Event::InputDone { .. }
            | Event::Phase { .. }
            | Event::Fault { .. }
            | Event::Injected { .. }
            | Event::Network { .. }
            | Event::Healed { .. }
            | Event::Fed { .. }
            | Event::Runtime { .. }
            | Event::End => Vec::new(),
        }
    }

    /// What happened at each arm's gate in the last sampling interval; nothing at an arm without one.
    pub(super) fn occupied(&self) -> impl Iterator<Item = Occupied> {
        self.arms.iter().map(|(watch, _)| match watch {
            ArmWatch::Calls(calls) => calls.occupied(),
            ArmWatch::Downloads(_) => Occupied::default(),
        })
    }

    fn look(&mut self, now: Time) -> Vec<(Arm, Regime)> {
        let mut changed = Vec::new();
        for (arm, (watch, last)) in (0u16..).map(Arm).zip(&mut self.arms) {
            let regime = watch.regime(now);
            if std::mem::replace(last, regime) != regime {
                changed.push((arm, regime));
            }
        }
        changed
    }
}

impl ArmWatch {
    fn new(label: &ArmLabel) -> Self {
        match label.kind {
            ArmKind::Calls => Self::Calls(Box::new(CallsWatch::new(label.ceiling))),
            ArmKind::Downloads => Self::Downloads(Progress::default()),
        }
    }

    fn follow(&mut self, now: Time, event: &Event<'_>) {
        match (self, event) {
            (Self::Calls(calls), _) => calls.follow(now, event),
            (Self::Downloads(progress), Event::WaitEnded { wait, end, active, .. }) => {
                if *end == testbed_core::wait::WaitEnd::Granted {
                    progress.grant(wait.waiter, *active);
                }
            }
            (Self::Downloads(progress), Event::Transfer { waiter, change, .. }) => {
                progress.transfer(*waiter, *change);
            }
            (Self::Downloads(_), _) => {}
        }
    }

    /// The regime at a sampling instant.
    fn regime(&mut self, now: Time) -> Regime {
        match self {
            Self::Calls(calls) => calls.regime(now),
            Self::Downloads(progress) if progress.zero_progress() > 0 => Regime::Starvation,
            Self::Downloads(_) => Regime::Healthy,
        }
    }
}

#[cfg(test)]
mod tests;
