//! What a page shows of a run that goes on: everything that was told of it, thinned to a bounded size.

use super::read::{enter, seconds, switch};
use super::regimes::{RegimeSpan, change};
use super::thin::Thin;
use super::{Curve, GRADIENT, Page, Span, WAITING};
use crate::serve::wire::Message;
use crate::verdict::standing::Standing;
use crate::watch::series::{Counted, PerRequest, Sampled, WINDOW};
use crate::watch::view::ArmSnapshot;
use indexmap::IndexMap;
use std::collections::BTreeMap;

const BYTES_PER_MIB: f64 = 1_048_576.0;

/// The messages of a run so far, as curves and spans.
#[derive(Clone, Debug, Default)]
pub(crate) struct Past {
    phases: Vec<Span>,
    faults: Vec<Span>,
    regimes: Vec<RegimeSpan>,
    /// By their places, as they were told last.
    standing: BTreeMap<usize, Standing>,
    /// As they were told last.
    admission_waits: IndexMap<String, Vec<(f64, f64)>>,
    /// By arm and series.
    curves: BTreeMap<(String, &'static str), Thin>,
    end_s: f64,
    /// How many messages there were.
    told: u64,
}

impl Past {
    /// Takes in what a message says.
    pub(crate) fn note(&mut self, message: &Message) {
        self.told += 1;
        match message {
            Message::Phase { t_ns, phase } => {
                let t = self.reach(*t_ns);
                enter(&mut self.phases, phase, t);
            }
            Message::Fault { t_ns, fault, on } => {
                let t = self.reach(*t_ns);
                switch(&mut self.faults, fault, *on, t);
            }
            Message::States { t_ns, arms } => {
                let t = self.reach(*t_ns);
                arms.iter().for_each(|(arm, state)| self.sample(t, arm, state));
            }
            Message::Regime { t_ns, arm, regime } => {
                let t = self.reach(*t_ns);
                change(&mut self.regimes, arm, regime, t);
            }
            Message::Standing { t_ns, expectations } => {
                self.reach(*t_ns);
                self.standing.extend(expectations.iter().cloned());
            }
            Message::AdmissionWaits { t_ns, arms } => {
                self.reach(*t_ns);
                self.admission_waits.clone_from(arms);
            }
            Message::Run(_) | Message::Waiting { .. } | Message::Dropped | Message::End(_) => {}
        }
    }

    fn reach(&mut self, t_ns: u64) -> f64 {
        self.end_s = seconds(t_ns);
        self.end_s
    }

    fn sample(&mut self, t: f64, arm: &str, state: &ArmSnapshot) {
        for (series, value) in values(state) {
            self.curves.entry((arm.to_owned(), series)).or_default().push(t, value);
        }
    }

    /// Puts it into the page of its run.
    pub(super) fn fill(self, page: &mut Page) {
        let curve =
            |((arm, series), thin): (&(String, &'static str), &Thin)| Curve::of(series, arm, thin);
        page.series = self.curves.iter().map(curve).collect();
        (page.phases, page.faults, page.regimes) = (self.phases, self.faults, self.regimes);
        (page.standing, page.admission_waits) = (self.standing, self.admission_waits);
        (page.end_s, page.told) = (self.end_s, self.told);
    }
}

/// What a state says of series, as `series.csv` calls them. `testbed/web/live.js` has the same list.
fn values(state: &ArmSnapshot) -> Vec<(&'static str, f64)> {
    let named = |series: Sampled| series.info().name;
    match *state {
        ArmSnapshot::Calls {
            window,
            gradient,
            in_flight,
            waiting,
            goodput_per_s,
            latency_s,
            ..
        } => {
            let always = [
                (named(Sampled::InFlight), f64::from(in_flight)),
                (named(Sampled::Waiting), f64::from(waiting)),
                (named(Sampled::Goodput), goodput_per_s),
            ];
            let latency = PerRequest::Latency.info().name;
            let known = [(WINDOW, window), (GRADIENT, gradient), (latency, latency_s)];
            let known = known.into_iter().filter_map(|(series, value)| Some((series, value?)));
            always.into_iter().chain(known).collect()
        }
        ArmSnapshot::Downloads { waiting, oldest_ns, mib_per_s, granted_bytes, .. } => vec![
            (Counted::Granted.info().name, granted_bytes as f64),
            (WAITING, f64::from(waiting)),
            (named(Sampled::OldestAge), seconds(oldest_ns)),
            (named(Sampled::Throughput), mib_per_s * BYTES_PER_MIB),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn states(t_ns: u64, json: &str) -> Message {
        Message::States { t_ns, arms: serde_json::from_str(json).unwrap() }
    }

    #[test]
    fn what_was_told_becomes_curves_and_spans() {
        let mut past = Past::default();
        let calls = r#"{"a":{"window":2.5,"limit":2,"gradient":null,"in_flight":1,"waiting":3,"goodput_per_s":4.0,"latency_s":0.25}}"#;
        let downloads = r#"{"b":{"waiting":7,"oldest_ns":500000000,"mib_per_s":2.0,"granted_bytes":9,"tasks_done":0}}"#;
        for message in [
            Message::Phase { t_ns: 0, phase: "calm".into() },
            states(1_000_000_000, calls),
            Message::Phase { t_ns: 2_000_000_000, phase: "storm".into() },
            Message::Fault { t_ns: 2_000_000_000, fault: "f".into(), on: true },
            states(3_000_000_000, downloads),
            Message::Fault { t_ns: 4_000_000_000, fault: "f".into(), on: false },
        ] {
            past.note(&message);
        }
        let mut page = Page::default();
        past.fill(&mut page);
        let span = |name: &str, from_s, to_s| Span { name: name.into(), from_s, to_s };
        assert_eq!(page.phases, [span("calm", 0.0, Some(2.0)), span("storm", 2.0, None)]);
        assert_eq!(page.faults, [span("f", 2.0, Some(4.0))]);
        assert_eq!((page.end_s, page.told), (4.0, 6));
        let curves: Vec<_> = page
            .series
            .iter()
            .map(|curve| (&*curve.arm, &*curve.series, curve.t[0], curve.v[0]))
            .collect();
        assert_eq!(
            curves,
            [
                ("a", "admission.in_flight", 1.0, 1.0),
                ("a", "admission.waiting", 1.0, 3.0),
                ("a", "controller.window", 1.0, 2.5),
                ("a", "rpc.goodput", 1.0, 4.0),
                ("a", "rpc.latency", 1.0, 0.25),
                ("b", "download.granted", 3.0, 9.0),
                ("b", "limiter.oldest_age", 3.0, 0.5),
                ("b", "limiter.throughput", 3.0, 2_097_152.0),
                ("b", "limiter.waiting", 3.0, 7.0),
            ]
        );
    }

    #[test]
    fn an_hour_at_ten_a_second_is_no_more_than_a_curve_may_have() {
        let mut past = Past::default();
        let state = r#"{"b":{"waiting":7,"oldest_ns":5,"mib_per_s":2.0,"tasks_done":0}}"#;
        (0..36_000).for_each(|tick| past.note(&states(tick * 100_000_000, state)));
        let mut page = Page::default();
        past.fill(&mut page);
        assert!(page.series.iter().all(|curve| curve.t.len() <= super::super::POINTS_MAX));
        assert_eq!(page.told, 36_000);
    }
}
