//! What a view measures by itself: a rate and a sparkline.

use std::collections::VecDeque;
use testbed_core::time::{Nanos, Time};

/// A rate is taken over this much run time.
const SPAN: Nanos = Nanos::from_secs(1);
/// The heights of a sparkline's columns.
const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Counts, and says at sampling instants how many per second the last second had.
#[derive(Debug)]
pub(super) struct Rate {
    count: u64,
    /// Instants and the counts at them: the newest, back to the last that is a second old.
    marks: VecDeque<(Time, u64)>,
}

impl Rate {
    pub(super) fn new() -> Self {
        Self { count: 0, marks: [(Time::ZERO, 0)].into() }
    }

    pub(super) fn add(&mut self, count: u64) {
        self.count += count;
    }

    /// A sampling instant.
    pub(super) fn mark(&mut self, now: Time) {
        self.marks.push_back((now, self.count));
        while self.marks.get(1).is_some_and(|&(at, _)| now.since(at) >= SPAN) {
            self.marks.pop_front();
        }
    }

    /// Per second, between the marks; 0 before there are two.
    pub(super) fn per_second(&self) -> f64 {
        let (Some(&(from, before)), Some(&(to, after))) = (self.marks.front(), self.marks.back())
        else {
            return 0.0;
        };
        let seconds = to.since(from).as_secs_f64();
        if seconds == 0.0 { 0.0 } else { (after - before) as f64 / seconds }
    }
}

/// The last values of a series, as a line of block characters.
#[derive(Debug)]
pub(super) struct Sparkline {
    values: VecDeque<f64>,
    /// The highest value of the whole series, which stands for a full block: a series that fell
    /// stays low, instead of filling the line again once its past has left it.
    top: f64,
}

impl Sparkline {
    /// Values kept, and columns drawn.
    pub(super) const WIDTH: usize = 24;

    pub(super) fn new() -> Self {
        Self { values: VecDeque::with_capacity(Self::WIDTH), top: 0.0 }
    }

    pub(super) fn push(&mut self, value: f64) {
        if self.values.len() == Self::WIDTH {
            self.values.pop_front();
        }
        self.values.push_back(value);
        self.top = self.top.max(value);
    }

    /// All columns, with the newest value at the right end.
    pub(super) fn draw(&self) -> String {
        let blocks: String = self.values.iter().map(|value| block(value / self.top)).collect();
        format!("{blocks:>width$}", width = Self::WIDTH)
    }
}

/// What is no number is drawn as the lowest block.
fn block(share: f64) -> char {
    let highest = HEIGHTS.len() - 1;
    HEIGHTS[((share * highest as f64).round() as usize).min(highest)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO.after(Nanos::from_millis(ms))
    }

    #[test]
    fn a_rate_forgets_what_is_older_than_a_second() {
        let mut rate = Rate::new();
        // Instant, what was counted since the one before, the rate then.
        for (ms, count, expected) in [
            (0, 0, 0.0),
            (500, 5, 10.0),
            (1_000, 15, 20.0),
            (1_500, 30, 45.0),
            (1_500, 0, 45.0),
            (2_500, 0, 0.0),
            (6_500, 8, 2.0),
        ] {
            rate.add(count);
            rate.mark(at(ms));
            assert_eq!(rate.per_second(), expected, "at {ms} ms");
        }
    }

    #[test]
    fn a_rate_keeps_no_more_marks_than_a_second_has() {
        let mut rate = Rate::new();
        (0..10_000).for_each(|tick| rate.mark(at(tick * 100)));
        assert!(rate.marks.len() <= 12, "{}", rate.marks.len());
    }

    #[test]
    fn a_sparkline_grows_from_the_right_against_its_highest_value() {
        for (values, expected) in [
            (vec![], ""),
            (vec![0.0, 4.0, 8.0], "▁▅█"),
            (vec![11.0, 2.0, 2.0], "█▂▂"),
            (vec![8.0, f64::NAN, -1.0], "█▁▁"),
            (vec![0.0], "▁"),
        ] {
            let mut line = Sparkline::new();
            values.into_iter().for_each(|value| line.push(value));
            assert_eq!(line.draw(), format!("{expected:>24}"));
        }
    }

    #[test]
    fn a_sparkline_keeps_the_newest_values_and_the_scale_of_all() {
        let mut line = Sparkline::new();
        line.push(8.0);
        (0..100).for_each(|_| line.push(2.0));
        assert_eq!(line.draw(), "▃".repeat(Sparkline::WIDTH));
    }
}
