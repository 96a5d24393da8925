//! What became of the traces of a run, in words.

use super::super::spans::SpanCounts;
use super::choose::{Choice, Why};
use std::fmt;

/// Requests and waits for tokens by what became of their traces.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    /// Attempts that ended, or never began, and waits that ended.
    pub ended: u64,
    /// Those of them that were chosen.
    pub chosen: u64,
    /// Those that were worth a trace when there had been enough in their second.
    pub passed_over: u64,
}

/// What became of the traces of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Report {
    /// Where they went.
    pub url: String,
    /// Requests and waits.
    pub tally: Tally,
    /// Their spans, and those of the run.
    pub counts: SpanCounts,
    /// What the first export that failed died of.
    pub failure: Option<String>,
}

impl Tally {
    /// One more has ended; why it gets a trace, if it does.
    pub(super) const fn ended(&mut self, choice: Choice) -> Option<Why> {
        self.ended += 1;
        match choice {
            Choice::No => None,
            Choice::TooMany => {
                self.passed_over += 1;
                None
            }
            Choice::Yes(why) => {
                self.chosen += 1;
                Some(why)
            }
        }
    }
}

impl Report {
    /// Spans that did not arrive.
    pub const fn lost(&self) -> u64 {
        self.counts.failed + self.counts.dropped
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { url, tally, counts, failure } = self;
        let SpanCounts { ended, exported, failed, dropped } = counts;
        write!(f, "traces: {} of {} requests and waits; ", tally.chosen, tally.ended)?;
        write!(
            f,
            "{ended} spans ended, {exported} exported, {failed} failed, {dropped} dropped; {url}"
        )?;
        if tally.passed_over > 0 {
            let more = tally.passed_over;
            write!(f, "\ntraces: {more} more would have been chosen, but not so many a second")?;
        }
        if self.lost() > 0 {
            let why = failure.as_deref().unwrap_or("no answer in time");
            write!(f, "\ntraces: incomplete: {why}")?;
        }
        Ok(())
    }
}
