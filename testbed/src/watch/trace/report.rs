//! What became of the traces of a run, in words.

use super::super::spans::SpanCounts;
use std::fmt;

/// Requests by what became of their traces.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    /// Attempts that ended, or never began.
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
    /// Requests.
    pub tally: Tally,
    /// Their spans, and those of the run.
    pub counts: SpanCounts,
    /// What the first export that failed died of.
    pub failure: Option<String>,
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
        write!(f, "traces: {} of {} requests; {ended} spans ended, ", tally.chosen, tally.ended)?;
        write!(f, "{exported} exported, {failed} failed, {dropped} dropped; {url}")?;
        if tally.passed_over > 0 {
            let more = tally.passed_over;
            write!(
                f,
                "\ntraces: {more} more requests would have been chosen, but not so many a second"
            )?;
        }
        if self.lost() > 0 {
            let why = failure.as_deref().unwrap_or("no answer in time");
            write!(f, "\ntraces: incomplete: {why}")?;
        }
        Ok(())
    }
}
