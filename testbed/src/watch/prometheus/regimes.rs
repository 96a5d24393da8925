//! The regime of each arm as a set of states, and what its gate was like.

use super::children::Children;
use super::names;
use super::{ArmKind, ArmLabel};
use crate::watch::occupancy::Occupied;
use crate::watch::regime::{Regime, Regimes};
use prometheus::{Counter, Gauge};
use testbed_core::event::Event;
use testbed_core::time::Time;

/// The regimes of all arms.
#[derive(Debug)]
pub(super) struct RegimeMetrics {
    regimes: Regimes,
    arms: Vec<OfArm>,
}

#[derive(Debug)]
struct OfArm {
    /// In the order of [`Regime::ALL`].
    states: [Gauge; Regime::ALL.len()],
    /// Of an arm with a gate.
    gate: Option<Gate>,
}

#[derive(Debug)]
struct Gate {
    peak: Gauge,
    saturated: Counter,
}

impl RegimeMetrics {
    pub(super) fn new(children: &Children, arms: &[ArmLabel]) -> Self {
        let of_arm = |arm| OfArm::new(children, arm);
        Self { regimes: Regimes::new(arms), arms: arms.iter().map(of_arm).collect() }
    }

    pub(super) fn follow(&mut self, now: Time, event: &Event<'_>) {
        for (arm, regime) in self.regimes.follow(now, event) {
            self.arms[arm.index()].show(regime);
        }
        if matches!(event, Event::Tick) {
            let gates = self.arms.iter().map(|of| &of.gate).zip(self.regimes.occupied());
            gates.for_each(|(gate, occupied)| gate.iter().for_each(|gate| gate.sampled(occupied)));
        }
    }
}

impl OfArm {
    fn new(children: &Children, arm: &ArmLabel) -> Self {
        let name = arm.name.as_str();
        let state = |regime: Regime| children.gauge(&names::REGIME, &[name, regime.name()]);
        let gate = (arm.kind == ArmKind::Calls).then(|| Gate {
            peak: children.gauge(&names::IN_FLIGHT_PEAK, &[name]),
            saturated: children.sum(&names::SATURATED, &[name]),
        });
        let of_arm = Self { states: Regime::ALL.map(state), gate };
        of_arm.show(Regime::default());
        of_arm
    }

    fn show(&self, regime: Regime) {
        for (state, gauge) in Regime::ALL.into_iter().zip(&self.states) {
            gauge.set(f64::from(u8::from(state == regime)));
        }
    }
}

impl Gate {
    fn sampled(&self, occupied: Occupied) {
        self.peak.set(occupied.peak.into());
        self.saturated.inc_by(occupied.full.as_secs_f64());
    }
}
