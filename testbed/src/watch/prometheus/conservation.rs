//! What comes in has gone out or is still there: requests, asks and tokens, each of whose sums
//! agree at every scrape.

use super::children::Children;
use super::names::{self, Metric};
use super::together::{Joint, Together};
use testbed_core::limit::Level;
use testbed_core::limit::levels::Stock;
use testbed_core::request::Outcome;
use testbed_core::wait::WaitEnd;

/// Requests of one arm: arrivals = waiting + rejected + abandoned + admitted, and admitted = in
/// flight + all that ended.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tickets {
    pub(super) arrivals: u64,
    pub(super) waiting: u32,
    pub(super) rejected: u64,
    pub(super) abandoned: u64,
    pub(super) admitted: u64,
    pub(super) in_flight: u32,
    /// In the order of [`Outcome::ALL`].
    pub(super) ended: [u64; Outcome::ALL.len()],
}

impl Tickets {
    pub(super) fn joint(children: &Children, arm: &str) -> Joint<Self> {
        let single = [
            names::ARRIVALS,
            names::WAITING,
            names::REJECTED,
            names::ABANDONED,
            names::ADMITTED,
            names::IN_FLIGHT,
        ];
        let ended = Outcome::ALL.map(|outcome| [arm, outcome.name()]);
        let single = single.map(|metric| (metric, [arm]));
        let mut series: Vec<_> = single.iter().map(|(metric, arm)| (*metric, &arm[..])).collect();
        series.extend(ended.iter().map(|labels| (names::REQUESTS, &labels[..])));
        Joint::new(children, Self::default(), &series)
    }
}

impl Together for Tickets {
    fn values(&self) -> Vec<f64> {
        let counts = [self.arrivals, self.waiting.into(), self.rejected, self.abandoned];
        let rest = [self.admitted, self.in_flight.into()];
        counts.iter().chain(&rest).chain(&self.ended).map(|count| *count as f64).collect()
    }
}

/// Asks for tokens of one arm: asks = waiting + all that ended.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Asks {
    pub(super) asks: u64,
    pub(super) waiting: u32,
    pub(super) granted: u64,
    pub(super) cancelled: u64,
    pub(super) cut_off: u64,
}

impl Asks {
    pub(super) fn joint(children: &Children, arm: &str) -> Joint<Self> {
        let ends = [WaitEnd::Granted, WaitEnd::Cancelled, WaitEnd::CutOff];
        let ends = ends.map(|end| [arm, end.name()]);
        let arm = [arm];
        let mut series = vec![(names::ASKS, &arm[..]), (names::WAITING, &arm[..])];
        series.extend(ends.iter().map(|labels| (names::WAIT_ENDS, &labels[..])));
        Joint::new(children, Self::default(), &series)
    }

    pub(super) const fn ended(&mut self, end: WaitEnd) {
        match end {
            WaitEnd::Granted => self.granted += 1,
            WaitEnd::Cancelled => self.cancelled += 1,
            WaitEnd::CutOff => self.cut_off += 1,
        }
    }
}

impl Together for Asks {
    fn values(&self) -> Vec<f64> {
        let counts = [self.asks, self.waiting.into(), self.granted, self.cancelled, self.cut_off];
        counts.map(|count| count as f64).into()
    }
}

/// The series of a level's tokens, in the order of [`in_bytes`].
const OF_TOKENS: [Metric; 6] = [
    names::TOKENS_START,
    names::TOKENS_REFILLED,
    names::TOKENS_RETURNED,
    names::TOKENS_TAKEN,
    names::TOKENS_DISCARDED,
    names::TOKENS_AVAILABLE,
];
/// Stocks are counted in billionths of a byte.
const PER_BYTE: f64 = 1e9;

/// Tokens of one arm by level: start + refilled + returned = taken + discarded + available.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tokens(pub(super) [Option<Stock>; 3]);

impl Tokens {
    /// Only levels with a limit have series.
    pub(super) fn joint(children: &Children, arm: &str, first: Self) -> Joint<Self> {
        let limited = Level::ALL.into_iter().zip(first.0).filter(|(_, stock)| stock.is_some());
        let labels: Vec<_> = limited.map(|(level, _)| [arm, level.name()]).collect();
        let of_level = |labels| OF_TOKENS.map(|metric| (metric, labels));
        let series: Vec<_> = labels.iter().flat_map(|labels| of_level(&labels[..])).collect();
        Joint::new(children, first, &series)
    }
}

impl Together for Tokens {
    fn values(&self) -> Vec<f64> {
        self.0.iter().flatten().flat_map(in_bytes).collect()
    }
}

fn in_bytes(stock: &Stock) -> [f64; 6] {
    let ledger = &stock.ledger;
    let into = [ledger.initial, ledger.refilled, ledger.returned];
    let [start, refilled, returned] = into.map(|units| units as f64 / PER_BYTE);
    let out_of = [ledger.taken, ledger.discarded, stock.available];
    let [taken, discarded, available] = out_of.map(|units| units as f64 / PER_BYTE);
    [start, refilled, returned, taken, discarded, available]
}
