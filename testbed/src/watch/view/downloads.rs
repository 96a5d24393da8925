//! What a view knows of an arm with a limiter.

use super::meter::{Rate, Sparkline};
use crate::watch::progress::WaitsUnderWay;
use testbed_core::download::Change;
use testbed_core::time::{Nanos, Time};
use testbed_core::wait::{Wait, WaitEnd};

const BYTES_PER_MIB: f64 = 1_048_576.0;

/// Downloads and the limiter that they wait for.
#[derive(Debug)]
pub(super) struct DownloadBoard {
    /// Asks that wait.
    pub(super) waiting: u32,
    /// How long the oldest of them had waited at the last tick.
    pub(super) oldest: Nanos,
    pub(super) tasks_done: u64,
    /// Bytes granted so far.
    pub(super) granted_bytes: u64,
    /// MiB granted a second, at the last tick.
    pub(super) mib_per_s: f64,
    /// The same at each tick.
    pub(super) throughputs: Sparkline,
    granted: Rate,
    under_way: WaitsUnderWay,
}

impl DownloadBoard {
    pub(super) fn new() -> Self {
        Self {
            waiting: 0,
            oldest: Nanos::ZERO,
            tasks_done: 0,
            granted_bytes: 0,
            mib_per_s: 0.0,
            throughputs: Sparkline::new(),
            granted: Rate::new(),
            under_way: WaitsUnderWay::default(),
        }
    }

    pub(super) fn asked(&mut self, wait: &Wait, waiting: u32) {
        self.waiting = waiting;
        self.under_way.begin(wait);
    }

    pub(super) fn wait_ended(&mut self, wait: &Wait, end: WaitEnd, waiting: u32) {
        self.waiting = waiting;
        self.under_way.end(wait);
        if end == WaitEnd::Granted {
            self.granted.add(wait.cost);
            self.granted_bytes += wait.cost;
        }
    }

    pub(super) fn changed(&mut self, change: Change) {
        self.tasks_done += u64::from(change == Change::Done { task_done: true });
    }

    pub(super) fn tick(&mut self, now: Time) {
        self.oldest = self.under_way.ages(now).next().unwrap_or(Nanos::ZERO);
        self.granted.mark(now);
        self.mib_per_s = self.granted.per_second() / BYTES_PER_MIB;
        self.throughputs.push(self.mib_per_s);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use testbed_core::limit::Waiter;

    fn at(ms: u64) -> Time {
        Time::ZERO.after(Nanos::from_millis(ms))
    }

    fn wait(id: u32, asked_ms: u64) -> Wait {
        let waiter = Waiter { id, ..Waiter::default() };
        let (quoted, fifo_at, cost) = (None, Time::ZERO, 1 << 20);
        Wait { waiter, cost, asked_at: at(asked_ms), quoted, fifo_at }
    }

    #[test]
    fn a_tick_takes_the_oldest_wait_and_what_a_second_granted() {
        let mut board = DownloadBoard::new();
        board.asked(&wait(0, 100), 1);
        board.asked(&wait(1, 200), 2);
        board.asked(&wait(2, 300), 3);
        // Waiter and instant of an ask that ends, how, the tick, the oldest and MiB/s then.
        for (id, asked_ms, end, tick_ms, oldest_ms, throughput) in [
            (1, 200, WaitEnd::Granted, 1_000, 900, 1.0),
            (0, 100, WaitEnd::Cancelled, 1_000, 700, 1.0),
            (2, 300, WaitEnd::Granted, 2_000, 0, 1.0),
        ] {
            board.wait_ended(&wait(id, asked_ms), end, 0);
            board.tick(at(tick_ms));
            assert_eq!(board.oldest, Nanos::from_millis(oldest_ms), "waiter {id}");
            assert_eq!(board.mib_per_s, throughput, "waiter {id}");
        }
        assert_eq!(board.granted_bytes, 2 << 20);
    }

    #[test]
    fn tasks_are_done_with_their_last_segment() {
        let mut board = DownloadBoard::new();
        let done = |task_done| Change::Done { task_done };
        for change in [Change::Opened { attempt: 0 }, done(false), Change::Failed, done(true)] {
            board.changed(change);
        }
        assert_eq!(board.tasks_done, 1);
    }
}
