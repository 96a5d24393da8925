//! What a view knows of an arm with a controller.

use super::meter::{Rate, Sparkline};
use testbed_core::control::Update;
use testbed_core::request::Outcome;
use testbed_core::time::{Nanos, Time};
use testbed_core::vitals::Vitals;

/// Requests and the window that they pass.
#[derive(Debug)]
pub(super) struct CallBoard {
    /// None of a law that has no window, and so the limit.
    pub(super) window: Option<f64>,
    pub(super) limit: Option<u64>,
    pub(super) gradient: Option<f64>,
    pub(super) in_flight: u32,
    pub(super) waiting: u32,
    /// Successes a second, at the last tick.
    pub(super) goodput_per_s: f64,
    /// The mean latency of what ended in the last second, at the last tick.
    pub(super) latency_s: Option<f64>,
    /// The window at each tick.
    pub(super) windows: Sparkline,
    goodput: Rate,
    /// Ends of requests, and the sum of their latencies in nanoseconds.
    ended: Rate,
    latency_ns: Rate,
}

impl CallBoard {
    pub(super) fn new() -> Self {
        Self {
            window: Some(0.0),
            limit: Some(0),
            gradient: None,
            in_flight: 0,
            waiting: 0,
            goodput_per_s: 0.0,
            latency_s: None,
            windows: Sparkline::new(),
            goodput: Rate::new(),
            ended: Rate::new(),
            latency_ns: Rate::new(),
        }
    }

    /// Window, limit and gradient, each a dash for a law that has none.
    pub(super) fn law_texts(&self) -> [String; 3] {
        let decimals = |number: f64| format!("{number:.2}");
        let of_law = [
            self.window.map(decimals),
            self.limit.map(|limit| limit.to_string()),
            self.gradient.map(decimals),
        ];
        of_law.map(|text| text.unwrap_or_else(|| "-".to_owned()))
    }

    pub(super) fn arrived(&mut self) {
        self.waiting += 1;
    }

    /// A waiting request went away unserved.
    pub(super) fn left(&mut self) {
        self.waiting = self.waiting.saturating_sub(1);
    }

    pub(super) fn admitted(&mut self, in_flight: u32, waiting: u32) {
        self.in_flight = in_flight;
        self.waiting = waiting;
    }

    pub(super) fn finished(&mut self, outcome: Outcome, in_flight: u32) {
        self.in_flight = in_flight;
        if outcome == Outcome::Success {
            self.goodput.add(1);
        }
    }

    /// The last attempt of a request ended, so long after the first was planned.
    pub(super) fn ended(&mut self, latency: Nanos) {
        self.ended.add(1);
        self.latency_ns.add(latency.get());
    }

    pub(super) fn updated(&mut self, update: &Update, vitals: &Vitals) {
        (self.window, self.limit) = (update.window(), update.bound());
        self.gradient = vitals.get("gradient");
    }

    pub(super) fn tick(&mut self, now: Time) {
        self.goodput.mark(now);
        self.goodput_per_s = self.goodput.per_second();
        self.ended.mark(now);
        self.latency_ns.mark(now);
        let ended = self.ended.per_second();
        self.latency_s = (ended > 0.0).then(|| self.latency_ns.per_second() / ended / 1e9);
        self.draw_window();
    }

    /// Appends the window to the line of windows, if there is one.
    pub(super) fn draw_window(&mut self) {
        self.window.into_iter().for_each(|window| self.windows.push(window));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use testbed_core::control::UNBOUNDED;

    #[test]
    fn an_arm_counts_those_in_flight_and_waiting() {
        let mut board = CallBoard::new();
        type Step = fn(&mut CallBoard);
        // Step, in flight and waiting after it.
        let steps: [(Step, (u32, u32)); 7] = [
            (CallBoard::arrived, (0, 1)),
            (CallBoard::arrived, (0, 2)),
            (CallBoard::arrived, (0, 3)),
            (CallBoard::left, (0, 2)),
            (|board| board.admitted(1, 1), (1, 1)),
            (|board| board.finished(Outcome::Error, 0), (0, 1)),
            (CallBoard::left, (0, 0)),
        ];
        for (index, (step, expected)) in steps.into_iter().enumerate() {
            step(&mut board);
            assert_eq!((board.in_flight, board.waiting), expected, "step {index}");
        }
    }

    #[test]
    fn a_law_without_a_window_has_a_dash_and_no_line() {
        let none = UNBOUNDED as f64;
        for (window, limit, texts, drawn) in
            [(2.5, 2, ["2.50", "2", "-"], "█"), (none, UNBOUNDED, ["-", "-", "-"], "")]
        {
            let mut board = CallBoard::new();
            let update = Update { old: window, new: window, limit, reason: "start" };
            board.updated(&update, &Vitals::new());
            board.tick(Time::ZERO);
            assert_eq!(board.law_texts(), texts);
            assert_eq!(board.windows.draw().trim_start(), drawn);
        }
    }

    #[test]
    fn latency_is_the_mean_of_what_ended_in_the_last_second() {
        let mut board = CallBoard::new();
        let at = |seconds| Time::ZERO.after(Nanos::from_secs(seconds));
        board.ended(Nanos::from_millis(100));
        board.ended(Nanos::from_millis(300));
        for (seconds, latency_s) in [(1, Some(0.2)), (2, None)] {
            board.tick(at(seconds));
            assert_eq!(board.latency_s, latency_s, "at {seconds} s");
        }
    }

    #[test]
    fn goodput_counts_successes_only() {
        let mut board = CallBoard::new();
        for outcome in Outcome::ALL {
            board.finished(outcome, 0);
        }
        board.tick(Time::ZERO.after(Nanos::from_secs(1)));
        assert_eq!(board.goodput_per_s, 1.0);
    }
}
