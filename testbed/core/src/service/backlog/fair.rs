//! Fair queueing: of the flows that wait, the one goes next that has been worked for least.
//!
//! Source: Kubernetes' API priority and fairness (`fairqueuing/queueset`, `doc.go`), after the fair
//! queueing of Demers, Keshav and Shenker (1989), written from its law. What a request costs is known only at its end:
//!
//! ```text
//! global time   grows by  servers at work / flows that wait or are worked for
//! an idle flow's request arrives:   start = global time
//! a server takes a request of it:   start = start + guess
//! the request has been worked on:   start = start - guess + work
//! next          of the flows that wait, the one of the least start
//! ```
//!
//! A flow that asks for less than its share falls behind global time, and by this law may make up for all
//! of it later, at the cost of the others (kubernetes#95986). The cure: no start is before global time.

use super::Waiting;
use crate::service::http::Request;
use crate::time::{Nanos, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Flows that have a name of their own; requests of others are one flow.
const MAX_FLOWS: usize = 64;

/// Settings of fair queueing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Fair {
    /// What makes requests one flow.
    pub by: By,
    /// Whether a flow's start may be before global time.
    pub start: Start,
    /// What a request costs its flow while it is worked on, since its cost is not known yet.
    pub guess: Nanos,
}

impl Default for Fair {
    /// The guess is Kubernetes' `estimatedServiceDuration`.
    fn default() -> Self {
        Self { by: By::Arm, start: Start::NotBehind, guess: Nanos::from_millis(3) }
    }
}

/// What makes requests one flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// The arm that they are of.
    #[default]
    Arm,
    /// The class of their client.
    Class,
}

/// Whether a flow's start may be before global time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Start {
    /// It is never before it: what a flow has not asked for is not saved up.
    #[default]
    NotBehind,
    /// It may be, as long as the flow is not idle.
    MayLag,
}

/// The flows, and global time.
#[derive(Debug)]
pub(super) struct Flows {
    config: Fair,
    /// The first is that of all who have no name.
    flows: Vec<Flow>,
    /// Servers at work.
    at_work: u32,
    /// Global time, in nanoseconds of work for each flow.
    global_ns: f64,
    /// Until when global time has been worked out.
    until: Time,
}

#[derive(Debug, Default)]
struct Flow {
    name: String,
    /// Nanoseconds of work that it has had, or has not asked for in time.
    start_ns: f64,
    /// Servers that work for it.
    at_work: u32,
    waiting: VecDeque<Waiting>,
}

impl Flow {
    fn is_idle(&self) -> bool {
        self.at_work == 0 && self.waiting.is_empty()
    }
}

impl Flows {
    pub(super) fn new(config: Fair) -> Self {
        let flows = vec![Flow::default()];
        Self { config, flows, at_work: 0, global_ns: 0.0, until: Time::ZERO }
    }

    /// How many wait.
    pub(super) fn len(&self) -> usize {
        self.flows.iter().map(|flow| flow.waiting.len()).sum()
    }

    /// The flow of a request that arrives.
    pub(super) fn arrive(&mut self, now: Time, request: Request<'_>) -> u32 {
        self.advance(now);
        let name = match self.config.by {
            By::Arm => request.arm,
            By::Class => request.class,
        };
        let index = name.map_or(0, |name| self.find(name));
        let flow = &mut self.flows[index];
        if flow.is_idle() {
            flow.start_ns = self.global_ns;
        }
        index as u32
    }

    fn find(&mut self, name: &str) -> usize {
        if let Some(index) = self.flows.iter().position(|flow| flow.name == name) {
            return index;
        }
        if self.flows.len() > MAX_FLOWS {
            return 0;
        }
        self.flows.push(Flow { name: name.to_owned(), ..Flow::default() });
        self.flows.len() - 1
    }

    pub(super) fn push(&mut self, waiting: Waiting) {
        self.flows[waiting.flow as usize].waiting.push_back(waiting);
    }

    /// Takes out the first of the flow whose turn it is; of equals, that of the flow that came first.
    pub(super) fn pop(&mut self, now: Time) -> Option<Waiting> {
        self.advance(now);
        let waiting = (0..self.flows.len()).filter(|flow| !self.flows[*flow].waiting.is_empty());
        let next = waiting.min_by(|a, b| self.start_ns(*a).total_cmp(&self.start_ns(*b)))?;
        self.flows[next].waiting.pop_front()
    }

    fn start_ns(&self, flow: usize) -> f64 {
        let start_ns = self.flows[flow].start_ns;
        match self.config.start {
            Start::MayLag => start_ns,
            Start::NotBehind => start_ns.max(self.global_ns),
        }
    }

    /// A server begins to work for a flow.
    pub(super) fn begin(&mut self, now: Time, flow: u32) {
        self.advance(now);
        let flow = flow as usize;
        self.flows[flow].start_ns = self.start_ns(flow) + self.config.guess.get() as f64;
        self.flows[flow].at_work += 1;
        self.at_work += 1;
    }

    /// A server has worked so long for a flow.
    pub(super) fn end(&mut self, now: Time, flow: u32, work: Nanos) {
        self.advance(now);
        let flow = &mut self.flows[flow as usize];
        flow.start_ns += work.get() as f64 - self.config.guess.get() as f64;
        flow.at_work -= 1;
        self.at_work -= 1;
    }

    /// Takes in how global time has grown, before anything changes at `now`.
    fn advance(&mut self, now: Time) {
        let active = self.flows.iter().filter(|flow| !flow.is_idle()).count().max(1);
        let grown_ns = now.since(self.until).get() as f64 * f64::from(self.at_work);
        self.global_ns += grown_ns / active as f64;
        self.until = self.until.max(now);
    }
}

#[cfg(test)]
mod tests;
