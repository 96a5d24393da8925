//! Types of metrics, and the buckets of those that are histograms.

use std::f64::consts::SQRT_2;
use testbed_core::time::Nanos;

/// The type of a metric.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A value that goes up and down.
    Gauge,
    /// A number of things that happened since the run began.
    Counter,
    /// Lengths of time, counted by size.
    Histogram,
    /// Lengths of time, counted by size, with a bucket of their own for those that are zero.
    HistogramFromZero,
    /// Windows in requests, counted by size.
    Windows,
    /// Ratios around 1, counted by size.
    Ratios,
}

impl Kind {
    /// The type in the words of the exposition format.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gauge => "gauge",
            Self::Counter => "counter",
            Self::Histogram | Self::HistogramFromZero | Self::Windows | Self::Ratios => "histogram",
        }
    }

    /// Upper bounds of the buckets in the metric's unit, ascending; none for what is no histogram.
    /// For lengths of time the deadlines of the run are bounds too: many waits end exactly there, and a
    /// quantile that falls between two bounds is a guess.
    pub fn bounds(self, deadlines: &[Nanos]) -> Vec<f64> {
        match self {
            Self::Gauge | Self::Counter => Vec::new(),
            Self::Histogram => lengths(None, deadlines),
            Self::HistogramFromZero => lengths(Some(0.0), deadlines),
            Self::Windows => (0..WINDOWS).map(window).collect(),
            Self::Ratios => {
                let twentieths = (1..=20).map(|twentieth| f64::from(twentieth) / 20.0);
                twentieths.chain(ABOVE_ONE).collect()
            }
        }
    }
}

/// Buckets from 100 us to 297 s.
const BUCKETS: u32 = 44;
/// Buckets from 1 to 4096 requests.
const WINDOWS: u32 = 25;
/// Bounds of ratios above 1. Most laws clamp their gradient to 1; some do not.
const ABOVE_ONE: [f64; 4] = [1.1, 1.25, 1.5, 2.0];

fn lengths(first: Option<f64>, deadlines: &[Nanos]) -> Vec<f64> {
    let deadlines = deadlines.iter().map(|deadline| deadline.as_secs_f64());
    let mut bounds: Vec<_> = first.into_iter().chain((0..BUCKETS).map(bound)).collect();
    bounds.extend(deadlines);
    bounds.sort_by(f64::total_cmp);
    bounds.dedup();
    bounds
}

/// 100 us times 2^(index / 2), in whole nanoseconds. The steps are finer than the usual 1-2-5,
/// because a quantile is only as exact as the bucket that it falls into.
fn bound(index: u32) -> f64 {
    let octave_ns = (100_000_u64 << (index / 2)) as f64;
    let ns = if index.is_multiple_of(2) { octave_ns } else { octave_ns * SQRT_2 };
    ns.round() / 1e9
}

/// 2^(index / 2), in whole millionths.
fn window(index: u32) -> f64 {
    let octave = f64::from(1_u32 << (index / 2));
    let exact = if index.is_multiple_of(2) { octave } else { octave * SQRT_2 };
    (exact * 1e6).round() / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_grow_by_the_root_of_two_from_100_microseconds() {
        let bounds = Kind::Histogram.bounds(&[]);
        assert_eq!(bounds.len(), 44);
        assert_eq!(bounds[..4], [0.000_1, 0.000_141_421, 0.000_2, 0.000_282_843]);
        assert_eq!(bounds[43].round(), 297.0);
        assert_eq!(Kind::HistogramFromZero.bounds(&[])[..2], [0.0, 0.000_1]);
    }

    #[test]
    fn deadlines_are_bounds_and_none_is_there_twice() {
        let deadlines = [Nanos::from_secs(3), Nanos::from_millis(500), Nanos::from_micros(200)];
        let bounds = Kind::HistogramFromZero.bounds(&deadlines);
        // 200 us is a bound anyway.
        assert_eq!(bounds.len(), 45 + 2);
        assert!(bounds.contains(&3.0) && bounds.contains(&0.5));
        assert_eq!(Kind::HistogramFromZero.bounds(&deadlines[..1]).len(), 46);
    }

    #[test]
    fn windows_go_from_1_to_4096_and_ratios_by_twentieths_to_1_and_beyond() {
        let windows = Kind::Windows.bounds(&[Nanos::from_secs(3)]);
        assert_eq!(windows[2..6], [2.0, 2.828_427, 4.0, 5.656_854]);
        assert_eq!((windows.len(), windows[0], windows[24]), (25, 1.0, 4096.0));
        let ratios = Kind::Ratios.bounds(&[]);
        assert_eq!((ratios[0], ratios[13], ratios[19], ratios[23]), (0.05, 0.7, 1.0, 2.0));
    }

    #[test]
    fn bounds_ascend() {
        for kind in [Kind::Histogram, Kind::HistogramFromZero, Kind::Windows, Kind::Ratios] {
            let bounds = kind.bounds(&[Nanos::from_millis(7), Nanos::from_secs(400)]);
            assert!(bounds.is_sorted_by(|a, b| a < b), "{kind:?}");
        }
    }
}
