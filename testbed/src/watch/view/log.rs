//! The run as lines of text, for pipes and files.

use super::board::{ArmBoard, Board, Cue, WorkBoard};
use super::calls::CallBoard;
use super::downloads::DownloadBoard;
use crate::digits::significant;
use testbed_core::time::{Nanos, Time};

/// Run time between two lines with all arms.
const EVERY: Nanos = Nanos::from_secs(1);

/// Decides which moments make a line.
#[derive(Debug)]
pub(super) struct Log {
    /// When the next line with all arms is due; never in virtual time, where a run of minutes
    /// takes moments.
    due: Time,
}

impl Log {
    pub(super) fn new(live: bool) -> Self {
        Self { due: if live { Time::ZERO.after(EVERY) } else { Time::NEVER } }
    }

    /// The line for this moment, if it makes one.
    pub(super) fn on_cue(&mut self, cue: Cue<'_>, board: &Board) -> Option<String> {
        let seconds = board.now.as_secs_f64();
        match cue {
            Cue::Phase => Some(format!("t={seconds:.1}s phase {}", board.phase)),
            Cue::Fault { name, on } => {
                Some(format!("t={seconds:.1}s fault {name} {}", if on { "on" } else { "off" }))
            }
            Cue::Tick if board.now >= self.due => {
                self.due = next_multiple(board.now);
                let arms: Vec<_> = board.arms.iter().map(arm_text).collect();
                Some(format!("t={seconds:.1}s {}  {}", board.phase, arms.join(" | ")))
            }
            Cue::Tick | Cue::End => None,
        }
    }
}

/// The first multiple of [`EVERY`] after `now`, so that late ticks do not add up.
fn next_multiple(now: Time) -> Time {
    let past = Nanos::new(now.as_nanos() % EVERY.get());
    now.after(EVERY.minus(past))
}

fn arm_text(arm: &ArmBoard) -> String {
    let numbers = match &arm.work {
        WorkBoard::Calls(calls) => calls_text(calls),
        WorkBoard::Downloads(downloads) => downloads_text(downloads),
    };
    format!("{} {numbers}", arm.name)
}

fn calls_text(calls: &CallBoard) -> String {
    let [window, limit, gradient] = calls.law_texts();
    format!(
        "window {window} limit {limit} gradient {gradient} in flight {} goodput {}/s",
        calls.in_flight,
        significant(calls.goodput_per_s, 2),
    )
}

fn downloads_text(downloads: &DownloadBoard) -> String {
    format!(
        "waiting {} oldest {:.2}s granted {:.2} MiB/s tasks done {}",
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
    use testbed_core::event::Event;
    use testbed_core::request::Arm;
    use testbed_core::vitals::Vitals;

    /// The log of three seconds with a tick every 400 ms.
    fn lines(live: bool) -> Vec<String> {
        let label = |name: &str, kind| ArmLabel {
            name: name.into(),
            kind,
            has_window: true,
            ceiling: None,
        };
        let arms = [
            label("integer", ArmKind::Calls),
            label("double", ArmKind::Calls),
            label("paced", ArmKind::Downloads),
        ];
        let mut board = Board::new(&arms, Nanos::from_secs(3));
        let mut log = Log::new(live);
        let mut vitals = Vitals::new();
        vitals.push("gradient", 0.7);
        let update = Update { old: 2.0, new: 2.5, limit: 2, reason: "gradient" };
        let updated = Event::Updated { arm: Arm(1), update, vitals: &vitals };
        let phase = Event::Phase { index: 0, name: "degraded" };
        let fault = |on| Event::Fault { index: 0, name: "held", on };
        let mut script = vec![(0, phase), (0, fault(true)), (300, updated)];
        script.extend((1..=7).map(|tick| (tick * 400, Event::Tick)));
        script.extend([(3_000, fault(false)), (3_000, Event::End)]);
        let cue = |(ms, event): (u64, Event<'_>)| {
            let cue = board.on_event(Time::ZERO.after(Nanos::from_millis(ms)), &event)?;
            log.on_cue(cue, &board)
        };
        script.into_iter().filter_map(cue).collect()
    }

    #[test]
    fn a_live_log_has_a_line_for_each_second() {
        const ARMS: &str = "degraded  integer window 0.00 limit 0 gradient - in flight 0 \
            goodput 0/s | double window 2.50 limit 2 gradient 0.70 in flight 0 goodput 0/s \
            | paced waiting 0 oldest 0.00s granted 0.00 MiB/s tasks done 0";
        assert_eq!(
            lines(true),
            [
                "t=0.0s phase degraded",
                "t=0.0s fault held on",
                &format!("t=1.2s {ARMS}"),
                &format!("t=2.0s {ARMS}"),
                "t=3.0s fault held off",
            ]
        );
    }

    #[test]
    fn a_virtual_log_has_phases_and_faults_only() {
        let expected = ["t=0.0s phase degraded", "t=0.0s fault held on", "t=3.0s fault held off"];
        assert_eq!(lines(false), expected);
    }
}
