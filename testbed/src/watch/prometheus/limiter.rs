//! The metrics of one arm's limiter. Its vitals, whether it has a global bucket, and whether it counts its
//! looks, are known only once they are seen.

use super::children::Children;
use super::conservation::Tokens;
use super::names;
use super::together::Joint;
use crate::watch::progress::wakes_per_grant;
use prometheus::Gauge;
use testbed_core::limit::levels::Stock;
use testbed_core::vitals::Vitals;

#[derive(Debug)]
pub(super) struct LimiterMetrics {
    arm: String,
    children: Children,
    /// The gauge of each vital seen so far.
    vitals: Vec<(&'static str, Gauge)>,
    tokens: Option<Gauge>,
    stocks: Option<Joint<Tokens>>,
    wakes_per_grant: Option<Gauge>,
}

impl LimiterMetrics {
    pub(super) fn new(children: &Children, arm: &str) -> Self {
        Self {
            arm: arm.to_owned(),
            children: children.clone(),
            vitals: Vec::new(),
            tokens: None,
            stocks: None,
            wakes_per_grant: None,
        }
    }

    pub(super) fn looked(
        &mut self,
        vitals: &Vitals,
        tokens: Option<f64>,
        stocks: &[Option<Stock>; 3],
    ) {
        for vital in vitals {
            self.vital(vital.name).set(vital.value);
        }
        if let Some(tokens) = tokens {
            self.tokens().set(tokens);
        }
        self.stocked(Tokens(*stocks));
        if let Some(ratio) = wakes_per_grant(vitals) {
            self.wakes_per_grant().set(ratio);
        }
    }

    fn vital(&mut self, vital: &'static str) -> &Gauge {
        let known = self.vitals.iter().position(|&(name, _)| name == vital);
        let index = known.unwrap_or_else(|| {
            let gauge = self.children.gauge(&names::LIMITER_VITAL, &[&self.arm, vital]);
            self.vitals.push((vital, gauge));
            self.vitals.len() - 1
        });
        &self.vitals[index].1
    }

    fn stocked(&mut self, tokens: Tokens) {
        let (children, arm) = (&self.children, &self.arm);
        let stocks = self.stocks.get_or_insert_with(|| Tokens::joint(children, arm, tokens));
        stocks.change(|last| *last = tokens);
    }

    fn tokens(&mut self) -> &Gauge {
        let (children, arm) = (&self.children, &self.arm);
        self.tokens.get_or_insert_with(|| children.gauge(&names::LIMITER_TOKENS, &[arm]))
    }

    fn wakes_per_grant(&mut self) -> &Gauge {
        let (children, arm) = (&self.children, &self.arm);
        self.wakes_per_grant.get_or_insert_with(|| children.gauge(&names::WAKES_PER_GRANT, &[arm]))
    }
}
