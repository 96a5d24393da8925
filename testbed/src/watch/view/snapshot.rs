//! What a view shows of the arms at one instant, as data: for a view that sees no events.

use super::board::{ArmBoard, Board, WorkBoard};
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use testbed_core::time::{Nanos, Time};

/// The arms at one instant, by name in file order.
pub type Snapshot = IndexMap<String, ArmSnapshot>;

/// One arm at one instant.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ArmSnapshot {
    /// Requests behind a controller.
    Calls {
        /// The window as the law computes it; none for a law without.
        window: Option<f64>,
        /// Requests that may be in flight; none for a law without a window.
        limit: Option<u64>,
        /// The law's gradient, 0 to 1; none for a law without.
        gradient: Option<f64>,
        /// Requests sent and not ended.
        in_flight: u32,
        /// Requests that wait for admission.
        waiting: u32,
        /// Successes a second, over the last second of run time.
        goodput_per_s: f64,
        /// The mean latency in seconds of the requests that ended in the last second of run time; none
        /// if none did.
        #[serde(default)]
        latency_s: Option<f64>,
    },
    /// Downloads behind a limiter.
    Downloads {
        /// Asks that wait for tokens.
        waiting: u32,
        /// Run time that the oldest of them has waited, in nanoseconds.
        oldest_ns: u64,
        /// MiB granted a second, over the last second of run time.
        mib_per_s: f64,
        /// Bytes granted so far.
        #[serde(default)]
        granted_bytes: u64,
        /// Downloads of which all segments are done.
        tasks_done: u64,
    },
}

impl Board {
    pub(super) fn snapshot(&self) -> Snapshot {
        self.arms.iter().map(|arm| (arm.name.clone(), arm.snapshot())).collect()
    }

    /// Takes over what a board elsewhere knew at `now`. Arms that this one has not are left out.
    pub(super) fn show(&mut self, now: Time, snapshot: &Snapshot) {
        self.now = now;
        for arm in &mut self.arms {
            if let Some(shown) = snapshot.get(&arm.name) {
                arm.show(shown);
            }
        }
    }
}

impl ArmBoard {
    fn snapshot(&self) -> ArmSnapshot {
        match &self.work {
            WorkBoard::Calls(calls) => ArmSnapshot::Calls {
                window: calls.window,
                limit: calls.limit,
                gradient: calls.gradient,
                in_flight: calls.in_flight,
                waiting: calls.waiting,
                goodput_per_s: calls.goodput_per_s,
                latency_s: calls.latency_s,
            },
            WorkBoard::Downloads(downloads) => ArmSnapshot::Downloads {
                waiting: downloads.waiting,
                oldest_ns: downloads.oldest.get(),
                mib_per_s: downloads.mib_per_s,
                granted_bytes: downloads.granted_bytes,
                tasks_done: downloads.tasks_done,
            },
        }
    }

    fn show(&mut self, shown: &ArmSnapshot) {
        match (&mut self.work, *shown) {
            (
                WorkBoard::Calls(calls),
                ArmSnapshot::Calls {
                    window,
                    limit,
                    gradient,
                    in_flight,
                    waiting,
                    goodput_per_s,
                    latency_s,
                },
            ) => {
                (calls.window, calls.limit, calls.gradient) = (window, limit, gradient);
                (calls.in_flight, calls.waiting) = (in_flight, waiting);
                (calls.goodput_per_s, calls.latency_s) = (goodput_per_s, latency_s);
                calls.draw_window();
            }
            (
                WorkBoard::Downloads(downloads),
                ArmSnapshot::Downloads { waiting, oldest_ns, mib_per_s, granted_bytes, tasks_done },
            ) => {
                (downloads.waiting, downloads.oldest) = (waiting, Nanos::new(oldest_ns));
                (downloads.mib_per_s, downloads.tasks_done) = (mib_per_s, tasks_done);
                downloads.granted_bytes = granted_bytes;
                downloads.throughputs.push(mib_per_s);
            }
            // Of another kind: not the arm that this board was made for.
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::prometheus::{ArmKind, ArmLabel};
    use testbed_core::control::Update;
    use testbed_core::event::Event;
    use testbed_core::limit::Waiter;
    use testbed_core::request::Arm;
    use testbed_core::vitals::Vitals;
    use testbed_core::wait::Wait;

    fn board() -> Board {
        let label = |name: &str, kind| ArmLabel {
            name: name.into(),
            kind,
            has_window: true,
            ceiling: None,
        };
        let arms = [label("double", ArmKind::Calls), label("naive", ArmKind::Downloads)];
        Board::new(&arms, Nanos::from_secs(30))
    }

    #[test]
    fn a_snapshot_that_went_through_json_makes_the_same_board() {
        let (mut board, mut elsewhere) = (board(), board());
        let at = |seconds| Time::ZERO.after(Nanos::from_secs(seconds));
        let mut vitals = Vitals::new();
        vitals.push("gradient", 0.7);
        let update = Update { old: 2.0, new: 11.5, limit: 11, reason: "gradient" };
        let (waiter, quoted, fifo_at) = (Waiter::default(), None, Time::ZERO);
        let wait = Wait { waiter, cost: 1, asked_at: at(1), quoted, fifo_at };
        for (seconds, event) in [
            (1, Event::Updated { arm: Arm(0), update, vitals: &vitals }),
            (1, Event::Asked { arm: Arm(1), wait, waiting: 3 }),
            (3, Event::Tick),
        ] {
            board.on_event(at(seconds), &event);
        }
        let text = serde_json::to_string(&board.snapshot()).unwrap();
        assert_eq!(
            text,
            r#"{"double":{"window":11.5,"limit":11,"gradient":0.7,"in_flight":0,"waiting":0,"goodput_per_s":0.0,"latency_s":null},"naive":{"waiting":3,"oldest_ns":2000000000,"mib_per_s":0.0,"granted_bytes":0,"tasks_done":0}}"#
        );
        elsewhere.show(at(3), &serde_json::from_str(&text).unwrap());
        assert_eq!(elsewhere.snapshot(), board.snapshot());
        assert_eq!(elsewhere.now, at(3));
        let drawn = |board: &Board| match &board.arms[0].work {
            WorkBoard::Calls(calls) => calls.windows.draw(),
            WorkBoard::Downloads(_) => String::new(),
        };
        assert_eq!(drawn(&elsewhere), drawn(&board));
    }

    #[test]
    fn arms_of_another_run_are_left_out() {
        let mut board = board();
        let before = board.snapshot();
        let other = r#"{"naive":{"window":1.0,"limit":1,"gradient":null,"in_flight":0,
            "waiting":0,"goodput_per_s":0.0},"else":{"waiting":3,"oldest_ns":0,"mib_per_s":0.0,
            "tasks_done":0}}"#;
        board.show(Time::ZERO, &serde_json::from_str(other).unwrap());
        assert_eq!(board.snapshot(), before);
    }
}
