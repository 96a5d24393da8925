//! Who is ahead of whom, seed by seed, and how many are ahead of each.

use crate::headline::Better;
use crate::seeds::Spread;

/// How the laws of a shape stand to each other; laws are places in the list that was given.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Ranking {
    /// All laws, the best first: by rank, then by mean.
    pub(super) order: Vec<usize>,
    /// Of each law one more than there are laws ahead of it; none if it has no number.
    pub(super) ranks: Vec<Option<usize>>,
    /// Whether the first law is ahead of the second.
    pub(super) ahead: Vec<Vec<bool>>,
    /// Pairs that the two halves of the seeds order differently, as the whole orders them. None of them is ahead.
    pub(super) swapped: Vec<[usize; 2]>,
}

/// Ranks laws by what each came to with each seed. A law is *ahead* of another if, over the seeds that both have a number
/// for, the whole 95 % interval of the paired differences (Student's t) is on the better side by more than `tolerance`, a
/// share of the other's mean, and the mean difference is on that side in either half of the seeds alone.
pub(super) fn ranking(laws: &[Vec<Option<f64>>], better: Better, tolerance: f64) -> Ranking {
    let gains = |law: usize, other: usize| gains(&laws[law], &laws[other], better);
    let all = 0..laws.len();
    let is_ahead = |law: usize, other: usize| {
        let allowed = tolerance * mean(laws[other].iter().flatten().copied()).unwrap_or(0.0).abs();
        law != other && leads(&gains(law, other), allowed)
    };
    let ahead: Vec<Vec<bool>> =
        all.clone().map(|law| all.clone().map(|other| is_ahead(law, other)).collect()).collect();
    let numbers = |law: usize| laws[law].iter().flatten().copied();
    let rank = |law: usize| {
        numbers(law).next().map(|_| 1 + ahead.iter().filter(|others| others[law]).count())
    };
    let ranks: Vec<_> = all.clone().map(rank).collect();
    let value = |law: usize| mean(numbers(law)).map_or(f64::INFINITY, |mean| worth(mean, better));
    let mut order: Vec<_> = all.collect();
    order.sort_by(|&a, &b| {
        let rank = |law: usize| ranks[law].unwrap_or(usize::MAX);
        rank(a).cmp(&rank(b)).then(value(a).total_cmp(&value(b)))
    });
    let differs = |&[law, other]: &[usize; 2]| {
        let [first, second] = halves(&gains(law, other)).map(|half| half.unwrap_or(0.0));
        first * second < 0.0
    };
    let swapped = pairs(&order).filter(differs).collect();
    Ranking { order, ranks, ahead, swapped }
}

/// Pairs of laws with numbers of which neither is ahead.
pub(super) fn not_separated(
    order: &[usize],
    ranks: &[Option<usize>],
    ahead: &[Vec<bool>],
) -> Vec<[usize; 2]> {
    let open = |&[a, b]: &[usize; 2]| {
        ranks[a].is_some() && ranks[b].is_some() && !ahead[a][b] && !ahead[b][a]
    };
    pairs(order).filter(open).collect()
}

/// Every pair, in this order.
fn pairs(order: &[usize]) -> impl Iterator<Item = [usize; 2]> {
    let behind =
        |(place, &law): (usize, &usize)| order[place + 1..].iter().map(move |&other| [law, other]);
    order.iter().enumerate().flat_map(behind)
}

/// By how much the first law is better, seed by seed; none where one of them has no number.
fn gains(law: &[Option<f64>], other: &[Option<f64>], better: Better) -> Vec<Option<f64>> {
    let gain = |(law, other): (&Option<f64>, &Option<f64>)| {
        Some(worth((*other)?, better) - worth((*law)?, better))
    };
    law.iter().zip(other).map(gain).collect()
}

/// The number, turned so that less is better.
fn worth(value: f64, better: Better) -> f64 {
    if better == Better::More { -value } else { value }
}

fn leads(gains: &[Option<f64>], allowed: f64) -> bool {
    let known: Vec<_> = gains.iter().flatten().copied().collect();
    let beyond = Spread::of(&known).is_some_and(|spread| spread.low > allowed);
    beyond && halves(gains).iter().all(|half| half.is_some_and(|mean| mean > 0.0))
}

