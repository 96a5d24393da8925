//! What a rejection by rate lets in: a token for each request, out of a bucket.

use super::kind::Reject;
use crate::bucket::{Bucket, BucketConfig};
use crate::limit::quantity::{ByteRate, Bytes};
use crate::quantity::Rate;
use crate::rng::Streams;
use crate::time::Time;

/// Bytes of the bucket that a request takes: rates are exact to a thousandth of a request a second,
/// which is the least there is.
const REQUEST: u64 = 1000;

/// A bucket for the rate that a rule names. It is full when the first request comes.
#[derive(Debug)]
pub(super) struct Allowed {
    above: Rate,
    burst: u32,
    bucket: Bucket,
}

impl Allowed {
    fn new(above: Rate, burst: u32, now: Time) -> Self {
        let per_second = libm::round(above.get() * REQUEST as f64) as u64;
        let rate = ByteRate::per_second(per_second.clamp(1, ByteRate::MAX.get()));
        let rate = rate.expect("the rate is clamped to what a bucket can have");
        let capacity = Some(Bytes::new(u64::from(burst) * REQUEST));
        let config = BucketConfig { capacity, ..BucketConfig::new(rate) };
        // It fills exactly, so it asks for no chance.
        let bucket = Bucket::new(&config, now, || Streams::new(0).stream("refill"));
        Self { above, burst, bucket }
    }

    /// Whether a rejection lets a request in that comes at `now`. A rule that has got another rate
    /// begins anew.
    pub(super) fn let_in(allowed: &mut Option<Self>, now: Time, reject: &Reject) -> bool {
        let Some(above) = reject.above else { return false };
        let burst = reject.burst.unwrap_or(1);
        let same = allowed.take().filter(|old| old.above == above && old.burst == burst);
        allowed.insert(same.unwrap_or_else(|| Self::new(above, burst, now))).take(now)
    }

    fn take(&mut self, now: Time) -> bool {
        let there = self.bucket.ready_at(now, REQUEST) == Some(now);
        if there {
            self.bucket.take(now, REQUEST);
        }
        there
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Nanos;

    fn reject(per_second: f64, burst: Option<u32>) -> Reject {
        Reject { above: Rate::per_second(per_second), burst, ..Reject::all(429) }
    }

    #[test]
    fn a_burst_at_once_and_then_the_rate() {
        let ms = |ms| Time::ZERO.after(Nanos::from_millis(ms));
        // rate, burst, one request each so many ms until then -> let in
        for (rate, burst, every_ms, until_ms, expected) in [
            (300.0, Some(300), 1, 1_000, 599),
            (300.0, None, 1, 1_000, 250),
            (10.0, Some(10), 50, 10_000, 109),
            (0.5, None, 1_000, 60_000, 30),
        ] {
            let (reject, mut allowed) = (reject(rate, burst), None);
            let at = (0..until_ms).step_by(every_ms).map(ms);
            let count = at.filter(|at| Allowed::let_in(&mut allowed, *at, &reject)).count();
            assert_eq!(count, expected, "{rate} {burst:?}");
        }
    }

    #[test]
    fn another_rate_begins_anew_and_none_lets_nothing_in() {
        let mut allowed = None;
        let slow = reject(0.001, None);
        let mut is_let_in = |reject: Reject| Allowed::let_in(&mut allowed, Time::ZERO, &reject);
        assert!(is_let_in(slow.clone()) && !is_let_in(slow));
        assert!(is_let_in(reject(300.0, None)));
        assert!(!is_let_in(Reject::all(429)));
    }
}
