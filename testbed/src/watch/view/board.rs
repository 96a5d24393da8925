//! What a view knows of the run, drawn or not.

use super::meter::{Rate, Sparkline};
use testbed_core::control::Update;
use testbed_core::event::Event;
use testbed_core::request::{Arm, Outcome};
use testbed_core::time::{Nanos, Time};
use testbed_core::vitals::Vitals;

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
    pub(super) window: f64,
    pub(super) limit: u64,
    pub(super) gradient: Option<f64>,
    pub(super) in_flight: u32,
    pub(super) waiting: u32,
    pub(super) goodput: Rate,
    /// The window at each tick.
    pub(super) windows: Sparkline,
}

impl Board {
    pub(super) fn new(arms: Vec<String>, total: Nanos) -> Self {
        Self {
            now: Time::ZERO,
            total,
            phase: String::new(),
            faults: Vec::new(),
            arms: arms.into_iter().map(ArmBoard::new).collect(),
        }
    }

    pub(super) fn on_event<'a>(&mut self, now: Time, event: &Event<'a>) -> Option<Cue<'a>> {
        self.now = now;
        match *event {
            Event::Arrived { arm, .. } => self.arm(arm).waiting += 1,
            Event::Rejected { arm, .. } | Event::Abandoned { arm, .. } => self.arm(arm).left(),
            Event::Admitted { arm, in_flight, waiting, .. } => {
                self.arm(arm).admitted(in_flight, waiting);
            }
            Event::Finished { arm, ref sample, in_flight, .. } => {
                self.arm(arm).finished(sample.outcome, in_flight);
            }
            Event::Updated { arm, ref update, vitals } => self.arm(arm).updated(update, vitals),
            Event::InputDone { .. } | Event::Backend { .. } => {}
            Event::Asked { .. }
            | Event::WaitEnded { .. }
            | Event::Transfer { .. }
            | Event::Limiter { .. } => {}
            Event::Phase { name, .. } => return Some(self.enter(name)),
            Event::Fault { name, on, .. } => return Some(self.switch(name, on)),
            Event::Tick => return Some(self.tick()),
            Event::End => return Some(Cue::End),
        }
        None
    }

    fn arm(&mut self, arm: Arm) -> &mut ArmBoard {
        &mut self.arms[arm.index()]
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
            arm.goodput.mark(self.now);
            arm.windows.push(arm.window);
        }
        Cue::Tick
    }
}

impl ArmBoard {
    fn new(name: String) -> Self {
        Self {
            name,
            window: 0.0,
            limit: 0,
            gradient: None,
            in_flight: 0,
            waiting: 0,
            goodput: Rate::new(),
            windows: Sparkline::new(),
        }
    }

    /// The gradient in two decimals, or a dash for a law that has none.
    pub(super) fn gradient_text(&self) -> String {
        self.gradient.map_or_else(|| "-".to_owned(), |gradient| format!("{gradient:.2}"))
    }

    /// A waiting request went away unserved.
    fn left(&mut self) {
        self.waiting = self.waiting.saturating_sub(1);
    }

    fn admitted(&mut self, in_flight: u32, waiting: u32) {
        self.in_flight = in_flight;
        self.waiting = waiting;
    }

    fn finished(&mut self, outcome: Outcome, in_flight: u32) {
        self.in_flight = in_flight;
        if outcome == Outcome::Success {
            self.goodput.add_one();
        }
    }

    fn updated(&mut self, update: &Update, vitals: &Vitals) {
        self.window = update.new;
        self.limit = update.limit;
        self.gradient = vitals.get("gradient");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use testbed_core::request::{Arrival, Sample};

    const ARM: Arm = Arm(0);
    const ARRIVAL: Arrival = Arrival { id: 0, client: 0, planned: Time::ZERO };
    const ARRIVED: Event<'_> = Event::Arrived { arm: ARM, arrival: ARRIVAL, lag: Nanos::ZERO };

    fn admitted(in_flight: u32, waiting: u32) -> Event<'static> {
        let (arm, arrival, wait) = (ARM, ARRIVAL, Nanos::ZERO);
        Event::Admitted { arm, arrival, wait, in_flight, waiting, limit: 9, gated: true }
    }

    fn finished(outcome: Outcome, in_flight: u32) -> Event<'static> {
        let sample = Sample {
            start: Time::ZERO,
            sent: Time::ZERO,
            end: Time::ZERO,
            in_flight_at_start: 1,
            in_flight_at_end: 1,
            limit_at_start: 2,
            outcome,
            bytes: 0,
        };
        Event::Finished { arm: ARM, arrival: ARRIVAL, sample, served: None, in_flight }
    }

    #[test]
    fn an_arm_counts_those_in_flight_and_waiting() {
        let mut board = Board::new(vec!["a".into()], Nanos::from_secs(1));
        // Event, in flight and waiting after it.
        for (event, expected) in [
            (ARRIVED, (0, 1)),
            (ARRIVED, (0, 2)),
            (ARRIVED, (0, 3)),
            (Event::Rejected { arm: ARM, arrival: ARRIVAL }, (0, 2)),
            (admitted(1, 1), (1, 1)),
            (finished(Outcome::Error, 0), (0, 1)),
            (Event::Abandoned { arm: ARM, arrival: ARRIVAL }, (0, 0)),
        ] {
            assert_eq!(board.on_event(Time::ZERO, &event), None);
            assert_eq!((board.arms[0].in_flight, board.arms[0].waiting), expected, "{event:?}");
        }
    }

    #[test]
    fn goodput_counts_successes_only() {
        let mut board = Board::new(vec!["a".into()], Nanos::from_secs(1));
        for outcome in Outcome::ALL {
            board.on_event(Time::ZERO, &finished(outcome, 0));
        }
        board.on_event(Time::ZERO.after(Nanos::from_secs(1)), &Event::Tick);
        assert_eq!(board.arms[0].goodput.per_second(), 1.0);
    }

    #[test]
    fn faults_are_listed_while_they_are_on() {
        let mut board = Board::new(Vec::new(), Nanos::from_secs(1));
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
