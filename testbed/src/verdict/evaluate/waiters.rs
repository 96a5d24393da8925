//! What is asked of the waiters of a limiter, one by one.

use crate::watch::store::WaiterShare;

/// How evenly bytes were granted: `(sum x)^2 / (n sum x^2)` (Jain, Chiu and Hawe, DEC-TR-301,
/// 1984). `None` if none were.
pub(crate) fn jain(granted: impl Iterator<Item = u64> + Clone) -> Option<f64> {
    let count = granted.clone().count() as f64;
    let granted = granted.map(|bytes| bytes as f64);
    let mean = granted.clone().sum::<f64>() / count;
    // The same in shares of the mean: they are 1 without rounding if all got the same.
    let squares: f64 = granted.map(|bytes| (bytes / mean).powi(2)).sum();
    (mean > 0.0).then(|| count / squares)
}

/// How many went `rounds` or more without a grant. `None` if there was nobody.
pub(super) fn zero_progress(waiters: &[WaiterShare], rounds: f64) -> Option<f64> {
    let stuck = waiters.iter().filter(|waiter| waiter.worst_rounds >= rounds);
    (!waiters.is_empty()).then(|| stuck.count() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jains_index_is_1_for_equal_shares_and_1_over_n_for_one_who_gets_all() {
        for (bytes, index) in [
            (&[65_537; 7][..], Some(1.0)),
            (&[16_384], Some(1.0)),
            (&[9000, 0, 0, 0], Some(0.25)),
            (&[5, 5, 0, 0], Some(0.5)),
            (&[1, 3], Some(0.8)), // 16 / (2 x 10)
            (&[u64::MAX, u64::MAX], Some(1.0)),
            (&[0, 0], None),
            (&[], None),
        ] {
            assert_eq!(jain(bytes.iter().copied()), index, "{bytes:?}");
        }
    }

    #[test]
    fn who_went_just_so_many_rounds_counts() {
        let rounds = [0.0, 1.5, 20.0, 19.9];
        let share = |worst_rounds| WaiterShare { worst_rounds, ..WaiterShare::default() };
        let waiters = rounds.map(share);
        for (asked, stuck) in [(20.0, 1.0), (1.5, 3.0), (20.5, 0.0)] {
            assert_eq!(zero_progress(&waiters, asked), Some(stuck), "{asked}");
        }
        assert_eq!(zero_progress(&[], 1.0), None);
    }
}
