//! Which class a request is of.

use crate::request::Class;
use crate::rng::{Rng, Streams};
use rand::RngExt as _;

/// Draws classes by weight.
#[derive(Debug)]
pub struct Classes {
    /// Sums of the weights up to each class.
    sums: Vec<u64>,
    rng: Rng,
}

impl Classes {
    /// Classes of these weights, at least one of which is above 0; without any, all requests are of
    /// class 0. Draws from the stream `class`.
    pub fn new(weights: impl IntoIterator<Item = u32>, streams: &Streams) -> Self {
        let mut sum = 0;
        let sums = weights.into_iter().map(|weight| {
            sum += u64::from(weight);
            sum
        });
        Self { sums: sums.collect(), rng: streams.stream("class") }
    }

    /// The class of the next request.
    pub fn draw(&mut self) -> Class {
        let Some(all) = self.sums.last().copied().filter(|all| *all > 0) else {
            return Class(0);
        };
        let at = self.rng.random_range(0..all);
        Class(self.sums.partition_point(|sum| *sum <= at) as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_come_by_weight() {
        let mut classes = Classes::new([1, 0, 3], &Streams::new(7));
        let mut counts = [0; 3];
        for _ in 0..4000 {
            counts[classes.draw().0 as usize] += 1;
        }
        assert_eq!(counts[1], 0);
        // Binomial, 4000 draws of 1/4: 1000 +- 27.
        assert!((860..=1140).contains(&counts[0]), "{counts:?}");
    }

    #[test]
    fn without_classes_all_are_of_class_0() {
        assert_eq!(Classes::new([], &Streams::new(7)).draw(), Class(0));
    }
}
