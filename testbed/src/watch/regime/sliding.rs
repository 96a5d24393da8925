//! Sums over the last so many seconds, in steps of a sampling interval.

use std::collections::VecDeque;
use testbed_core::time::Nanos;

/// What happened in a stretch of time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Stretch {
    /// How long it lasted, in nanoseconds.
    pub(super) length: u64,
    /// For how much of it requests waited for a slot while none was free, in nanoseconds.
    pub(super) pressed: u64,
    /// For how much of it a server was busy, the mean of all servers, in nanoseconds.
    pub(super) busy: u64,
    /// Recomputations of the window.
    pub(super) updates: u64,
    /// Attempts that succeeded.
    pub(super) ok: u64,
    /// Attempts that failed.
    pub(super) failed: u64,
}

impl Stretch {
    /// Joined with another, field by field, by `f`.
    fn with(self, other: Self, f: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            length: f(self.length, other.length),
            pressed: f(self.pressed, other.pressed),
            busy: f(self.busy, other.busy),
            updates: f(self.updates, other.updates),
            ok: f(self.ok, other.ok),
            failed: f(self.failed, other.failed),
        }
    }

    /// The part of it that `of` is, 0 to 1.
    pub(super) fn share(&self, of: u64) -> f64 {
        if self.length == 0 { 0.0 } else { of as f64 / self.length as f64 }
    }

    /// Successes a second.
    pub(super) fn goodput(&self) -> f64 {
        self.share(self.ok) * 1e9
    }
}

/// The latest stretches: as few as cover the time asked for.
#[derive(Debug)]
pub(super) struct Sliding {
    over: u64,
    stretches: VecDeque<Stretch>,
    sum: Stretch,
}

impl Sliding {
    /// Nothing yet, of the last `over`.
    pub(super) const fn new(over: Nanos) -> Self {
        let sum = Stretch { length: 0, pressed: 0, busy: 0, updates: 0, ok: 0, failed: 0 };
        Self { over: over.get(), stretches: VecDeque::new(), sum }
    }

    /// Goes on by a stretch; one without length says nothing.
    pub(super) fn push(&mut self, stretch: Stretch) {
        if stretch.length == 0 {
            return;
        }
        self.sum = self.sum.with(stretch, u64::saturating_add);
        self.stretches.push_back(stretch);
        while let Some(first) = self.stretches.front().copied()
            && self.sum.length - first.length >= self.over
        {
            self.sum = self.sum.with(first, u64::saturating_sub);
            self.stretches.pop_front();
        }
    }

    /// All of the time asked for; `None` while the run is younger.
    pub(super) fn whole(&self) -> Option<Stretch> {
        (self.sum.length >= self.over).then_some(self.sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_sums_over_as_few_stretches_as_cover_the_time() {
        let mut sliding = Sliding::new(Nanos::new(10));
        // The length of a stretch and what it counts, and the sums after it.
        for (length, ok, expected) in [
            (4, 1, None),
            (0, 99, None),
            (5, 2, None),
            (1, 4, Some((10, 7))),
            (4, 8, Some((10, 14))),
            (6, 16, Some((10, 24))),
            (3, 32, Some((13, 56))),
            (20, 64, Some((20, 64))),
        ] {
            sliding.push(Stretch { length, ok, ..Stretch::default() });
            assert_eq!(sliding.whole().map(|sum| (sum.length, sum.ok)), expected, "{length}");
        }
    }
}
