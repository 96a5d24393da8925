//! The run as a few lines that redraw themselves.

use super::board::{ArmBoard, Board, Cue, WorkBoard};
use super::calls::CallBoard;
use super::downloads::DownloadBoard;
use super::meter::Sparkline;
use crate::digits::significant;
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::mem::discriminant;
use std::time::Duration;

/// Wall time between two drawings.
const REDRAW: Duration = Duration::from_millis(100);
/// A virtual run that is over sooner is not drawn at all: it would only flash.
const PATIENCE: Duration = Duration::from_secs(1);
/// Columns of the bar that shows how far the run has come.
const BAR: usize = 20;

/// The drawn lines: progress, then one per arm, under a heading for arms of one kind.
#[derive(Debug)]
pub(super) struct Screen {
    lines: Vec<ProgressBar>,
    /// Wall time, since the lines were made, of the next drawing.
    due: Duration,
}

impl Screen {
    pub(super) fn new(board: &Board, live: bool) -> Self {
        let style = ProgressStyle::with_template("{wide_msg}").expect("it is well-formed");
        // Lines are drawn together, by force; drawing after each of them is held down.
        let target = ProgressDrawTarget::stderr_with_hz(1);
        let screen = MultiProgress::with_draw_target(target);
        let line = |_| screen.add(ProgressBar::no_length().with_style(style.clone()));
        Self {
            lines: texts(board, None).iter().map(line).collect(),
            due: if live { Duration::ZERO } else { PATIENCE },
        }
    }

    pub(super) fn on_cue(&mut self, cue: Cue<'_>, board: &Board) {
        match cue {
            Cue::Tick => self.refresh(board),
            Cue::End => self.lines.iter().for_each(ProgressBar::finish_and_clear),
            // The next tick shows them.
            Cue::Phase | Cue::Fault { .. } => {}
        }
    }

    fn refresh(&mut self, board: &Board) {
        let [.., last] = self.lines.as_slice() else {
            return;
        };
        // The library's clock: the instants of events are run time, which may be virtual.
        let lasted = last.elapsed();
        if lasted < self.due {
            return;
        }
        self.due = lasted + REDRAW;
        for (line, text) in self.lines.iter().zip(texts(board, time_left(board, lasted))) {
            line.set_message(text);
        }
        last.force_draw();
    }
}

/// How long the rest of the run takes, if it goes on as fast as in the wall time that has passed. `None`
/// before a twentieth of it is over.
fn time_left(board: &Board, lasted: Duration) -> Option<Duration> {
    let share = board.now.as_secs_f64() / board.total.as_secs_f64();
    let known = (0.05..=1.0).contains(&share);
    known.then(|| lasted.mul_f64((1.0 - share) / share))
}

/// All lines, in full; what is wider than the terminal is cut off at the right.
fn texts(board: &Board, left: Option<Duration>) -> Vec<String> {
    let names = board.arms.iter().map(|arm| arm.name.chars().count()).max().unwrap_or(0);
    let mut lines = vec![progress_text(board, left)];
    for group in board.arms.chunk_by(|a, b| discriminant(&a.work) == discriminant(&b.work)) {
        lines.extend(group.first().map(|arm| heading(arm, names)));
        lines.extend(group.iter().map(|arm| arm_text(arm, names)));
    }
    lines
}

fn progress_text(board: &Board, left: Option<Duration>) -> String {
    let total = format!("{:.1}s", board.total.as_secs_f64());
    let now = format!("{:.1}s", board.now.as_secs_f64());
    let on = if board.faults.is_empty() { "" } else { "  with " };
    let left = left.map_or_else(String::new, |left| format!("  {}s left", left.as_secs()));
    format!(
        "{} {now:>width$} / {total}{left}  {}{on}{}",
        bar(board),
        board.phase,
        board.faults.join(", "),
        width = total.len(),
    )
}

fn bar(board: &Board) -> String {
    let share = board.now.as_secs_f64() / board.total.as_secs_f64();
    let full = ((share * BAR as f64) as usize).min(BAR);
    "█".repeat(full) + &"░".repeat(BAR - full)
}

/// With names of up to ten characters, a line fits into 80 columns.
fn heading(arm: &ArmBoard, names: usize) -> String {
    let columns = match &arm.work {
        WorkBoard::Calls(_) => " window limit gradient flight waiting good/s",
        WorkBoard::Downloads(_) => "waiting  oldest   MiB/s tasks done",
    };
    format!("{:names$} {:curve$} {columns}", "", "", curve = Sparkline::WIDTH)
}

fn arm_text(arm: &ArmBoard, names: usize) -> String {
    let (curve, numbers) = match &arm.work {
        WorkBoard::Calls(calls) => (&calls.windows, calls_text(calls)),
        WorkBoard::Downloads(downloads) => (&downloads.throughputs, downloads_text(downloads)),
    };
    format!("{:names$} {} {numbers}", arm.name, curve.draw())
}

fn calls_text(calls: &CallBoard) -> String {
    let [window, limit, gradient] = calls.law_texts();
    format!(
        "{window:>7} {limit:>5} {gradient:>8} {:>6} {:>7} {:>6}",
        calls.in_flight,
        calls.waiting,
        significant(calls.goodput_per_s, 2),
    )
}

