//! Spans by what became of them.

use super::children::Children;
use super::names;
use super::together::{Joint, Together};
use crate::watch::spans::{Kept, SpanCounts, SpanLedger};

impl Together for Kept {
    fn values(&self) -> Vec<f64> {
        let SpanCounts { ended, exported, failed, dropped } = self.counts;
        [ended, exported, failed, dropped].map(|count| count as f64).into()
    }
}

/// New counts, and the series that show them: 0 in a run without traces.
pub(super) fn shown(children: &Children) -> SpanLedger {
    let ledger = SpanLedger::default();
    let results: [&[&str]; 4] = [&["ended"], &["exported"], &["failed"], &["dropped"]];
    let series = results.map(|labels| (names::SPANS, labels));
    Joint::shared(children, ledger.kept(), &series);
    ledger
}
