//! Arrivals as data: `arrivals.csv`, one row a request, written as the run goes. It is a trace
//! ([`crate::experiment::trace_files`]), so another run can have it as its load.

use crate::experiment::plan::{ArmPlan, Plan};
use crate::experiment::trace_files::MOST_ROWS;
use std::io::{self, Write};
use testbed_core::event::Event;
use testbed_core::observe::Observer;
use testbed_core::request::Arrival;
use testbed_core::time::Time;

/// The file in a run directory.
pub const FILE: &str = "arrivals.csv";

/// An observer that writes a row for each request when it arrives, `arm,arrival_s` with the instant for which it was
/// planned, and its class where requests have some. Further attempts are no arrivals: a client that tries again
/// does so by what becomes of its request.
///
/// It stops one row after the most that a trace may have, so that what is cut off is refused as a trace.
pub struct ArrivalLog<W: Write> {
    /// Each arm's name, and those of its classes.
    arms: Vec<(String, Vec<String>)>,
    classes: bool,
    rows_left: usize,
    out: W,
    live: bool,
    failure: Option<io::Error>,
}

impl<W: Write> ArrivalLog<W> {
    /// A log for the arms of `plan`, header first. In a live run it is flushed at each sampling instant.
    pub fn new(plan: &Plan, live: bool, mut out: W) -> Self {
        let arm = |arm: &ArmPlan| {
            (arm.name.clone(), arm.client().classes.into_keys().collect::<Vec<_>>())
        };
        let arms: Vec<_> = plan.arms.iter().map(arm).collect();
        let classes = arms.iter().any(|(_, classes)| !classes.is_empty());
        let header = if classes { "arm,arrival_s,class\n" } else { "arm,arrival_s\n" };
        let failure = out.write_all(header.as_bytes()).err();
        Self { arms, classes, rows_left: MOST_ROWS + 1, out, live, failure }
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

    fn row(&mut self, arm: usize, arrival: &Arrival) -> io::Result<()> {
        let Some(rows_left) = self.rows_left.checked_sub(1) else { return Ok(()) };
        self.rows_left = rows_left;
        let ns = arrival.planned.as_nanos();
        let (name, classes) = &self.arms[arm];
        write!(self.out, "{name},{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000)?;
        if self.classes {
            let class = classes.get(usize::from(arrival.class.0));
            write!(self.out, ",{}", class.map_or("", String::as_str))?;
        }
        self.out.write_all(b"\n")
    }
}

impl<W: Write> Observer for ArrivalLog<W> {
    fn on_event(&mut self, _: Time, event: &Event<'_>) {
        match *event {
            Event::Arrived { arm, ref arrival, .. } if arrival.attempt == 0 => {
                let written = self.row(arm.index(), arrival);
                self.keep(written);
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
    use testbed_core::request::{Arm, Class};
    use testbed_core::time::Nanos;

    /// The log of one request that is tried again, and of another, where so many rows are left.
    fn rows(rows_left: usize) -> String {
        let mut out = Vec::new();
        let arms = vec![("a".to_owned(), vec!["gold".to_owned(), "tin".to_owned()])];
        let (classes, live, failure) = (true, false, None);
        let mut log = ArrivalLog { arms, classes, rows_left, out: &mut out, live, failure };
        let at = |ns| Time::from_nanos(ns);
        let first = Arrival { class: Class(1), ..Arrival::new(0, 0, at(5)) };
        for arrival in [first, first.again(at(7)), Arrival::new(1, 0, at(2_000_000_009))] {
            let (arm, lag) = (Arm(0), Nanos::from_millis(3));
            log.on_event(at(3_000_000_000), &Event::Arrived { arm, arrival, lag });
        }
        log.finish().unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_row_has_the_planned_instant_and_further_attempts_have_none() {
        assert_eq!(rows(9), "a,0.000000005,tin\na,2.000000009,gold\n");
    }

    #[test]
    fn a_log_ends_where_no_rows_are_left() {
        assert_eq!(rows(1), "a,0.000000005,tin\n");
        assert_eq!(rows(0), "");
    }
}
