//! How long requests have waited for admission so far, in buckets: what a page that is open can show, at the price of a
//! count a request. The report has it to three digits.

use crate::watch::admission::Shares;
use indexmap::IndexMap;
use testbed_core::event::Event;
use testbed_core::time::Nanos;

/// Buckets of an octave: a wait is known to a fifth.
const OF_OCTAVE: f64 = 4.0;
/// Buckets of an arm: from [`SHORTEST`] on up to more than an hour.
const BUCKETS: usize = 128;
/// Below it nobody has waited.
const SHORTEST: Nanos = Nanos::from_micros(1);

/// The waits of all arms.
#[derive(Debug)]
pub(super) struct AdmissionWaits {
    arms: Vec<ArmWaits>,
}

#[derive(Debug)]
struct ArmWaits {
    name: String,
    /// Requests that did not wait.
    none: u64,
    buckets: [u64; BUCKETS],
    longest: Nanos,
}

impl AdmissionWaits {
    /// Of these arms, in file order.
    pub(super) fn new(arms: impl Iterator<Item = String>) -> Self {
        let (buckets, longest) = ([0; BUCKETS], Nanos::ZERO);
        Self { arms: arms.map(|name| ArmWaits { name, none: 0, buckets, longest }).collect() }
    }

    pub(super) fn on_event(&mut self, event: &Event<'_>) {
        if let Event::Admitted { arm, wait, .. } = *event {
            self.arms[arm.index()].add(wait);
        }
    }

    /// Of each arm that has admitted a request, pairs of a share of them and the seconds that they did not exceed.
    pub(super) fn shares(&self) -> IndexMap<String, Shares> {
        let arms = self.arms.iter().map(|arm| (arm.name.clone(), arm.shares()));
        arms.filter(|(_, shares)| !shares.is_empty()).collect()
    }
}

impl ArmWaits {
    fn add(&mut self, wait: Nanos) {
        self.longest = self.longest.max(wait);
        if wait < SHORTEST {
            self.none += 1;
            return;
        }
        let octaves = (wait.get() as f64 / SHORTEST.get() as f64).log2();
        self.buckets[((octaves * OF_OCTAVE) as usize).min(BUCKETS - 1)] += 1;
    }

    fn shares(&self) -> Shares {
        let all = (self.none + self.buckets.iter().sum::<u64>()) as f64;
        let longest_s = self.longest.as_secs_f64();
        // The last bucket is open.
        let upper_s = |bucket: usize| match bucket + 1 {
            BUCKETS => longest_s,
            next => SHORTEST.as_secs_f64() * (next as f64 / OF_OCTAVE).exp2(),
        };
        let buckets = self.buckets.iter().enumerate().map(|(n, count)| (upper_s(n), *count));
        let counts = std::iter::once((0.0, self.none)).chain(buckets);
        let mut below = 0;
        let share = |(upper_s, count): (f64, u64)| {
            below += count;
            (count > 0).then(|| (below as f64 / all, upper_s.min(longest_s)))
        };
        counts.filter_map(share).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(waits_us: &[u64]) -> Shares {
        let mut waits = AdmissionWaits::new(["a".to_owned()].into_iter());
        waits_us.iter().for_each(|us| waits.arms[0].add(Nanos::from_micros(*us)));
        waits.shares().swap_remove("a").unwrap_or_default()
    }

    #[test]
    fn a_share_is_of_all_requests_and_its_wait_is_no_shorter_than_theirs_by_a_fifth_at_most() {
        assert_eq!(shares(&[]), []);
        assert_eq!(shares(&[0, 0]), [(1.0, 0.0)]);
        // 2 ms is 10.97 octaves above 1 us: the upper end of its bucket is at 11, 2.048 ms.
        let seen = shares(&[0, 2_000, 2_000, 7_000_000]);
        let expected = [(0.25, 0.0), (0.75, 0.002_048), (1.0, 7.0)];
        assert_eq!(seen.len(), expected.len(), "{seen:?}");
        for ((share, wait_s), (expected_share, expected_s)) in seen.into_iter().zip(expected) {
            assert_eq!(share, expected_share);
            assert!((wait_s - expected_s).abs() < 1e-9, "{wait_s}, expected {expected_s}");
        }
    }

    #[test]
    fn every_wait_has_a_bucket_that_does_not_understate_it() {
        for exponent in 0..14 {
            for factor in [1, 2, 3, 7, 9] {
                let wait_us = factor * 10_u64.pow(exponent);
                let alone = shares(&[wait_us]);
                assert_eq!(alone.len(), 1, "{wait_us} us");
                assert!((alone[0].1 - wait_us as f64 / 1e6).abs() < 1e-6, "{alone:?}");
            }
        }
    }
}
