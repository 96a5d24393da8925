//! The settings of a backend.

use super::backlog::{Discipline, Expired};
use super::body::BodySize;
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
        Self { servers, service, backlog, queue, expired, body }
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
        queue.into_iter().chain(service).chain(body).collect()
    }
}

const fn backlog() -> u32 {
    100_000
}
