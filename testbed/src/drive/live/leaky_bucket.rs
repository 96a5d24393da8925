//! The crate `leaky-bucket` itself, in place of the policy of that name.

use super::outside::{Acquire, Bell, Outside, Wait};
use leaky_bucket::RateLimiter;
use std::sync::Arc;
use testbed_core::limit::leaky_bucket::{Config, Live};
use testbed_core::limit::quantity::Bytes;
use testbed_core::limit::{Limiter, LimiterConfig};
use tokio::runtime::Handle;

/// The settings of a policy that is to be the crate.
pub(super) fn settings(policy: &LimiterConfig) -> Option<&Config> {
    match policy {
        LimiterConfig::LeakyBucket(config) => Some(config).filter(|it| it.live == Live::Crate),
        _ => None,
    }
}

/// The crate, if `policy` is to be it. Its timers are those of `runtime`.
pub(super) fn limiter(
    policy: &LimiterConfig,
    runtime: Handle,
    bell: Bell,
) -> Option<Box<dyn Limiter>> {
    let limiter = Arc::new(build(settings(policy)?)?);
    Some(Box::new(Outside::new(limiter, runtime, bell)))
}

/// `None` of settings that the check of a file refuses.
fn build(config: &Config) -> Option<RateLimiter> {
    let bucket = config.levels.global.as_ref()?;
    // What the machine cannot count is as good as no limit.
    let count = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
    let limiter = RateLimiter::builder()
        .fair(config.fair)
        .interval(config.interval.as_std())
        .refill(count(config.whole_lump()?))
        .max(count(bucket.capacity()))
        .initial(count(bucket.initial()))
        .build();
    Some(limiter)
}

impl Acquire for Arc<RateLimiter> {
    fn acquire(&self, cost: Bytes) -> Wait {
        let permits = usize::try_from(cost.get()).unwrap_or(usize::MAX);
        Box::pin(Self::clone(self).acquire_owned(permits))
    }
}
