//! The settings of a backend.

use super::backlog::{Discipline, Expired};
use super::body::BodySize;
use super::contention::Contention;
use crate::control::Invalid;
use crate::distribution::Distribution;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A backend as a file writes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServiceConfig {
    /// Requests it works on at a time, 1 or more.
    #[schemars(range(min = 1))]
    pub servers: u32,
    /// How long a server works on one request.
    pub service: Distribution,
    /// How those at work at the same time get in each other's way.
    #[serde(default, skip_serializing_if = "Contention::is_none")]
    pub contention: Contention,
    /// Requests that may wait for a server; beyond it, 503.
    #[serde(default = "backlog")]
    pub backlog: u32,
    /// In which order those are served.
    #[serde(default)]
    pub queue: Discipline,
    /// What becomes of those whose client has given up meanwhile.
    #[serde(default)]
    pub expired: Expired,
    /// How long the bodies of its answers are.
    #[serde(default, skip_serializing_if = "BodySize::is_default")]
    pub body: BodySize,
}

impl ServiceConfig {
    /// So many servers with a backlog that is first come, first served.
    pub fn new(servers: u32, service: Distribution, backlog: u32) -> Self {
        let (queue, expired, body) = (Discipline::Fifo, Expired::Serve, BodySize::default());
        let contention = Contention::default();
        Self { servers, service, contention, backlog, queue, expired, body }
    }

    /// The most requests a second that so many servers can do, by the utilisation law, with as many of them
    /// at work as do the most; infinite if service takes no time.
    pub fn capacity(&self, servers: u32) -> f64 {
        let at_work = self.contention.best(servers);
        let service = self.service.mean().as_secs_f64() * self.contention.factor(at_work);
        f64::from(at_work) / service
    }

    /// Settings that an experiment file should not contain, by their places below the backend.
    pub fn invalid(&self) -> Vec<(&'static str, Invalid)> {
        let codel = match self.queue {
            Discipline::Codel(codel) => codel.invalid(),
            Discipline::Fifo | Discipline::Lifo | Discipline::Fair(_) => None,
        };
        let queue = codel.map(|invalid| ("queue/codel", invalid));
        let service = self.service.invalid().into_iter().map(|invalid| ("service", invalid));
        let body = self.body.invalid().map(|invalid| ("body", invalid));
        let contention = self.contention.invalid().map(|invalid| ("contention", invalid));
        queue.into_iter().chain(service).chain(contention).chain(body).collect()
    }
}

const fn backlog() -> u32 {
    100_000
}
