//! The limiters that properties are asked of.

use testbed_core::limit::lateness::Lateness;
use testbed_core::limit::quantity::{ByteRate, Bytes};
use testbed_core::limit::sleepers::{RaceConfig, Ties};
use testbed_core::limit::{
    LevelsConfig, LimiterConfig, Policy, drr, fifo, governor, guava, htb, leaky_bucket, pacer,
    peek, reservation,
};
use testbed_core::time::Nanos;

/// Every policy with its defaults, and the settings that change most of what it does.
pub(crate) fn policies(levels: &LevelsConfig) -> Vec<LimiterConfig> {
    use Ties::{ById, Lifo, Random, UnstableHeap};
    let mut all = LimiterConfig::all(levels);
    let jitter = Lateness::Jitter(Nanos::from_millis(4));
    for ties in [ById, Lifo, Random, UnstableHeap] {
        let race = RaceConfig { ties, lateness: jitter.clone() };
        all.push(LimiterConfig::Peek(peek::Config { levels: levels.clone(), race }));
    }
    all.push(LimiterConfig::Fifo(fifo::Config {
        oversize: fifo::Oversize::Instalments,
        on_cancel: fifo::OnCancel::KeepTicket,
        lateness: jitter.clone(),
        levels: levels.clone(),
    }));
    let ghosts = reservation::Config { refund: false, ..reservation::Config::over(levels) };
    all.push(LimiterConfig::Reservation(ghosts));
    let race = RaceConfig { lateness: jitter.clone(), ..RaceConfig::default() };
    all.push(LimiterConfig::Governor(governor::Config { race, ..Policy::over(levels) }));
    let lateness = jitter.clone();
    all.push(LimiterConfig::Guava(guava::Config { lateness, ..Policy::over(levels) }));
    let unfair = leaky_bucket::Config { fair: false, lateness: jitter, ..Policy::over(levels) };
    all.push(LimiterConfig::LeakyBucket(unfair));
    let at_most = Some(Nanos::from_millis(100));
    let bounded = reservation::Config { at_most, ..reservation::Config::over(levels) };
    all.push(LimiterConfig::Reservation(reservation::Config {
        beyond: reservation::Beyond::Go,
        ..bounded
    }));
    let quantum = Bytes::new(7);
    all.push(LimiterConfig::Drr(drr::Config { quantum, ..drr::Config::over(levels) }));
    let assured = [100, 300, 50].map(|rate| ByteRate::per_second(rate).expect("above zero"));
    let assured = assured.to_vec();
    all.push(LimiterConfig::Htb(htb::Config { assured, quantum, ..htb::Config::over(levels) }));
    all.push(LimiterConfig::Pacer(pacer::Config {
        interval: pacer::Interval::Round(Nanos::from_millis(700)),
        slack: Bytes::new(90),
        idle_from: pacer::IdleFrom::Last,
        ..pacer::Config::over(levels)
    }));
    all
}
