//! What faults have done to an arm.

use super::children::Children;
use super::names;
use prometheus::{Gauge, IntCounter};
use std::collections::BTreeMap;
use testbed_core::event::Network;
use testbed_core::service::Counts;

/// Rules about single requests, and the network.
#[derive(Debug)]
pub(super) struct FaultMetrics {
    children: Children,
    arm: String,
    /// By the names of faults, of which the experiment file has so many.
    rules: BTreeMap<String, RuleMetrics>,
    links: IntCounter,
    links_hit: IntCounter,
    dropped: IntCounter,
    aborts: IntCounter,
    resets: IntCounter,
}

#[derive(Debug)]
struct RuleMetrics {
    injected: IntCounter,
    overflow: IntCounter,
    active: Gauge,
}

impl FaultMetrics {
    pub(super) fn new(children: &Children, arm: &str) -> Self {
        Self {
            children: children.clone(),
            arm: arm.to_owned(),
            rules: BTreeMap::new(),
            links: children.counter(&names::LINKS, &[arm]),
            links_hit: children.counter(&names::LINKS_HIT, &[arm]),
            dropped: children.counter(&names::DROPPED, &[arm]),
            aborts: children.counter(&names::ABORTS, &[arm]),
            resets: children.counter(&names::RESETS, &[arm]),
        }
    }

    /// A rule has done so much; its series begin with the first time.
    pub(super) fn injected(&mut self, fault: &str, counts: Counts) {
        if !self.rules.contains_key(fault) {
            let rule = RuleMetrics::new(&self.children, &[&self.arm, fault]);
            self.rules.insert(fault.to_owned(), rule);
        }
        let rule = &self.rules[fault];
        reach(&rule.injected, counts.injected);
        reach(&rule.overflow, counts.overflow);
        rule.active.set(counts.active.into());
    }

    pub(super) fn network(&self, network: &Network) {
        reach(&self.links, network.links);
        reach(&self.links_hit, network.links_hit);
        reach(&self.dropped, network.dropped);
        reach(&self.aborts, network.aborts);
        reach(&self.resets, network.resets);
    }
}

impl RuleMetrics {
    fn new(children: &Children, labels: &[&str]) -> Self {
        Self {
            injected: children.counter(&names::INJECTED, labels),
            overflow: children.counter(&names::OVERFLOW, labels),
            active: children.gauge(&names::UNDER_FAULT, labels),
        }
    }
}

/// Brings a counter to what has been counted elsewhere.
fn reach(counter: &IntCounter, count: u64) {
    counter.inc_by(count.saturating_sub(counter.get()));
}