/// The means of the first half and of the second.
fn halves(gains: &[Option<f64>]) -> [Option<f64>; 2] {
    let (first, second) = gains.split_at(gains.len() / 2);
    [first, second].map(|half| mean(half.iter().flatten().copied()))
}

fn mean(values: impl Iterator<Item = f64> + Clone) -> Option<f64> {
    let count = values.clone().count();
    (count > 0).then(|| values.sum::<f64>() / count as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranked(laws: &[&[f64]], better: Better, tolerance: f64) -> Ranking {
        let numbers = |law: &&[f64]| law.iter().copied().map(Some).collect();
        ranking(&laws.iter().map(numbers).collect::<Vec<_>>(), better, tolerance)
    }

    #[test]
    fn a_law_is_ahead_if_the_interval_of_its_pairs_says_so_and_both_halves_do() {
        // Of four pairs t is 3.182446, and the interval is the mean +- t s / 2.
        for (law, other, tolerance, ahead) in [
            // Seeds differ by 100, the pairs by 1 each time.
            ([101.0, 201.0, 301.0, 401.0], [100.0, 200.0, 300.0, 400.0], 0.0, true),
            // 1 is less than 1 % of the other's mean of 250.
            ([101.0, 201.0, 301.0, 401.0], [100.0, 200.0, 300.0, 400.0], 0.01, false),
            ([104.0, 204.0, 304.0, 404.0], [100.0, 200.0, 300.0, 400.0], 0.01, true),
            // Differences 1, 2, 1, 2: s = 0.57735, so 1.5 +- 0.91869.
            ([1.0, 2.0, 1.0, 2.0], [0.0; 4], 0.0, true),
            // 0, 2, 0, 2: s = 1.154701, so 1 +- 1.837386.
            ([0.0, 2.0, 0.0, 2.0], [0.0; 4], 0.0, false),
            ([0.0; 4], [0.0; 4], 0.0, false),
        ] {
            let Ranking { ahead: found, .. } = ranked(&[&law, &other], Better::More, tolerance);
            assert_eq!((found[0][1], found[1][0]), (ahead, false), "{law:?} {other:?}");
            let Ranking { ahead: found, .. } = ranked(&[&other, &law], Better::Less, tolerance);
            assert_eq!(found[0][1] || found[1][0], ahead, "the other way round: {law:?}");
        }
    }

    #[test]
    fn ranks_count_who_is_ahead_and_order_goes_by_mean_among_equals() {
        let (high, middle, near, low) = ([9.0; 4], [5.0; 4], [5.04; 4], [1.0; 4]);
        let found = ranked(&[&middle, &low, &high, &near], Better::More, 0.01);
        assert_eq!(found.ranks, [Some(2), Some(4), Some(1), Some(2)]);
        assert_eq!(found.order, [2, 3, 0, 1]);
        let open = not_separated(&found.order, &found.ranks, &found.ahead);
        assert_eq!((open, found.swapped), (vec![[3, 0]], vec![]));
    }

    #[test]
    fn what_halves_order_differently_is_never_separated() {
        // The first is better by 5 in one half, and worse by 1 in the other.
        let (a, b) = ([6.0, 6.0, 6.0, 0.0, 0.0, 0.0], [1.0; 6]);
        let found = ranked(&[&a, &b], Better::More, 0.0);
        assert_eq!(found.swapped, [[0, 1]]);
        assert_eq!(not_separated(&found.order, &found.ranks, &found.ahead), [[0, 1]]);
    }

    #[test]
    fn who_has_no_number_has_no_rank_and_comes_last() {
        let laws = [vec![None; 4], vec![Some(1.0); 4], vec![Some(2.0), None, None, None]];
        let found = ranking(&laws, Better::More, 0.0);
        assert_eq!(found.ranks, [None, Some(1), Some(1)]);
        assert_eq!(found.order, [2, 1, 0]);
        assert_eq!(not_separated(&found.order, &found.ranks, &found.ahead), [[2, 1]]);
    }
}
