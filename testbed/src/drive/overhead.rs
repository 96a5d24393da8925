//! What a round trip has on top of the backend's own part.

use testbed_core::time::Nanos;

/// Answers that are remembered: as many as the hosted laws take the minimum of.
const REMEMBERED: usize = 8;

/// The least overhead among the latest answers: laws that look at a minimum RTT see that one.
#[derive(Debug, Default)]
pub(super) struct Overhead {
    latest: [Nanos; REMEMBERED],
    recorded: usize,
}

impl Overhead {
    pub(super) fn record(&mut self, overhead: Nanos) {
        self.latest[self.recorded % REMEMBERED] = overhead;
        self.recorded += 1;
    }

    /// Zero before the first answer.
    pub(super) fn least(&self) -> Nanos {
        let known = &self.latest[..self.recorded.min(REMEMBERED)];
        known.iter().copied().min().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_of_the_latest_eight() {
        let mut overhead = Overhead::default();
        assert_eq!(overhead.least(), Nanos::ZERO);
        for (recorded, least) in [(9, 9), (3, 3), (5, 3), (6, 3), (7, 3), (8, 3), (9, 3), (9, 3)] {
            overhead.record(Nanos::new(recorded));
            assert_eq!(overhead.least(), Nanos::new(least));
        }
        overhead.record(Nanos::new(9));
        assert_eq!(overhead.least(), Nanos::new(3));
        overhead.record(Nanos::new(9));
        assert_eq!(overhead.least(), Nanos::new(5), "the 3 has been forgotten");
    }
}
