//! A limiter over asks.

use super::table::{Column, Header, LawError, Row, each_row};
use std::io::{BufRead, Write};
use testbed_core::limit::{Ask, Limiter, LimiterConfig, Waiter};
use testbed_core::rng::Streams;
use testbed_core::time::Time;

const NEEDED: &str = "Needed: now_ns and n (bytes). Optional: op (allow, reserve or reserve_cancel; \
                      reserve, if left out)";

/// Puts each row to a fresh limiter as an ask of a waiter of its own, and appends `ok`, whether it was
/// or will be granted, and `delay_ns`, how long it was told to wait. Who has been told an instant
/// goes then, and is not heard of again.
pub(super) fn drive(
    law: &LimiterConfig,
    input: impl BufRead,
    output: impl Write,
) -> Result<(), LawError> {
    let (mut limiter, mut asks) = (law.build(&Streams::new(1)), 0u32);
    each_row(input, output, ["ok", "delay_ns"], NEEDED, Columns::find, |columns, row| {
        let (now, cost) = columns.ask(row)?;
        while limiter.on_wake(now).is_some() {}
        let waiter = Waiter { id: asks, ..Waiter::default() };
        asks = asks.wrapping_add(1);
        let (ok, delay_ns) = columns.answer(row, &mut *limiter, now, waiter, cost)?;
        Ok([u8::from(ok).to_string(), delay_ns])
    })
}

struct Columns {
    now_ns: Column,
    n: Column,
    op: Option<Column>,
}

impl Columns {
    fn find(header: &Header<'_>) -> Result<Self, LawError> {
        Ok(Self { now_ns: header.need("now_ns")?, n: header.need("n")?, op: header.find("op") })
    }

    fn ask(&self, row: &Row<'_>) -> Result<(Time, u64), LawError> {
        let number = |column| {
            let number = row.number(column)?;
            u64::try_from(number).map_err(|_| row.cell(column, "is below 0"))
        };
        Ok((Time::from_nanos(number(self.now_ns)?), number(self.n)?))
    }

    /// `ok` and `delay_ns`. A wait of which the policy cannot tell the end has no delay.
    fn answer(
        &self,
        row: &Row<'_>,
        limiter: &mut dyn Limiter,
        now: Time,
        waiter: Waiter,
        cost: u64,
    ) -> Result<(bool, String), LawError> {
        let cancels = match self.op.map(|column| (column, row.text(column))) {
            Some((_, "allow")) => return Ok((limiter.try_ask(now, waiter, cost), "0".to_owned())),
            None | Some((_, "reserve")) => false,
            Some((_, "reserve_cancel")) => true,
            Some((column, _)) => {
                return Err(row.cell(column, "is none of allow, reserve and reserve_cancel"));
            }
        };
        let answer = match limiter.ask(now, waiter, cost) {
            Ask::Granted => (true, "0".to_owned()),
            Ask::Refused => (false, "0".to_owned()),
            Ask::Waiting { quoted } => {
                let delay = quoted.map(|at| at.since(now).get().to_string());
                (true, delay.unwrap_or_default())
            }
        };
        if cancels {
            limiter.cancel(now, waiter.id);
        }
        Ok(answer)
    }
}
