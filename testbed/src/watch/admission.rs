//! How long requests waited for admission, as the shares of them that waited no longer: `admission.csv`.

use super::series::PerRequest;
use super::store::Store;
use indexmap::IndexMap;
use std::fmt::Write as _;

/// The file, which a run writes at its end.
pub const ADMISSION: &str = "admission.csv";
/// Its first line.
pub const HEADER: &str = "arm,share,wait_s";
/// Points of a distribution in the file, evenly spread over the requests.
const PARTS: u32 = 200;

/// Pairs of a share of all requests, 0 to 1, and the seconds that they did not exceed.
pub type Shares = Vec<(f64, f64)>;

/// The shares of a distribution that are shown: even parts, and more towards the longest.
pub fn shares(parts: u32) -> impl Iterator<Item = f64> {
    let even = (0..parts).map(move |n| f64::from(n) / f64::from(parts));
    even.chain([0.998, 0.999, 0.9995, 0.9999, 1.0])
}

/// The content of [`ADMISSION`]; `None` if nobody was admitted, as where all arms have limiters.
pub fn csv(store: &Store, arms: &[String]) -> Option<String> {
    let all = of(store, arms);
    let mut out = format!("{HEADER}\n");
    for (arm, shares) in &all {
        for (share, wait_s) in shares {
            let _ = writeln!(out, "{arm},{share},{wait_s}");
        }
    }
    (!all.is_empty()).then_some(out)
}

fn of(store: &Store, arms: &[String]) -> IndexMap<String, Shares> {
    let waits = arms.iter().zip(&store.arms).map(|(name, arm)| {
        let waits = arm.distribution(PerRequest::Wait, None);
        let point = |share: f64| Some((share, waits.percentile(share * 100.0)?));
        (name.clone(), shares(PARTS).filter_map(point).collect::<Shares>())
    });
    waits.filter(|(_, shares)| !shares.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use testbed_core::time::{Nanos, Time};

    #[test]
    fn a_row_says_which_share_waited_no_longer() {
        let mut store = Store::new(2);
        store.begin_phase(Time::ZERO);
        // 0 to 999 ms, one each.
        (0..1000).for_each(|ms| store.arms[0].record(PerRequest::Wait, Nanos::from_millis(ms)));
        let arms = ["a".to_owned(), "silent".to_owned()];
        assert_eq!(csv(&Store::new(2), &arms), None);
        let csv = csv(&store, &arms).unwrap();
        let rows: Vec<_> = csv.lines().collect();
        assert_eq!(rows[..2], [HEADER, "a,0,0"]);
        assert_eq!(rows.len(), 1 + shares(PARTS).count());
        let half: f64 =
            rows.iter().find_map(|row| row.strip_prefix("a,0.5,")).unwrap().parse().unwrap();
        assert!((half - 0.499).abs() < 1e-3, "{half}");
        assert_eq!(rows.last(), Some(&"a,1,0.999"));
    }
}
