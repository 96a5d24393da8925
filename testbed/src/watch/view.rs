//! The running experiment on standard error, for people: on a terminal a few lines that redraw
//! themselves, elsewhere a line log. Neither has colours, with or without `NO_COLOR`.

mod board;
mod calls;
mod downloads;
mod log;
mod meter;
mod screen;
mod snapshot;

pub use snapshot::{ArmSnapshot, Snapshot};

use super::prometheus::ArmLabel;
use board::{Board, Cue};
use indicatif::ProgressDrawTarget;
use log::Log;
use screen::Screen;
use std::io::Write;
use testbed_core::event::Event;
use testbed_core::observe::Observer;
use testbed_core::time::{Nanos, Time};

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
}

impl View {
    /// The view of a run of the `arms`, in file order, that is planned to last `total` of run
    /// time. On a terminal it is lines that redraw themselves, at most ten times a second, and
    /// vanish at the end; elsewhere a line per phase and fault edge, in live runs also one a second
    /// with all arms. `live` is false for a run in virtual time, which is shown more sparingly.
    ///
    /// # Panics
    /// Later, when an event tells of an arm that `arms` lack, or of work that is not of its arm's
    /// kind.
    pub fn new(live: bool, arms: &[ArmLabel], total: Nanos) -> Self {
        let board = Board::new(arms, total);
        // The library that will draw is asked, so that it never draws nothing where lines would
        // have been readable.
        let output = if ProgressDrawTarget::stderr().is_hidden() {
            Output::Log(Log::new(live))
        } else {
            Output::Screen(Screen::new(&board, live))
        };
        Self { board, output }
    }
}

impl View {
    /// Shows the arms as they were at `now`, in a view that sees no events of requests. It counts as
    /// a sampling instant.
    pub fn show(&mut self, now: Time, snapshot: &Snapshot) {
        self.board.show(now, snapshot);
        self.draw(Cue::Tick);
    }

    fn draw(&mut self, cue: Cue<'_>) {
        match &mut self.output {
            Output::Screen(screen) => screen.on_cue(cue, &self.board),
            Output::Log(log) => log.on_cue(cue, &self.board).iter().for_each(|line| print(line)),
        }
    }
}

impl Observer for View {
    fn on_event(&mut self, now: Time, event: &Event<'_>) {
        if let Some(cue) = self.board.on_event(now, event) {
            self.draw(cue);
        }
    }
}

/// Watches a run for views elsewhere: it knows what a view would show, and draws nothing.
#[derive(Debug)]
pub struct Unseen {
    board: Board,
}

impl Unseen {
    /// For a run of the `arms`, in file order, that is planned to last `total` of run time.
    pub fn new(arms: &[ArmLabel], total: Nanos) -> Self {
        Self { board: Board::new(arms, total) }
    }

    /// The arms at the last event, by name in file order.
    pub fn snapshot(&self) -> Snapshot {
        self.board.snapshot()
    }
}

impl Observer for Unseen {
    fn on_event(&mut self, now: Time, event: &Event<'_>) {
        self.board.on_event(now, event);
    }
}

/// Writes the line at once, so that those of other threads do not get into it.
fn print(line: &str) {
    // A reader that went away is no reason to end a run.
    let _ = std::io::stderr().write_all(format!("{line}\n").as_bytes());
}
