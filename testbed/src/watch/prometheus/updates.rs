//! What a controller computes at each of its updates. A gauge is looked at now and then; most of what a
//! law does happens in between.

use super::ArmLabel;
use super::children::Children;
use super::names;
use prometheus::Histogram;
use testbed_core::control::Update;
use testbed_core::vitals::Vitals;

/// The values at every update of one arm, as histograms.
#[derive(Debug)]
pub(super) struct UpdateMetrics {
    arm: String,
    children: Children,
    /// Of a law that has one.
    window: Option<Histogram>,
    /// Only of a law that has one, from its first on.
    gradient: Option<Histogram>,
}

impl UpdateMetrics {
    pub(super) fn new(children: &Children, label: &ArmLabel) -> Self {
        let arm = label.name.as_str();
        let window = || children.histogram(&names::UPDATE_WINDOW, &[arm]);
        Self {
            arm: arm.to_owned(),
            children: children.clone(),
            window: label.has_window.then(window),
            gradient: None,
        }
    }

    pub(super) fn updated(&mut self, update: &Update, vitals: &Vitals) {
        self.window.iter().for_each(|window| window.observe(update.new));
        if let Some(gradient) = vitals.get("gradient") {
            let (children, arm) = (&self.children, &self.arm);
            let make = || children.histogram(&names::UPDATE_GRADIENT, &[arm]);
            self.gradient.get_or_insert_with(make).observe(gradient);
        }
    }
}
