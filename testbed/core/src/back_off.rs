//! Exponential back-off.

use crate::time::Nanos;

/// The back-off before a retry, the first of which is 0: `first`, doubled each time, `at_most` at
/// most. With 1s and 60s: 1, 2, 4, 8, 16, 32, 60, 60 seconds.
pub fn doubled(first: Nanos, at_most: Nanos, retries: u32) -> Nanos {
    let shift = retries.min(63);
    let doubled = first.get().checked_shl(shift).unwrap_or(u64::MAX);
    let overflows = doubled >> shift != first.get();
    if overflows { at_most } else { Nanos::new(doubled).min(at_most) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn back_offs_double_up_to_the_longest() {
        let (first, at_most) = (Nanos::from_secs(1), Nanos::from_secs(60));
        for (retries, secs) in (0..).zip([1, 2, 4, 8, 16, 32, 60, 60]) {
            assert_eq!(doubled(first, at_most, retries), Nanos::from_secs(secs), "{retries}");
        }
        assert_eq!(doubled(first, at_most, u32::MAX), at_most);
        assert_eq!(doubled(Nanos::MAX, Nanos::MAX, 1), Nanos::MAX);
        assert_eq!(doubled(Nanos::ZERO, at_most, 9), Nanos::ZERO);
    }
}
