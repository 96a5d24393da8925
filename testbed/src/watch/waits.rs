//! Waits as data: `waits.csv`, one row an ask, written as the run goes.

use crate::experiment::file::Waits;
use std::io::{self, Write};
use testbed_core::event::Event;
use testbed_core::limit::Waiter;
use testbed_core::observe::Observer;
use testbed_core::time::{Nanos, Time};
use testbed_core::wait::{Wait, WaitEnd};

/// The name of a waiter in files and metrics: `task3/seg5`.
pub fn waiter_name(waiter: Waiter) -> String {
    format!("task{}/seg{}", waiter.task, waiter.segment)
}

/// An observer that writes a row for each wait at its end:
/// `t_ns,arm,waiter,cost,quoted_ns,wait_ns,outcome`. `t_ns` is the instant of the ask. `quoted_ns`
/// is empty where the policy quoted nothing.
pub struct WaitLog<W: Write> {
    arms: Vec<String>,
    which: Waits,
    out: W,
    live: bool,
    failure: Option<io::Error>,
}

impl<W: Write> WaitLog<W> {
    /// A log for these arms, header first. In a live run it is flushed at each sampling instant.
    pub fn new(arms: &[String], which: Waits, live: bool, mut out: W) -> Self {
        let failure = out.write_all(b"t_ns,arm,waiter,cost,quoted_ns,wait_ns,outcome\n").err();
        Self { arms: arms.to_vec(), which, out, live, failure }
    }

    /// Closes the log.
    ///
    /// # Errors
    /// The first failure to write, if any.
    pub fn finish(mut self) -> io::Result<()> {
        self.out.flush()?;
        self.failure.map_or(Ok(()), Err)
    }

    fn keep(&mut self, written: io::Result<()>) {
        self.failure = self.failure.take().or_else(|| written.err());
    }

    fn row(&mut self, arm: usize, wait: &Wait, length: Nanos, end: WaitEnd) -> io::Result<()> {
        let (asked_ns, arm) = (wait.asked_at.as_nanos(), &self.arms[arm]);
        let Waiter { task, segment, .. } = wait.waiter;
        write!(self.out, "{asked_ns},{arm},task{task}/seg{segment},{},", wait.cost)?;
        if let Some(quoted) = wait.quoted_wait() {
            write!(self.out, "{}", quoted.get())?;
        }
        writeln!(self.out, ",{},{}", length.get(), end.name())
    }
}

impl<W: Write> Observer for WaitLog<W> {
    fn on_event(&mut self, now: Time, event: &Event<'_>) {
        match *event {
            Event::WaitEnded { arm, ref wait, end, .. } => {
                let length = now.since(wait.asked_at);
                let wanted = match self.which {
                    Waits::All => true,
                    Waits::Waited => length > Nanos::ZERO,
                    Waits::Off => false,
                };
                if wanted {
                    let written = self.row(arm.index(), wait, length, end);
                    self.keep(written);
                }
            }
            Event::Tick if self.live => {
                let flushed = self.out.flush();
                self.keep(flushed);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use testbed_core::request::Arm;

    const ASKED_AT: Time = Time::from_nanos(5);
    const WAITER: Waiter = Waiter { id: 29, task: 3, queue: 0, segment: 5 };

    fn wait(quoted: Option<Time>) -> Wait {
        let (waiter, cost, fifo_at) = (WAITER, 16, Time::ZERO);
        Wait { waiter, cost, asked_at: ASKED_AT, quoted, fifo_at }
    }

    /// The rows that a log of `which` has of a wait of 0 ns, one of 7 ns and one cut off.
    fn rows(which: Waits) -> Vec<String> {
        let mut out = Vec::new();
        let mut log = WaitLog::new(&["a".to_owned()], which, false, &mut out);
        for (ns, quoted, end) in [
            (5, Some(ASKED_AT), WaitEnd::Granted),
            (12, Some(Time::from_nanos(9)), WaitEnd::Granted),
            (20, None, WaitEnd::CutOff),
        ] {
            let (wait, lag) = (wait(quoted), Nanos::ZERO);
            let (arm, overtook, waiting, active) = (Arm(0), 0, 0, 1);
            let ended = Event::WaitEnded { arm, wait, end, overtook, lag, waiting, active };
            log.on_event(Time::from_nanos(ns), &ended);
        }
        log.finish().unwrap();
        String::from_utf8(out).unwrap().lines().skip(1).map(str::to_owned).collect()
    }

    #[test]
    fn a_row_says_who_asked_when_what_it_was_told_and_what_came_of_it() {
        let all = [
            "5,a,task3/seg5,16,0,0,granted",
            "5,a,task3/seg5,16,4,7,granted",
            "5,a,task3/seg5,16,,15,cut_off",
        ];
        assert_eq!(rows(Waits::All), all);
        assert_eq!(rows(Waits::Waited), all[1..]);
        assert!(rows(Waits::Off).is_empty());
    }
}
