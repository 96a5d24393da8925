//! Holds: keeping a backend at a chosen degree of congestion.

use crate::quantity::Share;
use crate::time::{Nanos, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The longest RTT to which a gradient hold may drive a client, unless the file says otherwise.
pub const AT_MOST: Nanos = Nanos::from_secs(10);

/// How far a held utilisation may be off, unless the file says otherwise.
pub const TOLERANCE: Share = Share::percent(3);

/// How long a gradient hold waits for its controller to have seen an answer before it lets the
/// next one go. A loop that takes longer than this cannot be closed answer by answer.
pub const PATIENCE: Nanos = Nanos::from_millis(2);

/// A hold as a file writes it: exactly one of `gradient`, `latency`, `scale` and `utilisation`.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HoldConfig {
    /// Answers are kept until the client's RTT is its controller's current baseline RTT, with what the law tolerates on
    /// top, divided by this, so that the gradient the law computes is this. Above 0, at most 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.01, max = 1.0))]
    pub gradient: Option<f64>,
    /// With `gradient`: the longest RTT it may lead to (default 10s).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_most: Option<Nanos>,
    /// Answers are kept until they are this old.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency: Option<Nanos>,
    /// Service times are multiplied by this, above 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.001, max = 1000.0))]
    pub scale: Option<f64>,
    /// Background jobs keep this share of the servers busy, together with the requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub utilisation: Option<Share>,
    /// With `utilisation`: how far what is measured may be off before the verdict is inconclusive
    /// (default 3%).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tolerance: Option<Share>,
}

/// What a backend is held at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Hold {
    /// A clamp, decided at release: see [`HoldConfig::gradient`].
    Gradient {
        /// The gradient that the law is to compute, above 0, at most 1.
        gradient: f64,
        /// The longest RTT it may lead to.
        at_most: Nanos,
    },
    /// A constant age of every answer.
    Latency(Nanos),
    /// A factor on service times.
    Scale(f64),
    /// Background jobs: see [`HoldConfig::utilisation`].
    Utilisation {
        /// The share of the servers that is to be busy.
        share: Share,
        /// How far the measured one may be off.
        tolerance: Share,
    },
}

impl TryFrom<&HoldConfig> for Hold {
    type Error = &'static str;

    fn try_from(config: &HoldConfig) -> Result<Self, Self::Error> {
        match (config.gradient, config.latency, config.scale, config.utilisation) {
            (Some(gradient), None, None, None) if gradient > 0.0 && gradient <= 1.0 => {
                Ok(Self::Gradient { gradient, at_most: config.at_most.unwrap_or(AT_MOST) })
            }
            (Some(_), None, None, None) => Err("gradient is above 0 and at most 1, such as 0.7"),
            _ if config.at_most.is_some() => Err("at_most goes with gradient only"),
            (None, None, None, Some(share)) if share < Share::ALL => {
                Ok(Self::Utilisation { share, tolerance: config.tolerance.unwrap_or(TOLERANCE) })
            }
            (None, None, None, Some(_)) => {
                Err("at a utilisation of 100% queues grow without end; write less, such as 85%")
            }
            _ if config.tolerance.is_some() => Err("tolerance goes with utilisation only"),
            (None, Some(latency), None, None) => Ok(Self::Latency(latency)),
            (None, None, Some(scale), None) if scale.is_finite() && scale > 0.0 => {
                Ok(Self::Scale(scale))
            }
            (None, None, Some(_), None) => Err("scale is above 0, such as 1.43"),
            _ => Err("a hold has exactly one of gradient, latency, scale and utilisation"),
        }
    }
}

impl From<Hold> for HoldConfig {
    fn from(hold: Hold) -> Self {
        let none = Self::default();
        match hold {
            Hold::Gradient { gradient, at_most } => {
                Self { gradient: Some(gradient), at_most: Some(at_most), ..none }
            }
            Hold::Latency(latency) => Self { latency: Some(latency), ..none },
            Hold::Scale(scale) => Self { scale: Some(scale), ..none },
            Hold::Utilisation { share, tolerance } => {
                Self { utilisation: Some(share), tolerance: Some(tolerance), ..none }
            }
        }
    }
}

/// What a gradient hold is told by the client's side after each answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Feed {
    /// The controller's baseline RTT with what it tolerates on top, once it has one.
    pub baseline: Option<Nanos>,
    /// What an RTT has on top of the age at which its answer was released: network, proxy, HTTP.
    pub overhead: Nanos,
}

/// A hold at work: when may an answer that is ready go?
#[derive(Debug, Default)]
pub struct Holder {
    hold: Option<Hold>,
    feed: Feed,
    /// When the last answer went that the controller has not been seen to react to yet.
    unseen_since: Option<Time>,
}

