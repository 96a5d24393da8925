//! What went together over the last windows.

use std::collections::VecDeque;

/// Pairs before which nothing is said of them.
const WARM_UP: usize = 10;

/// The last pairs of two numbers, oldest first.
#[derive(Clone, Debug)]
pub(super) struct History {
    pairs: VecDeque<(f64, f64)>,
    span: usize,
}

/// Sums of squares and products about the means.
struct Moments {
    mean_y: f64,
    xx: f64,
    yy: f64,
    xy: f64,
    count: f64,
}

impl History {
    pub(super) fn new(span: u32) -> Self {
        let span = (span as usize).clamp(WARM_UP, 1_000);
        Self { pairs: VecDeque::with_capacity(span), span }
    }

    pub(super) fn add(&mut self, x: f64, y: f64) {
        if self.pairs.len() == self.span {
            self.pairs.pop_front();
        }
        self.pairs.push_back((x, y));
    }

    /// Pearson's correlation, from -1 to 1; 0 if one of the two does not vary or there are too few.
    pub(super) fn correlation(&self) -> f64 {
        let correlation = |moments: Moments| moments.xy / libm::sqrt(moments.xx * moments.yy);
        self.moments().map(correlation).filter(|value| value.is_finite()).unwrap_or(0.0)
    }

    /// The deviation of the second number over its mean; `None` of too few.
    pub(super) fn variation_of_second(&self) -> Option<f64> {
        let moments = self.moments()?;
        let variation = libm::sqrt(moments.yy / moments.count) / moments.mean_y;
        variation.is_finite().then_some(variation)
    }

    fn moments(&self) -> Option<Moments> {
        if self.pairs.len() < WARM_UP {
            return None;
        }
        let count = self.pairs.len() as f64;
        let sum = |(x, y): (f64, f64), pair: &(f64, f64)| (x + pair.0, y + pair.1);
        let (sum_x, sum_y) = self.pairs.iter().fold((0.0, 0.0), sum);
        let (mean_x, mean_y) = (sum_x / count, sum_y / count);
        let mut moments = Moments { mean_y, xx: 0.0, yy: 0.0, xy: 0.0, count };
        for (x, y) in &self.pairs {
            let (x, y) = (x - mean_x, y - mean_y);
            moments.xx += x * x;
            moments.yy += y * y;
            moments.xy += x * y;
        }
        Some(moments)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: impl Iterator<Item = (f64, f64)>) -> History {
        let mut history = History::new(50);
        pairs.for_each(|(x, y)| history.add(x, y));
        history
    }

    #[test]
    fn a_line_correlates_by_its_direction_and_a_constant_not_at_all() {
        let line = |slope: f64| of((0..20).map(|x| (f64::from(x), 5.0 + slope * f64::from(x))));
        assert!((line(2.0).correlation() - 1.0).abs() < 1e-12);
        assert!((line(-2.0).correlation() + 1.0).abs() < 1e-12);
        assert_eq!(line(0.0).correlation(), 0.0);
        assert_eq!(line(0.0).variation_of_second(), Some(0.0));
        // 3 and 5 in turn: their mean is 4, their deviation 1.
        let turns = of((0..20).map(|x| (0.0, if x % 2 == 0 { 3.0 } else { 5.0 })));
        assert_eq!(turns.variation_of_second(), Some(0.25));
    }

    #[test]
    fn few_pairs_say_nothing_and_old_ones_are_forgotten() {
        let few = of((0..9).map(|x| (f64::from(x), f64::from(x))));
        assert_eq!((few.correlation(), few.variation_of_second()), (0.0, None));
        let turned = of((0..100).map(|x: i32| (f64::from(x), f64::from((50 - x).abs()))));
        assert!(turned.correlation() > 0.999, "only the second half is left");
    }
}
