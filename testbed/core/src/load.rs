//! Load: who offers requests, and when. Pure: it is told the time and says when to ask again.
//!
//! Closed load is clients that wait for their answer: it can never ask for more than there are
//! clients. Open load arrives on a schedule of its own: it does not wait, so queues can grow. A
//! finite input is all at hand at the start.

pub mod pace;
pub mod varying;

use crate::client::Classes;
use crate::control::Invalid;
use crate::distribution::Distribution;
use crate::request::{Arrival, Class};
use crate::rng::{Rng, Streams};
use crate::time::{Nanos, Time};
use crate::trace::Trace;
use pace::{Pace, PaceConfig};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A load as a file writes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LoadConfig {
    /// Clients that each wait for their answer, think, and ask again.
    Closed(Closed),
    /// Arrivals on a schedule that does not wait for answers.
    Open(PaceConfig),
    /// A finite input, all at hand at the start.
    Input(Input),
}

impl LoadConfig {
    /// The trace in it and its place below the load, if there is one.
    pub fn trace_mut(&mut self) -> Option<(&'static str, &mut Trace)> {
        match self {
            Self::Open(PaceConfig::Trace(trace)) => Some(("open/trace", trace)),
            Self::Closed(Closed { think: Some(think), .. }) => {
                think.trace_mut().map(|trace| ("closed/think/trace", trace))
            }
            Self::Open(_) | Self::Closed(_) | Self::Input(_) => None,
        }
    }

    /// Settings that an experiment file should not contain, by their places below the load.
    pub fn invalid(&self) -> Vec<(String, Invalid)> {
        match self {
            Self::Open(pace) => {
                let at = format!("open/{}", pace.name());
                pace.invalid().into_iter().map(|invalid| (at.clone(), invalid)).collect()
            }
            Self::Closed(Closed { think: Some(think), .. }) => {
                let at = "closed/think".to_owned();
                think.invalid().into_iter().map(|invalid| (at.clone(), invalid)).collect()
            }
            Self::Closed(_) | Self::Input(_) => Vec::new(),
        }
    }
}

/// Settings of a closed load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Closed {
    /// How many clients, 1 or more.
    #[schemars(range(min = 1, max = 100_000))]
    pub clients: u32,
    /// From an answer to the client's next request; none, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub think: Option<Distribution>,
}

/// Settings of a finite input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// How many requests it has, 1 or more.
    #[schemars(range(min = 1, max = 10_000_000))]
    pub requests: u64,
    /// What happens to the rest once the input has ended.
    #[serde(default)]
    pub end_of_input: EndOfInput,
}

/// What a caller does with the rest of its requests when there is no more input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EndOfInput {
    /// They go as the window allows.
    #[default]
    Gated,
    /// They are all sent at once, whatever the window says (Velox's `noMoreInput` before the gate).
    Flush,
}

/// The running load of one arm.
#[derive(Debug)]
pub struct Load {
    source: Source,
    classes: Classes,
    next_id: u64,
}

#[derive(Debug)]
enum Source {
    Closed { think: Option<Distribution>, rng: Rng, due: BinaryHeap<Reverse<(Time, u64, u32)>> },
    Open { pace: Box<dyn Pace>, rng: Rng, next: Time },
    Input { requests: u64, ended: u64, end_of_input: EndOfInput },
}

impl Load {
    /// A load at its beginning, of requests of these classes. It draws from the streams `arrivals`
    /// and `think`.
    pub fn new(config: &LoadConfig, classes: Classes, streams: &Streams) -> Self {
        let source = match config {
            LoadConfig::Closed(Closed { clients, think }) => Source::Closed {
                think: think.clone(),
                rng: streams.stream("think"),
                due: (0..*clients)
                    .map(|client| Reverse((Time::ZERO, u64::from(client), client)))
                    .collect(),
            },
            LoadConfig::Open(config) => {
                let (mut pace, mut rng) = (config.build(), streams.stream("arrivals"));
                let next = pace.next(&mut rng);
                Source::Open { pace, rng, next }
            }
            LoadConfig::Input(Input { requests, end_of_input }) => {
                Source::Input { requests: *requests, ended: 0, end_of_input: *end_of_input }
            }
        };
        Self { source, classes, next_id: 0 }
    }

    /// When the next request is planned.
    pub fn next_wake(&self) -> Option<Time> {
        match &self.source {
            Source::Closed { due, .. } => due.peek().map(|Reverse((at, ..))| *at),
            Source::Open { next, .. } => Some(*next).filter(|next| *next < Time::NEVER),
            Source::Input { requests, .. } => (self.next_id < *requests).then_some(Time::ZERO),
        }
    }

    /// The next request that is due at `now`; ask until there is none.
    pub fn take(&mut self, now: Time) -> Option<Arrival> {
        let planned = self.next_wake().filter(|planned| *planned <= now)?;
        let id = self.next_id;
        self.next_id += 1;
        let (client, class) = self.pass();
        let class = class.unwrap_or_else(|| self.classes.draw());
        Some(Arrival { class, ..Arrival::new(id, client, planned) })
    }

    /// Goes on to the request after the next; whose that is, and its class if the source has it.
    fn pass(&mut self) -> (u32, Option<Class>) {
        match &mut self.source {
            Source::Closed { due, .. } => {
                (due.pop().map_or(0, |Reverse((.., client))| client), None)
            }
            Source::Open { pace, rng, next } => {
                let class = pace.class();
                *next = pace.next(rng);
                (0, class)
            }
            Source::Input { .. } => (0, None),
        }
    }

    /// A request of `client` ended, well or badly.
    pub fn on_end(&mut self, now: Time, client: u32) {
        match &mut self.source {
            Source::Closed { think, rng, due } => {
                let think = think.as_ref().map_or(Nanos::ZERO, |think| think.draw(rng));
                due.push(Reverse((now.after(think), self.next_id + due.len() as u64, client)));
            }
            Source::Open { .. } => {}
            Source::Input { ended, .. } => *ended += 1,
        }
    }

    /// Whether what still waits may now pass the gate whatever the window says.
    pub fn flushes(&self) -> bool {
        match &self.source {
            Source::Input { requests, end_of_input, .. } => {
                *end_of_input == EndOfInput::Flush && self.next_id == *requests
            }
            _ => false,
        }
    }

    /// Whether every request that this load will ever offer has ended.
    pub fn is_done(&self) -> bool {
        matches!(&self.source, Source::Input { requests, ended, .. } if ended == requests)
    }

    /// Requests offered so far.
    pub const fn offered(&self) -> u64 {
        self.next_id
    }
}
