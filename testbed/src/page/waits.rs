//! What `waits.csv` says, in a bounded form: for each arm how long waits were, and for each of its
//! waiters when it waited, how often, how long and for how much.

use super::read::seconds;
use crate::verdict::evaluate::jain;
use crate::watch::admission::shares;
use hdrhistogram::Histogram;
use indexmap::IndexMap;
use serde::Serialize;

/// The first line of the file.
pub(super) const HEADER: &str = "t_ns,arm,waiter,cost,quoted_ns,wait_ns,outcome";
/// Waiters of an arm that are told apart, the first that end a wait.
const KEPT: usize = 1024;
/// Waiters of an arm with rows of their own: of those that are told apart, the ones with the longest waits.
const SHOWN: usize = 64;
/// Columns of a heat strip.
const COLUMNS: usize = 120;
/// Points of a distribution, evenly spread over the waits, and more towards the longest.
const QUANTILES: u32 = 200;
/// The row of all others.
const OTHERS: &str = "others";

/// The waits of one arm.
#[derive(Clone, Debug, Serialize)]
pub(super) struct ArmWaits {
    arm: String,
    count: u64,
    mean_s: f64,
    p50_s: f64,
    p99_s: f64,
    max_s: f64,
    /// Jain's index of the bytes that waiters got after a wait: 1 if all got the same (Jain, Chiu
    /// and Hawe, 1984). None if nobody got any.
    jain: Option<f64>,
    /// Pairs of a share of all waits, 0 to 1, and the seconds that they did not exceed.
    cdf: Vec<(f64, f64)>,
    /// In the order of their first waits.
    waiters: Vec<Waiter>,
}

/// What one waiter went through.
#[derive(Clone, Debug, Default, Serialize)]
struct Waiter {
    name: String,
    /// When it began to wait for the first time, in seconds; for the order of the rows.
    #[serde(skip)]
    first_asked_s: f64,
    count: u64,
    total_s: f64,
    longest_s: f64,
    /// Bytes that were granted after a wait.
    bytes: u64,
    /// For each of equal parts of the run, how old a wait of its was at most, in seconds.
    strip: Vec<f64>,
}

/// Reads waits.
#[derive(Debug)]
pub(super) struct Waits {
    arms: IndexMap<String, Fold>,
    /// Length of a column, in seconds.
    column_s: f64,
}

#[derive(Debug)]
struct Fold {
    lengths: Histogram<u64>,
    max_ns: u64,
    waiters: IndexMap<String, Waiter>,
}

impl Waits {
    /// Of these arms, in a run that lasted `end_s` seconds.
    pub(super) fn new(arms: &[String], end_s: f64) -> Self {
        let fold = |arm: &String| (arm.clone(), Fold::new());
        Self { arms: arms.iter().map(fold).collect(), column_s: end_s / COLUMNS as f64 }
    }

    /// A row of the file; `None` if it is none.
    pub(super) fn add(&mut self, line: &str) -> Option<()> {
        let fields: Vec<_> = line.split(',').collect();
        let [t_ns, arm, waiter, cost, _quoted, wait_ns, outcome] = fields[..] else { return None };
        let (asked_s, wait_ns) = (seconds(t_ns.parse().ok()?), wait_ns.parse().ok()?);
        let cost: u64 = cost.parse().ok()?;
        let fold = self.arms.get_mut(arm)?;
        fold.lengths.record(wait_ns).ok()?;
        fold.max_ns = fold.max_ns.max(wait_ns);
        let waiter = fold.waiter(waiter);
        waiter.add(asked_s, seconds(wait_ns), self.column_s);
        waiter.bytes += if outcome == "granted" { cost } else { 0 };
        Some(())
    }

    /// The arms that had waits.
    pub(super) fn finish(self) -> Vec<ArmWaits> {
        let had = |(_, fold): &(String, Fold)| !fold.lengths.is_empty();
        self.arms.into_iter().filter(had).map(|(arm, fold)| fold.finish(arm)).collect()
    }
}

impl Fold {
    fn new() -> Self {
        let lengths = Histogram::new(3).expect("three digits are within 0 to 5");
        Self { lengths, max_ns: 0, waiters: IndexMap::new() }
    }

    fn waiter(&mut self, name: &str) -> &mut Waiter {
        let is_kept = self.waiters.contains_key(name) || self.waiters.len() < KEPT;
        let name = if is_kept { name } else { OTHERS };
        self.waiters.entry(name.to_owned()).or_insert_with(|| Waiter::new(name))
    }

    fn finish(self, arm: String) -> ArmWaits {
        let at = |share: f64| seconds(self.lengths.value_at_quantile(share).min(self.max_ns));
        let (mean_s, max_s) = (self.lengths.mean() / 1e9, seconds(self.max_ns));
        let cdf = shares(QUANTILES).map(|share| (share, at(share))).collect();
        let told_apart = self.waiters.values().filter(|waiter| waiter.name != OTHERS);
        let jain = jain(told_apart.map(|waiter| waiter.bytes));
        let waiters = longest(self.waiters.into_values().collect());
        let (count, p50_s, p99_s) = (self.lengths.len(), at(0.5), at(0.99));
        ArmWaits { arm, count, mean_s, p50_s, p99_s, max_s, jain, cdf, waiters }
    }
}

