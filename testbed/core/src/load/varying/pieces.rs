//! A rate that is linear in pieces: steps and ramps.

use super::RateOverTime;
use crate::quantity::Rate;
use crate::time::Nanos;

/// A rate made of pieces, each constant or changing linearly; the last lasts for ever.
#[derive(Debug)]
pub struct Pieces(Vec<Piece>);

#[derive(Debug)]
struct Piece {
    begin_s: f64,
    /// Arrivals expected before it begins.
    before: f64,
    /// Arrivals a second at its beginning.
    rate: f64,
    /// By how much that grows a second.
    slope: f64,
}

impl Piece {
    /// `rate * t + slope * t^2 / 2`.
    fn expected(&self, at_s: f64) -> f64 {
        let t = at_s - self.begin_s;
        self.before + t * (self.rate + self.slope * t / 2.0)
    }

    /// The inverse, in the form of the quadratic formula that does not cancel as the slope goes to 0.
    fn when_s(&self, arrivals: f64) -> f64 {
        let n = arrivals - self.before;
        let end_rate = libm::sqrt((self.rate * self.rate + 2.0 * self.slope * n).max(0.0));
        self.begin_s + 2.0 * n / (self.rate + end_rate)
    }
}

impl Pieces {
    /// Spans that go from one rate to another and last so long, one after the other; `last` from
    /// then on. A span of no length is left out.
    pub fn new(spans: impl IntoIterator<Item = (Rate, Rate, Nanos)>, last: Rate) -> Self {
        let (mut begin_s, mut before) = (0.0, 0.0);
        let mut pieces = Vec::new();
        for (from, to, length) in spans.into_iter().filter(|span| span.2 > Nanos::ZERO) {
            let length_s = length.as_secs_f64();
            let slope = (to.get() - from.get()) / length_s;
            pieces.push(Piece { begin_s, before, rate: from.get(), slope });
            begin_s += length_s;
            before += length_s * f64::midpoint(from.get(), to.get());
        }
        pieces.push(Piece { begin_s, before, rate: last.get(), slope: 0.0 });
        Self(pieces)
    }

    /// The last piece that begins where `reached` still holds.
    fn piece(&self, reached: impl Fn(&Piece) -> bool) -> &Piece {
        &self.0[self.0.partition_point(reached).saturating_sub(1)]
    }
}

impl RateOverTime for Pieces {
    fn expected(&self, at_s: f64) -> f64 {
        self.piece(|piece| piece.begin_s <= at_s).expected(at_s)
    }

    fn when_s(&self, arrivals: f64) -> f64 {
        self.piece(|piece| piece.before <= arrivals).when_s(arrivals)
    }
}