impl Holder {
    /// Replaces the hold.
    pub fn set(&mut self, hold: Option<Hold>) {
        self.hold = hold;
        self.unseen_since = None;
    }

    /// The hold in force.
    pub const fn hold(&self) -> Option<Hold> {
        self.hold
    }

    /// Takes in what the client's side knows after an answer.
    pub const fn feed(&mut self, feed: Feed) {
        self.feed = feed;
        self.unseen_since = None;
    }

    /// Factor on service times.
    pub fn scale(&self) -> f64 {
        match self.hold {
            Some(Hold::Scale(scale)) => scale,
            _ => 1.0,
        }
    }

    /// The utilisation that background jobs are to bring about, from 0 to 1.
    pub fn utilisation(&self) -> Option<f64> {
        match self.hold {
            Some(Hold::Utilisation { share, .. }) => Some(share.get()),
            _ => None,
        }
    }

    /// Whether answers that are ready may have to stay.
    pub const fn keeps_answers(&self) -> bool {
        matches!(self.hold, Some(Hold::Gradient { .. } | Hold::Latency(_)))
    }

    /// The age at which an answer may go.
    pub fn age(&self) -> Nanos {
        match self.hold {
            Some(Hold::Latency(latency)) => latency,
            Some(Hold::Gradient { gradient, at_most }) => {
                self.feed.baseline.map_or(Nanos::ZERO, |baseline| {
                    clamped_rtt(baseline, gradient).min(at_most).minus(self.feed.overhead)
                })
            }
            _ => Nanos::ZERO,
        }
    }

    /// The earliest instant at which any answer may go.
    pub fn next_turn(&self) -> Time {
        self.unseen_since.map_or(Time::ZERO, |since| since.after(PATIENCE))
    }

    /// An answer goes at `now`. Until the controller has seen it, the baseline that the next one is
    /// measured against may be about to move; so the next waits, where the loop is short enough.
    pub fn released(&mut self, now: Time) {
        let closes = self.feed.baseline.is_some() && self.feed.overhead < PATIENCE;
        if closes && matches!(self.hold, Some(Hold::Gradient { .. })) {
            self.unseen_since = Some(now);
        }
    }
}

/// The least RTT whose gradient against `baseline` is not above `gradient`: 10 ms at 0.7 gives
/// 14,285,715 ns.
fn clamped_rtt(baseline: Nanos, gradient: f64) -> Nanos {
    Nanos::new(libm::ceil(baseline.get() as f64 / gradient) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clamp_follows_the_baseline_and_takes_its_overhead_off() {
        let mut holder = Holder::default();
        holder.set(Some(Hold::Gradient { gradient: 0.7, at_most: Nanos::from_millis(20) }));
        assert_eq!(holder.age(), Nanos::ZERO, "no baseline yet, nothing to hold");
        for (baseline_ms, overhead_us, age_ns) in
            [(10, 0, 14_285_715), (10, 285, 14_000_715), (14, 0, 20_000_000), (15, 0, 20_000_000)]
        {
            let baseline = Some(Nanos::from_millis(baseline_ms));
            holder.feed(Feed { baseline, overhead: Nanos::from_micros(overhead_us) });
            assert_eq!(holder.age().get(), age_ns, "{baseline_ms} ms");
        }
    }

    #[test]
    fn a_hold_is_exactly_one_kind() {
        let hold = |config: HoldConfig| Hold::try_from(&config);
        let gradient = Some(0.7);
        let scale = Some(1.43);
        assert!(hold(HoldConfig::default()).is_err());
        assert!(hold(HoldConfig { gradient, scale, ..HoldConfig::default() }).is_err());
        assert!(hold(HoldConfig { scale, ..HoldConfig::default() }).is_ok());
        assert!(hold(HoldConfig { gradient: Some(1.5), ..HoldConfig::default() }).is_err());
        let utilisation = Share::new(0.85);
        assert!(hold(HoldConfig { utilisation, ..HoldConfig::default() }).is_ok());
        assert!(hold(HoldConfig { utilisation, scale, ..HoldConfig::default() }).is_err());
        let full = HoldConfig { utilisation: Some(Share::ALL), ..HoldConfig::default() };
        assert!(hold(full).is_err());
        let tolerance = Share::new(0.01);
        assert!(hold(HoldConfig { scale, tolerance, ..HoldConfig::default() }).is_err());
        let at_most = Some(Nanos::from_secs(1));
        assert!(hold(HoldConfig { scale, at_most, ..HoldConfig::default() }).is_err());
    }
}