/// Those with the longest waits, and one for the others, if there are others.
fn longest(waiters: Vec<Waiter>) -> Vec<Waiter> {
    let (others, mut waiters): (Vec<_>, Vec<_>) =
        waiters.into_iter().partition(|waiter| waiter.name == OTHERS);
    waiters.sort_by(|a, b| b.longest_s.total_cmp(&a.longest_s));
    let rest = waiters.split_off(SHOWN.min(waiters.len()));
    waiters.sort_by(|a, b| a.first_asked_s.total_cmp(&b.first_asked_s));
    let others = others.into_iter().chain(rest).reduce(Waiter::merged);
    waiters.extend(others.map(|others| Waiter { name: OTHERS.to_owned(), ..others }));
    waiters
}

impl Waiter {
    fn new(name: &str) -> Self {
        let (first_asked_s, strip) = (f64::INFINITY, vec![0.0; COLUMNS]);
        Self { name: name.to_owned(), first_asked_s, strip, ..Self::default() }
    }

    /// Both as one.
    fn merged(self, other: Self) -> Self {
        let older = |(a, b): (&f64, &f64)| a.max(*b);
        Self {
            first_asked_s: self.first_asked_s.min(other.first_asked_s),
            count: self.count + other.count,
            total_s: self.total_s + other.total_s,
            longest_s: self.longest_s.max(other.longest_s),
            bytes: self.bytes + other.bytes,
            strip: self.strip.iter().zip(&other.strip).map(older).collect(),
            name: self.name,
        }
    }

    fn add(&mut self, asked_s: f64, wait_s: f64, column_s: f64) {
        self.first_asked_s = self.first_asked_s.min(asked_s);
        self.count += 1;
        self.total_s += wait_s;
        self.longest_s = self.longest_s.max(wait_s);
        let column = |t: f64| ((t / column_s) as usize).min(COLUMNS - 1);
        let end_s = asked_s + wait_s;
        for index in column(asked_s)..=column(end_s) {
            let age_s = ((index + 1) as f64 * column_s).min(end_s) - asked_s;
            self.strip[index] = self.strip[index].max(age_s);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(rows: &[&str]) -> Vec<ArmWaits> {
        let mut waits = Waits::new(&["a".to_owned(), "b".to_owned()], 120.0);
        for row in rows {
            assert_eq!(waits.add(row), Some(()), "{row}");
        }
        waits.finish()
    }

    #[test]
    fn waits_are_summed_up_by_waiter_and_arm() {
        let [a] = &of(&[
            "0,a,task0/seg0,100,,1000000000,granted",
            "1500000000,a,task0/seg1,300,2000000000,3000000000,granted",
            "9000000000,a,task0/seg1,300,,1000000000,cut_off",
        ])[..] else {
            panic!("one arm had waits");
        };
        assert_eq!((a.count, a.max_s), (3, 3.0));
        assert!((a.p50_s - 1.0).abs() < 1e-3, "{}", a.p50_s);
        // (100 + 300)^2 / (2 * (100^2 + 300^2))
        assert_eq!(a.jain, Some(0.8));
        let [first, second] = &a.waiters[..] else { panic!("two waiters") };
        assert_eq!((first.count, first.bytes, first.longest_s), (1, 100, 1.0));
        assert_eq!((second.count, second.bytes, second.total_s), (2, 300, 4.0));
        // Asked at 1.5 s, granted at 4.5 s; columns of 1 s.
        assert_eq!(second.strip[..6], [0.0, 0.5, 1.5, 2.5, 3.0, 0.0]);
        assert_eq!(a.cdf.first().map(|point| point.0), Some(0.0));
        assert_eq!(a.cdf.last(), Some(&(1.0, 3.0)));
    }

    #[test]
    fn rows_that_are_none_are_refused() {
        let mut waits = Waits::new(&["a".to_owned()], 1.0);
        for row in
            ["", "0,a,w,1,,1", "0,c,w,1,,1,granted", "x,a,w,1,,1,granted", "0,a,w,1,,-1,granted"]
        {
            assert_eq!(waits.add(row), None, "{row}");
        }
        assert!(waits.finish().is_empty());
    }

    #[test]
    fn waiters_are_bounded_and_those_that_starve_are_among_them() {
        for count in [100, 2_000] {
            let row = |n: usize| format!("{n},b,task{n}/seg0,1,,{},granted", 10_000 + n.min(KEPT));
            let rows: Vec<_> = (0..count).map(row).collect();
            let waits = of(&rows.iter().map(|row| &**row).collect::<Vec<_>>());
            let waiters = &waits[0].waiters;
            assert_eq!(waiters.len(), SHOWN + 1, "of {count}");
            let told: u64 = waiters.iter().map(|waiter| waiter.count).sum();
            assert_eq!(told, count as u64, "none is lost");
            let last = count.min(KEPT) - 1;
            assert!(waiters.iter().any(|waiter| waiter.name == format!("task{last}/seg0")));
        }
    }
}
