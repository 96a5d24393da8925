//! Which round trip is longer than a share of the others, in bounded memory.

use crate::time::Nanos;
use hdrhistogram::Histogram;

/// Between these every length is kept to a hundredth; what is beyond counts as the nearer of them.
const FROM: Nanos = Nanos::from_micros(1);
const TO: Nanos = Nanos::from_secs(100);
const SIGNIFICANT_DIGITS: u8 = 2;

/// Lengths of time, of which any quantile can be asked. It errs by a hundredth at most, never beyond
/// the least and the greatest that there was; so of equal lengths it gives just that length.
#[derive(Clone, Debug)]
pub struct Quantiles {
    lengths: Histogram<u32>,
    least: Nanos,
    most: Nanos,
}

impl Default for Quantiles {
    fn default() -> Self {
        let lengths = Histogram::new_with_bounds(FROM.get(), TO.get(), SIGNIFICANT_DIGITS)
            .expect("the bounds of the histogram are in order");
        Self { lengths, least: Nanos::MAX, most: Nanos::ZERO }
    }
}

impl Quantiles {
    /// Takes a length in.
    pub fn record(&mut self, length: Nanos) {
        self.lengths.saturating_record(length.get());
        (self.least, self.most) = (self.least.min(length), self.most.max(length));
    }

    /// How many lengths there are.
    pub fn len(&self) -> u64 {
        self.lengths.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.lengths.is_empty()
    }

    /// The length that a `share` of them, from 0 to 1, does not exceed; `None` of none.
    pub fn get(&self, share: f64) -> Option<Nanos> {
        let length = || Nanos::new(self.lengths.value_at_quantile(share));
        (!self.is_empty()).then(|| length().max(self.least).min(self.most))
    }

    /// Forgets all of them.
    pub fn clear(&mut self) {
        self.lengths.reset();
        (self.least, self.most) = (Nanos::MAX, Nanos::ZERO);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_right_to_a_hundredth_and_never_beyond_what_there_was() {
        let mut lengths = Quantiles::default();
        assert_eq!(lengths.get(0.5), None);
        (1..=1_000).for_each(|ms| lengths.record(Nanos::from_millis(ms)));
        for (share, ms) in [(0.0, 1.0), (0.5, 500.0), (0.9, 900.0), (1.0, 1_000.0)] {
            let found = lengths.get(share).unwrap().as_millis_f64();
            assert!((found / ms - 1.0).abs() <= 0.01, "{share}: {found}");
        }
        lengths.clear();
        for length in [Nanos::new(3), Nanos::from_secs(1_000)] {
            lengths.record(length);
            assert_eq!(lengths.get(0.5), Some(length));
            lengths.clear();
        }
    }
}
