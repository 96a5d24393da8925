//! The straight line that fits a series best.

use super::line::{self, Piece};

/// A straight line through a series, by least squares over all instants: it makes the integral of
/// `(x(t) - mean - slope (t - middle))^2` the least.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Fit {
    /// The mean over time, in the unit of the series.
    pub mean: f64,
    /// The slope of the line, in the unit of the series a second.
    pub slope: f64,
    /// The standard deviation over time around the mean, in the unit of the series.
    pub stddev: f64,
    /// The standard deviation over time around the line, in the unit of the series.
    pub residual: f64,
}

impl Fit {
    /// Fits a line. `None` if the series has no length.
    ///
    /// With `<.>` the mean over time and times from the middle `m`: slope `<x (t - m)> / <(t - m)^2>`, and
    /// `<(t - m)^2>` of a span of length T is `T^2 / 12`. What the line leaves of the variance is
    /// `<(x - mean)^2> - slope^2 T^2 / 12`.
    pub fn new(line: &[Piece]) -> Option<Self> {
        let (first, last) = (line.first()?, line.last()?);
        let length = last.end.since(first.begin).as_secs_f64();
        if length <= 0.0 {
            return None;
        }
        let mean = line::mean(line)?;
        let (mut variance, mut covariance) = (0.0, 0.0);
        for piece in line {
            let (share, off) = (piece.seconds() / length, piece.value - mean);
            let from_first = piece.begin.since(first.begin).as_secs_f64();
            variance += share * off * off;
            covariance += share * off * (from_first + piece.seconds() / 2.0 - length / 2.0);
        }
        let of_time = length * length / 12.0;
        let slope = covariance / of_time;
        let residual = (variance - slope * slope * of_time).max(0.0).sqrt();
        Some(Self { mean, slope, stddev: variance.sqrt(), residual })
    }

    /// The deviation around the line as a share of the mean. `None` if that is 0.
    pub fn oscillation(&self) -> Option<f64> {
        (self.mean != 0.0).then(|| self.residual / self.mean.abs())
    }
}
