//! Distributions of times: how long a server works, how long a client thinks.

use crate::control::Invalid;
use crate::quantity::Share;
use crate::rng::Rng;
use crate::time::Nanos;
use crate::trace::Trace;
use rand::RngExt as _;
use rand_distr::{Exp1, StandardNormal};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A distribution of lengths of time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Distribution {
    /// Always the same length.
    Constant(Nanos),
    /// Exponential with this mean: memoryless, the M in M/M/c.
    Exponential(Nanos),
    /// Lognormal: skewed to the right, as measured service times are.
    Lognormal(Lognormal),
    /// One of two lengths, as of what is cached and what is not.
    Bimodal(Bimodal),
    /// The column service_s of a recorded trace. A backend takes the rows in order, one a call, and then again from
    /// the first; whoever else draws takes any of them.
    Trace(Trace),
}

/// A distribution of two lengths.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bimodal {
    /// The shorter length.
    pub fast: Nanos,
    /// The longer length.
    pub slow: Nanos,
    /// The share of draws that are slow.
    pub share: Share,
}

/// A lognormal distribution, `median * exp(sigma * N(0, 1))`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Lognormal {
    /// The median length.
    pub median: Nanos,
    /// Standard deviation of the logarithm, 0 or more; 0.01 is about 1 % of noise.
    #[schemars(range(min = 0.0, max = 10.0))]
    pub sigma: f64,
}

impl Distribution {
    /// Draws one length.
    pub fn draw(&self, rng: &mut Rng) -> Nanos {
        match self {
            Self::Constant(length) => *length,
            Self::Exponential(mean) => mean.scaled(rng.sample(Exp1)),
            Self::Lognormal(Lognormal { median, sigma }) => {
                let normal: f64 = rng.sample(StandardNormal);
                median.scaled(libm::exp(sigma * normal))
            }
            Self::Bimodal(Bimodal { fast, slow, share }) => {
                if rng.random::<f64>() < share.get() {
                    *slow
                } else {
                    *fast
                }
            }
            Self::Trace(trace) => trace.service(rng.random()),
        }
    }

    /// The length of the n-th call from 0: a trace has one for each; the others draw.
    pub fn nth(&self, n: u64, rng: &mut Rng) -> Nanos {
        match self {
            Self::Trace(trace) => trace.service(n),
            _ => self.draw(rng),
        }
    }

    /// The trace that it is, if it is one.
    pub const fn trace_mut(&mut self) -> Option<&mut Trace> {
        match self {
            Self::Trace(trace) => Some(trace),
            _ => None,
        }
    }

    /// The median: half of the draws are shorter. Exponential: `ln 2` times the mean.
    pub fn median(&self) -> Nanos {
        match self {
            Self::Constant(length) => *length,
            Self::Exponential(mean) => mean.scaled(std::f64::consts::LN_2),
            Self::Lognormal(Lognormal { median, .. }) => *median,
            Self::Bimodal(Bimodal { fast, slow, share }) => {
                if share.get() > 0.5 {
                    *slow
                } else {
                    *fast
                }
            }
            Self::Trace(trace) => trace.rows.median_service(),
        }
    }

    /// The mean. Lognormal: `median * exp(sigma^2 / 2)`. Bimodal, of 5ms and 105ms at a share of 10%:
    /// 15ms.
    pub fn mean(&self) -> Nanos {
        match self {
            Self::Constant(length) | Self::Exponential(length) => *length,
            Self::Lognormal(Lognormal { median, sigma }) => {
                median.scaled(libm::exp(sigma * sigma / 2.0))
            }
            Self::Bimodal(Bimodal { fast, slow, share }) => {
                fast.scaled(1.0 - share.get()).plus(slow.scaled(share.get()))
            }
            Self::Trace(trace) => trace.rows.mean_service(),
        }
    }

    /// Settings that an experiment file should not contain, by their places below it.
    pub fn invalid(&self) -> Vec<Invalid> {
        let swapped = |Bimodal { fast, slow, .. }: &Bimodal| {
            let message = format!("it is faster than fast, {fast}; exchange the two");
            (slow < fast).then_some(Invalid { field: "bimodal/slow", message })
        };
        match self {
            Self::Bimodal(bimodal) => swapped(bimodal).into_iter().collect(),
            Self::Constant(_) | Self::Exponential(_) | Self::Lognormal(_) | Self::Trace(_) => {
                Vec::new()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Streams;

    #[test]
    fn draws_have_the_stated_mean_and_median() {
        let lognormal = Lognormal { median: Nanos::from_millis(10), sigma: 0.5 };
        let share = Share::new(0.1).unwrap();
        let (fast, slow) = (Nanos::from_millis(5), Nanos::from_millis(105));
        let bimodal = Bimodal { fast, slow, share };
        let mean = Distribution::Bimodal(bimodal.clone()).mean();
        assert_eq!(mean, Nanos::from_millis(15), "0.9 * 5 + 0.1 * 105");
        for distribution in [
            Distribution::Constant(Nanos::from_millis(10)),
            Distribution::Exponential(Nanos::from_millis(10)),
            Distribution::Lognormal(lognormal),
            Distribution::Bimodal(bimodal),
        ] {
            let mut rng = Streams::new(1).stream("service");
            let mut draws: Vec<_> =
                (0..100_000).map(|_| distribution.draw(&mut rng).get() as f64).collect();
            draws.sort_by(f64::total_cmp);
            let mean = draws.iter().sum::<f64>() / draws.len() as f64;
            let off = |got: f64, want: Nanos| (got / want.get() as f64 - 1.0).abs();
            assert!(off(mean, distribution.mean()) < 0.02, "{distribution:?} mean {mean}");
            assert!(off(draws[50_000], distribution.median()) < 0.02, "{distribution:?}");
        }
    }
}
