//! The running experiment on standard error, for people: on a terminal a few lines that redraw
//! themselves, elsewhere a line log. Neither has colours, with or without `NO_COLOR`.

mod board;
mod log;
mod meter;
mod screen;

use board::Board;
use indicatif::ProgressDrawTarget;
use log::Log;
use screen::Screen;
use std::io::Write;
use testbed_core::event::Event;
use testbed_core::observe::Observer;
use testbed_core::time::{Nanos, Time};

/// How a run is shown while it lasts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ViewKind {
    /// Lines that redraw themselves, at most ten times a second, and vanish at the end.
    Terminal,
    /// A line per phase and fault edge; in live runs also one a second with all arms.
    Lines,
    /// Not at all.
    Quiet,
}

impl ViewKind {
    /// What suits standard error: a terminal that can move its cursor is drawn on.
    pub fn detect(quiet: bool) -> Self {
        // The library that will draw is asked, so that it never draws nothing where lines would
        // have been readable.
        let blind = ProgressDrawTarget::stderr().is_hidden();
        match (quiet, blind) {
            (true, _) => Self::Quiet,
            (false, true) => Self::Lines,
            (false, false) => Self::Terminal,
        }
    }
}

/// Shows a run on standard error.
#[derive(Debug)]
pub struct View {
    board: Board,
    output: Output,
}

#[derive(Debug)]
enum Output {
    Screen(Screen),
    Log(Log),
    Nothing,
}

impl View {
    /// The view of a run of the `arms`, in file order, that is planned to last `total` of run
    /// time. `live` is false for a run in virtual time, which is shown more sparingly.
    ///
    /// # Panics
    /// Later, when an event tells of an arm that `arms` lack.
    pub fn new(kind: ViewKind, live: bool, arms: Vec<String>, total: Nanos) -> Self {
        let board = Board::new(arms, total);
        let output = match kind {
            ViewKind::Terminal => Output::Screen(Screen::new(&board, live)),
            ViewKind::Lines => Output::Log(Log::new(live)),
            ViewKind::Quiet => Output::Nothing,
        };
        Self { board, output }
    }
}

impl Observer for View {
    fn on_event(&mut self, now: Time, event: &Event<'_>) {
        if matches!(self.output, Output::Nothing) {
            return;
        }
        let Some(cue) = self.board.on_event(now, event) else {
            return;
        };
        match &mut self.output {
            Output::Screen(screen) => screen.on_cue(cue, &self.board),
            Output::Log(log) => log.on_cue(cue, &self.board).iter().for_each(|line| print(line)),
            Output::Nothing => {}
        }
    }
}

/// Writes the line at once, so that those of other threads do not get into it.
fn print(line: &str) {
    // A reader that went away is no reason to end a run.
    let _ = std::io::stderr().write_all(format!("{line}\n").as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quiet_is_quiet_wherever_it_runs() {
        assert_eq!(ViewKind::detect(true), ViewKind::Quiet);
    }
}
