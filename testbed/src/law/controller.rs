//! A controller over round-trip times.

use super::table::{Column, Header, LawError, Row, each_row};
use std::io::{BufRead, Write};
use testbed_core::control::ControllerConfig;
use testbed_core::request::{Outcome, Sample};
use testbed_core::rng::Streams;
use testbed_core::time::{Nanos, Time};

const NEEDED: &str = "Needed: rtt_ns. Optional: op (sample or error), start_ns, inflight, dropped";

/// Feeds each row to a fresh controller, and appends its `limit` and `window`. A law with a clock is
/// woken before a row, once, if that was due by the row's end. Of a law without a window both are empty.
pub(super) fn drive(
    law: &ControllerConfig,
    input: impl BufRead,
    output: impl Write,
) -> Result<(), LawError> {
    let (mut controller, mut clock) = (law.build(&Streams::new(1)), Time::ZERO);
    each_row(input, output, ["limit", "window"], NEEDED, Columns::find, |columns, row| {
        let sample = columns.sample(row, clock)?;
        clock = clock.max(sample.end);
        if controller.next_wake().is_some_and(|due| due <= clock) {
            let _ = controller.on_wake(clock);
        }
        let _ = controller.on_sample(sample.end, &sample);
        let cells = || [controller.limit().to_string(), controller.window().to_string()];
        Ok(if law.has_window() { cells() } else { Default::default() })
    })
}

struct Columns {
    rtt_ns: Column,
    op: Option<Column>,
    start_ns: Option<Column>,
    in_flight: Option<Column>,
    dropped: Option<Column>,
}

impl Columns {
    fn find(header: &Header<'_>) -> Result<Self, LawError> {
        Ok(Self {
            rtt_ns: header.need("rtt_ns")?,
            op: header.find("op"),
            start_ns: header.find("start_ns"),
            in_flight: header.find("inflight"),
            dropped: header.find("dropped"),
        })
    }

    /// A row as a sample. Without a start it begins when the one before ended, at `clock`.
    fn sample(&self, row: &Row<'_>, clock: Time) -> Result<Sample, LawError> {
        let start = match self.start_ns {
            Some(column) => Time::from_nanos(row.number(column)?.max(0) as u64),
            None => clock,
        };
        // Laws ignore round trips of no time, and the originals those below it.
        let rtt = Nanos::new(row.number(self.rtt_ns)?.max(0) as u64);
        let in_flight = match self.in_flight {
            Some(column) => row.number(column)?.clamp(0, i64::from(u32::MAX)) as u32,
            None => 1,
        };
        Ok(Sample {
            start,
            sent: start,
            end: start.after(rtt),
            in_flight_at_start: in_flight,
            in_flight_at_end: in_flight,
            limit_at_start: u64::from(in_flight),
            outcome: self.outcome(row)?,
            bytes: 0,
        })
    }

    fn outcome(&self, row: &Row<'_>) -> Result<Outcome, LawError> {
        if let Some(column) = self.dropped {
            let dropped = row.number(column)? != 0;
            return Ok(if dropped { Outcome::Overload } else { Outcome::Success });
        }
        let Some(column) = self.op else { return Ok(Outcome::Success) };
        match row.text(column) {
            "sample" => Ok(Outcome::Success),
            "error" => Ok(Outcome::Overload),
            _ => Err(row.cell(column, "is neither sample nor error")),
        }
    }
}
