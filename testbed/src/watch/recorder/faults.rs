//! The series of what faults have done to an arm.

use super::sheet::Sheet;
use crate::watch::series::Faulted;
use std::io::Write;
use testbed_core::event::Network;
use testbed_core::service::Counts;
use testbed_core::time::Time;

/// What was said since the last sampling instant.
#[derive(Default)]
pub(super) struct FaultsFold {
    injected: u64,
    overflow: u64,
    network: Option<Network>,
}

impl FaultsFold {
    /// One of the arm's rules.
    pub(super) const fn injected(&mut self, counts: Counts) {
        self.injected += counts.injected;
        self.overflow += counts.overflow;
    }

    pub(super) const fn network(&mut self, network: Network) {
        self.network = Some(network);
    }

    /// A sampling instant: what every rule and the network have said of it is here.
    pub(super) fn tick<W: Write>(&mut self, now: Time, arm: usize, sheet: &mut Sheet<W>) {
        let Self { injected, overflow, network } = std::mem::take(self);
        let mut change = |series: Faulted, value: u64| {
            sheet.change(now, arm, series.info().name, value as f64);
        };
        change(Faulted::Injected, injected);
        change(Faulted::Overflow, overflow);
        if let Some(Network { links_hit, dropped, aborts, resets, .. }) = network {
            change(Faulted::LinksHit, links_hit);
            change(Faulted::Dropped, dropped);
            change(Faulted::Aborts, aborts);
            change(Faulted::Resets, resets);
        }
    }
}
