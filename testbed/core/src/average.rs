//! An average that forgets.

/// An exponentially weighted moving average that begins as the plain mean of its first samples.
#[derive(Clone, Debug)]
pub struct MovingAverage {
    weight: f64,
    warm_up: u32,
    samples: u32,
    sum: f64,
    value: f64,
}

impl MovingAverage {
    /// An average over about `span` samples, 1 or more: each new one weighs `2 / (span + 1)`. The first
    /// `warm_up` weigh the same.
    pub fn new(span: u32, warm_up: u32) -> Self {
        let weight = 2.0 / (f64::from(span.max(1)) + 1.0);
        Self { weight, warm_up: warm_up.max(1), samples: 0, sum: 0.0, value: 0.0 }
    }

    /// Takes a sample in, and says what the average is now.
    pub fn add(&mut self, sample: f64) -> f64 {
        if self.samples < self.warm_up {
            self.samples += 1;
            self.sum += sample;
            self.value = self.sum / f64::from(self.samples);
        } else {
            self.value = self.value * (1.0 - self.weight) + sample * self.weight;
        }
        self.value
    }

    /// Multiplies the average. What is added while it warms up forgets this.
    pub fn scale(&mut self, factor: f64) {
        self.value *= factor;
    }

    /// Brings the average down to `bound` if it is above. What is added while it warms up forgets this.
    pub const fn cap(&mut self, bound: f64) {
        self.value = self.value.min(bound);
    }

    /// The average; `None` before the first sample.
    pub const fn get(&self) -> Option<f64> {
        if self.samples > 0 { Some(self.value) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_samples_weigh_the_same_and_later_ones_by_the_span() {
        let mut average = MovingAverage::new(3, 2);
        assert_eq!(average.get(), None);
        for (sample, expected) in [(10.0, 10.0), (20.0, 15.0), (35.0, 25.0), (25.0, 25.0)] {
            assert_eq!(average.add(sample), expected, "after {sample}");
        }
        average.scale(0.5);
        assert_eq!(average.get(), Some(12.5));
        average.cap(10.0);
        assert_eq!(average.add(20.0), 15.0);
        average.cap(20.0);
        assert_eq!(average.get(), Some(15.0));
    }
}
