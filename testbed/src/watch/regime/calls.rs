//! The regime of an arm with requests behind a controller.

use super::Regime;
use super::sliding::{Sliding, Stretch};
use super::window::{Swings, Trough};
use crate::watch::occupancy::{Occupancy, Occupied};
use testbed_core::event::Event;
use testbed_core::request::Outcome;
use testbed_core::time::{Nanos, Time};

/// Pressure and business are looked at over so long.
const PRESSURE_OVER: Nanos = Nanos::from_secs(2);
/// Successes and failures are looked at over so long.
const GOODPUT_OVER: Nanos = Nanos::from_secs(1);
/// An arm is under pressure if it was for so much of the time. Not all of it: between an answer and
/// the next admission there may be a moment.
const PRESSED: f64 = 0.95;
/// A backend is busy from this share on.
const BUSY: f64 = 0.9;
/// Below this share of the best there was, goodput has collapsed.
const COLLAPSED: f64 = 0.5;

/// What is known of one arm.
#[derive(Debug)]
pub(super) struct CallsWatch {
    /// The most that the law's window can be, if it has a ceiling.
    ceiling: Option<f64>,
    occupancy: Occupancy,
    occupied: Occupied,
    swings: Swings,
    trough: Trough,
    /// Since the last sampling instant.
    counts: Stretch,
    utilisation: f64,
    last_tick: Time,
    pressure: Sliding,
    goodput: Sliding,
    /// The best goodput so far, in successes a second.
    best: f64,
}

impl CallsWatch {
    pub(super) fn new(ceiling: Option<f64>) -> Self {
        Self {
            ceiling,
            occupancy: Occupancy::default(),
            occupied: Occupied::default(),
            swings: Swings::default(),
            trough: Trough::default(),
            counts: Stretch::default(),
            utilisation: 0.0,
            last_tick: Time::ZERO,
            pressure: Sliding::new(PRESSURE_OVER),
            goodput: Sliding::new(GOODPUT_OVER),
            best: 0.0,
        }
    }

    /// Takes in an event of this arm.
    pub(super) fn follow(&mut self, now: Time, event: &Event<'_>) {
        self.occupancy.follow(now, event);
        match *event {
            Event::Finished { ref sample, .. } => match sample.outcome {
                Outcome::Success => self.counts.ok += 1,
                Outcome::Overload | Outcome::Error | Outcome::Timeout => self.counts.failed += 1,
                Outcome::Cancelled => {}
            },
            Event::Updated { ref update, .. } => {
                self.counts.updates += 1;
                if let Some(window) = update.window() {
                    self.swings.moved(now, window);
                    self.trough.moved(now, window);
                }
            }
            Event::Backend { utilisation, .. } => self.utilisation = utilisation,
            _ => {}
        }
    }

    /// What happened at the gate in the last sampling interval.
    pub(super) const fn occupied(&self) -> Occupied {
        self.occupied
    }

    /// The regime at a sampling instant.
    pub(super) fn regime(&mut self, now: Time) -> Regime {
        self.go_on(now);
        let collapse = self.collapsed().then_some(Regime::Collapse);
        let oscillation = self.swings.swings(now).then_some(Regime::Oscillation);
        collapse.max(self.under_pressure(now)).max(oscillation).unwrap_or_default()
    }

    fn go_on(&mut self, now: Time) {
        let length = now.since(self.last_tick).get();
        self.last_tick = now;
        self.occupied = self.occupancy.take(now);
        let pressed = self.occupied.pressed.get();
        let busy = (self.utilisation * length as f64).round() as u64;
        let stretch = Stretch { length, pressed, busy, ..std::mem::take(&mut self.counts) };
        self.pressure.push(stretch);
        self.goodput.push(stretch);
    }

    fn collapsed(&mut self) -> bool {
        let Some(last) = self.goodput.whole() else { return false };
        self.best = self.best.max(last.goodput());
        last.goodput() < COLLAPSED * self.best && last.failed > last.ok
    }

    fn under_pressure(&self, now: Time) -> Option<Regime> {
        let last = self.pressure.whole().filter(|last| last.share(last.pressed) >= PRESSED)?;
        if last.share(last.busy) >= BUSY {
            return Some(Regime::Saturated);
        }
        // A law that has heard nothing had no occasion to climb.
        let could = last.updates > 0 && self.trough.has_room(self.ceiling);
        (could && self.trough.stuck_for(now) >= PRESSURE_OVER).then_some(Regime::Stall)
    }
}
