//! Watches a run and tells its history what a view elsewhere needs.

use super::admission::AdmissionWaits;
use super::history::History;
use super::waiting::WaitingArms;
use super::wire::{Kind, Message};
use crate::watch::prometheus::ArmLabel;
use crate::watch::regime::{Regime, Regimes};
use crate::watch::view::Unseen;
use testbed_clock::LiveClock;
use testbed_core::event::Event;
use testbed_core::observe::Observer;
use testbed_core::time::{Nanos, Time};

/// Wall time between two samples of the arms: ten a second are as many as a person can see.
const EVERY: Nanos = Nanos::from_millis(100);
/// Wall time between two lists of who waits: people read them.
const WAITING_EVERY: Nanos = Nanos::from_secs(1);

/// Wall time between two distributions of waits for admission, which are long messages.
const ADMISSION_EVERY: Nanos = Nanos::from_secs(2);

/// An observer that tells phases and faults as they come, and the arms at most ten times a second
/// of wall time.
#[derive(Debug)]
pub(crate) struct Tap {
    unseen: Unseen,
    history: History,
    waiting: WaitingArms,
    admission: AdmissionWaits,
    regimes: Regimes,
    arms: Vec<ArmRegime>,
    /// Whether an arm has a limiter, so that somebody may wait.
    downloads: bool,
    clock: LiveClock,
    throttle: Throttle,
    waiting_throttle: Throttle,
    admission_throttle: Throttle,
}

/// The regime of one arm, which is sampled as its numbers are: in virtual time it may change thousands of times a second.
#[derive(Debug)]
struct ArmRegime {
    name: String,
    regime: Regime,
    told: Regime,
}

/// Lets one thing pass at a time.
#[derive(Debug)]
struct Throttle {
    /// Between two that pass.
    every: Nanos,
    /// From when on the next may pass.
    due: Time,
}

impl Tap {
    /// Of a run of these arms, in file order.
    pub(crate) fn new(history: History, arms: &[ArmLabel]) -> Self {
        let info = history.info();
        let regimes = Regimes::new(arms);
        let admission = AdmissionWaits::new(arms.iter().map(|arm| arm.name.clone()));
        let unseen = Unseen::new(&info.labels(), info.length());
        let waiting = WaitingArms::new(info.arms.keys().cloned());
        let downloads = info.arms.values().any(|kind| *kind == Kind::Downloads);
        let (throttle, waiting_throttle) = (Throttle::new(EVERY), Throttle::new(WAITING_EVERY));
        let clock = LiveClock::start();
        let healthy = |arm: &ArmLabel| {
            let (regime, told) = (Regime::default(), Regime::default());
            ArmRegime { name: arm.name.clone(), regime, told }
        };
        let arms = arms.iter().map(healthy).collect();
        Self {
            unseen,
            history,
            waiting,
            admission,
            regimes,
            arms,
            downloads,
            clock,
            throttle,
            waiting_throttle,
            admission_throttle: Throttle::new(ADMISSION_EVERY),
        }
    }

    fn tick(&mut self, now: Time) {
        let wall = self.clock.now();
        if self.throttle.lets(wall) {
            self.sample(now);
        }
        if self.admission_throttle.lets(wall) {
            self.tell_admission(now);
        }
        if self.downloads && self.waiting_throttle.lets(wall) {
            self.history
                .tell(&Message::Waiting { t_ns: now.as_nanos(), arms: self.waiting.oldest(now) });
        }
    }

    fn tell_admission(&self, now: Time) {
        let (t_ns, arms) = (now.as_nanos(), self.admission.shares());
        if !arms.is_empty() {
            self.history.tell(&Message::AdmissionWaits { t_ns, arms });
        }
    }

    fn sample(&mut self, now: Time) {
        let t_ns = now.as_nanos();
        for arm in self.arms.iter_mut().filter(|arm| arm.regime != arm.told) {
            arm.told = arm.regime;
            let (arm, regime) = (arm.name.clone(), arm.regime.name().to_owned());
            self.history.tell(&Message::Regime { t_ns, arm, regime });
        }
        let arms = self.unseen.snapshot();
        self.history.tell(&Message::States { t_ns, arms });
    }
}

impl Throttle {
    const fn new(every: Nanos) -> Self {
        Self { every, due: Time::ZERO }
    }

    fn lets(&mut self, wall: Time) -> bool {
        if wall < self.due {
            return false;
        }
        // Counted from when it was due, so that what comes as often as it may, but not on the dot,
        // passes each time.
        self.due = self.due.after(self.every).max(wall);
        true
    }
}

impl Observer for Tap {
    fn on_event(&mut self, now: Time, event: &Event<'_>) {
        self.unseen.on_event(now, event);
        self.waiting.on_event(event);
        self.admission.on_event(event);
        let t_ns = now.as_nanos();
        for (arm, regime) in self.regimes.follow(now, event) {
            self.arms[arm.index()].regime = regime;
        }
        match *event {
            Event::Phase { name, .. } => {
                self.history.tell(&Message::Phase { t_ns, phase: name.to_owned() });
            }
            Event::Fault { name, on, .. } => {
                self.history.tell(&Message::Fault { t_ns, fault: name.to_owned(), on });
            }
            Event::Tick => self.tick(now),
            // The last state is told, however fast virtual time went.
            Event::End => {
                self.tell_admission(now);
                self.sample(now);
            }
            // They are in the samples.
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of the instants pass.
    fn passing(us: impl Iterator<Item = u64>) -> usize {
        let mut throttle = Throttle::new(EVERY);
        us.filter(|us| throttle.lets(Time::ZERO.after(Nanos::from_micros(*us)))).count()
    }

    #[test]
    fn ten_a_second_pass_however_many_come_and_all_of_ten_that_are_late_by_turns() {
        assert_eq!(passing((0..100_000).map(|tick| tick * 100)), 100, "10 s of 10,000 a second");
        let late = |tick: u64| tick * 100_000 + 3_000 * (tick % 3);
        assert_eq!(passing((1..=100).map(late)), 100, "10 s of 10 a second");
        assert_eq!(passing((0..10).map(|tick| tick * 1_000_000)), 10, "10 s of one a second");
        // A pause is not made up for by more than one.
        let pause = [0, 5_000_000, 5_000_100, 5_000_200].into_iter();
        assert_eq!(passing(pause), 3);
    }
}
