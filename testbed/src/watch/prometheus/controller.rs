//! The metrics of one arm's controller. Its vitals and reasons are known only once they are seen.

use super::ArmLabel;
use super::children::Children;
use super::names::{self, Metric};
use super::updates::UpdateMetrics;
use prometheus::{Gauge, IntCounter};
use testbed_core::control::Update;
use testbed_core::vitals::Vitals;

/// So many reasons of one arm are counted under their own names: a law that made them up without
/// end would fill the database.
const MAX_REASONS: usize = 16;
/// Under this name all further ones are counted.
const OTHER: &str = "other";

#[derive(Debug)]
pub(super) struct ControllerMetrics {
    arm: String,
    children: Children,
    /// Window and limit of a law that has them.
    window: Option<[Gauge; 2]>,
    /// The gauges that show each vital seen so far.
    vitals: Vec<(&'static str, Vec<Gauge>)>,
    reasons: Vec<&'static str>,
    updates: Vec<UpdateCount>,
    each: UpdateMetrics,
}

#[derive(Debug)]
struct UpdateCount {
    direction: &'static str,
    reason: &'static str,
    count: IntCounter,
}

impl ControllerMetrics {
    pub(super) fn new(children: &Children, label: &ArmLabel) -> Self {
        let arm = label.name.as_str();
        let gauge = |metric: Metric| children.gauge(&metric, &[arm]);
        Self {
            arm: arm.to_owned(),
            children: children.clone(),
            window: label.has_window.then(|| [names::WINDOW, names::LIMIT].map(gauge)),
            vitals: Vec::new(),
            reasons: Vec::new(),
            updates: Vec::new(),
            each: UpdateMetrics::new(children, label),
        }
    }

    pub(super) fn updated(&mut self, update: &Update, vitals: &Vitals) {
        if let Some([window, limit]) = &self.window {
            window.set(update.new);
            limit.set(update.limit as f64);
        }
        self.each.updated(update, vitals);
        for vital in vitals {
            self.gauges(vital.name).iter().for_each(|gauge| gauge.set(vital.value));
        }
        let reason = self.bounded(update.reason);
        self.count(update.direction(), reason).inc();
    }

    fn gauges(&mut self, vital: &'static str) -> &[Gauge] {
        let known = self.vitals.iter().position(|&(name, _)| name == vital);
        let index = known.unwrap_or_else(|| {
            self.vitals.push((vital, self.show(vital)));
            self.vitals.len() - 1
        });
        &self.vitals[index].1
    }

    /// Every vital is shown as such. The common ones also have metrics with a unit.
    fn show(&self, vital: &str) -> Vec<Gauge> {
        let gauge = |metric: &Metric, labels: &[&str]| self.children.gauge(metric, labels);
        let arm = self.arm.as_str();
        let common = names::of_vital(vital).map(|(metric, kind)| {
            let labels: Vec<_> = [arm].into_iter().chain(kind).collect();
            gauge(&metric, &labels)
        });
        [gauge(&names::VITAL, &[arm, vital])].into_iter().chain(common).collect()
    }

    fn bounded(&mut self, reason: &'static str) -> &'static str {
        if self.reasons.contains(&reason) {
            return reason;
        }
        if self.reasons.len() == MAX_REASONS {
            return OTHER;
        }
        self.reasons.push(reason);
        reason
    }

    fn count(&mut self, direction: &'static str, reason: &'static str) -> &IntCounter {
        let same = |seen: &UpdateCount| seen.direction == direction && seen.reason == reason;
        let index = self.updates.iter().position(same).unwrap_or_else(|| {
            let labels = [self.arm.as_str(), direction, reason];
            let count = self.children.counter(&names::UPDATES, &labels);
            self.updates.push(UpdateCount { direction, reason, count });
            self.updates.len() - 1
        });
        &self.updates[index].count
    }
}
