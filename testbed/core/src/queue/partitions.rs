//! Parts of a window, one a class, that lend each other what they do not use.
//!
//! The limit of a part is that of `AbstractPartitionedLimiter` of Netflix/concurrency-limits: max(1,
//! ceil(limit x share)), and 0 for a class without a share. There it decides, once the window is full, who
//! may go beyond it, and nobody waits. Here the window holds, and it decides who is next.

use crate::quantity::Share;
use crate::request::Class;

/// The parts of a window.
#[derive(Debug)]
pub(super) struct Partitions {
    /// By the number of the class.
    parts: Vec<Part>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Part {
    share: f64,
    in_flight: u32,
    waiting: u32,
}

impl Part {
    fn limit(self, limit: u64) -> u64 {
        let part = libm::ceil(limit as f64 * self.share) as u64;
        if self.share > 0.0 { part.max(1) } else { 0 }
    }

    fn is_below(self, limit: u64) -> bool {
        u64::from(self.in_flight) < self.limit(limit)
    }
}

impl Partitions {
    /// Parts of these shares; `None` without any.
    pub(super) fn new(shares: &[Share]) -> Option<Self> {
        let part = |share: &Share| Part { share: share.get(), ..Part::default() };
        (!shares.is_empty()).then(|| Self { parts: shares.iter().map(part).collect() })
    }

    /// Whether a class that waits has less in flight than its part of this limit.
    pub(super) fn one_is_below(&self, limit: u64) -> bool {
        self.parts.iter().any(|part| part.waiting > 0 && part.is_below(limit))
    }

    /// Whether this class has less in flight than its part of this limit.
    pub(super) fn is_below(&self, class: Class, limit: u64) -> bool {
        self.parts.get(usize::from(class.0)).is_some_and(|part| part.is_below(limit))
    }

    pub(super) fn queued(&mut self, class: Class) {
        self.change(class, |part| part.waiting += 1);
    }

    /// One of this class is no longer in the queue.
    pub(super) fn gone(&mut self, class: Class) {
        self.change(class, |part| part.waiting -= 1);
    }

    pub(super) fn entered(&mut self, class: Class) {
        self.change(class, |part| part.in_flight += 1);
    }

    /// One of this class is no longer in flight.
    pub(super) fn left(&mut self, class: Class) {
        self.change(class, |part| part.in_flight -= 1);
    }

    fn change(&mut self, class: Class, change: impl FnOnce(&mut Part)) {
        self.parts.get_mut(usize::from(class.0)).map(change);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_its_share_of_the_limit_rounded_up_and_none_without_a_share() {
        for (percent, limit, part) in
            [(70, 10, 7), (30, 10, 3), (70, 11, 8), (30, 11, 4), (1, 10, 1), (100, 3, 3), (0, 9, 0)]
        {
            let share = Share::percent(percent).get();
            assert_eq!(
                Part { share, ..Part::default() }.limit(limit),
                part,
                "{percent}% of {limit}"
            );
        }
    }
}