fn downloads_text(downloads: &DownloadBoard) -> String {
    format!(
        "{:>7} {:>6.2}s {:>7.2} {:>10}",
        downloads.waiting,
        downloads.oldest.as_secs_f64(),
        downloads.mib_per_s,
        downloads.tasks_done,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::prometheus::{ArmKind, ArmLabel};
    use testbed_core::control::Update;
    use testbed_core::download::Change;
    use testbed_core::event::Event;
    use testbed_core::limit::Waiter;
    use testbed_core::request::Arm;
    use testbed_core::time::{Nanos, Time};
    use testbed_core::vitals::Vitals;
    use testbed_core::wait::{Wait, WaitEnd};

    fn label(name: &str, kind: ArmKind) -> ArmLabel {
        ArmLabel { name: name.into(), kind, has_window: true, ceiling: None }
    }

    fn board(total: Nanos) -> Board {
        let arms = [label("integer", ArmKind::Calls), label("double", ArmKind::Calls)];
        Board::new(&arms, total)
    }

    fn at(seconds: u64) -> Time {
        Time::ZERO.after(Nanos::from_secs(seconds))
    }

    #[test]
    fn lines_stand_in_columns() {
        let mut board = board(Nanos::from_secs(30));
        let mut vitals = Vitals::new();
        vitals.push("gradient", 0.7);
        let update = Update { old: 2.0, new: 11.0, limit: 11, reason: "gradient" };
        let start = Update { old: 2.0, new: 2.0, limit: 2, reason: "start" };
        for event in [
            Event::Updated { arm: Arm(0), update: start, vitals: &Vitals::new() },
            Event::Updated { arm: Arm(1), update: start, vitals: &Vitals::new() },
            Event::Tick,
            Event::Updated { arm: Arm(1), update, vitals: &vitals },
            Event::Phase { index: 0, name: "degraded" },
            Event::Fault { index: 0, name: "held", on: true },
            Event::Fault { index: 1, name: "storm", on: true },
            Event::Tick,
        ] {
            board.on_event(at(9), &event);
        }
        assert_eq!(
            texts(&board, None),
            [
                "██████░░░░░░░░░░░░░░  9.0s / 30.0s  degraded  with held, storm",
                "                                  window limit gradient flight waiting good/s",
                "integer                       ██    2.00     2        -      0       0      0",
                "double                        ▂█   11.00    11     0.70      0       0      0",
            ]
        );
    }

    #[test]
    fn the_time_left_goes_by_the_wall_time_that_has_passed() {
        for (now, lasted, left) in [
            (0, 1, None),
            (1, 1, None),
            (3, 1, Some(9)),
            (15, 15, Some(15)),
            (15, 2, Some(2)),
            (30, 30, Some(0)),
            (31, 30, None),
        ] {
            let mut board = board(Nanos::from_secs(30));
            board.now = at(now);
            let found = time_left(&board, Duration::from_secs(lasted));
            assert_eq!(found.map(|left| left.as_secs_f64().round() as u64), left, "{now} s");
        }
        let mut board = board(Nanos::from_secs(30));
        board.now = at(15);
        let text = progress_text(&board, Some(Duration::from_secs(15)));
        assert!(text.contains("15.0s / 30.0s  15s left"), "{text}");
    }

    #[test]
    fn the_bar_stays_within_its_columns() {
        for (now, total, full) in [(0, 30, 0), (29, 30, 19), (30, 30, 20), (90, 30, 20), (1, 0, 20)]
        {
            let mut board = board(Nanos::from_secs(total));
            board.now = at(now);
            let bar = bar(&board);
            assert_eq!(bar.chars().count(), BAR);
            assert_eq!(bar.chars().filter(|&cell| cell == '█').count(), full, "{now} of {total}");
        }
    }

    #[test]
    fn arms_of_each_kind_stand_under_a_heading_of_their_own() {
        let arms = [
            label("paced", ArmKind::Downloads),
            label("naive", ArmKind::Downloads),
            label("double", ArmKind::Calls),
        ];
        let mut board = Board::new(&arms, Nanos::from_secs(30));
        let (waiter, quoted, fifo_at) = (Waiter::default(), None, Time::ZERO);
        let asked_at = at(1);
        let wait = Wait { waiter, cost: 3 << 19, asked_at, quoted, fifo_at };
        let end = WaitEnd::Granted;
        let (overtook, lag, waiting, active) = (0, Nanos::ZERO, 3, 4);
        let naive = Arm(1);
        let asked = |arm| Event::Asked { arm, wait, waiting: 4 };
        let change = Change::Done { task_done: true };
        for (seconds, event) in [
            (1, asked(Arm(0))),
            (1, asked(naive)),
            (1, Event::Tick),
            (2, Event::WaitEnded { arm: naive, wait, end, overtook, lag, waiting, active }),
            (2, Event::Transfer { arm: naive, waiter, change, active }),
            (2, Event::Tick),
        ] {
            board.on_event(at(seconds), &event);
        }
        assert_eq!(
            texts(&board, None)[1..],
            [
                "                                waiting  oldest   MiB/s tasks done",
                "paced                        ▁▁       4   1.00s    0.00          0",
                "naive                        ▁█       3   0.00s    1.50          1",
                "                                 window limit gradient flight waiting good/s",
                "double                       ▁▁    0.00     0        -      0       0      0",
            ]
        );
    }

    #[test]
    fn lines_of_usual_arms_fit_into_80_columns() {
        let arms = [ArmKind::Calls, ArmKind::Downloads].map(|kind| label("ten-letter", kind));
        let board = Board::new(&arms, Nanos::from_secs(30));
        assert!(texts(&board, None).iter().all(|line| line.chars().count() <= 80));
    }
}
