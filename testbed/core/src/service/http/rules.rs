//! Rules at work: which of them decides about a request, and what has been counted.

use super::Rule;
use super::allowed::Allowed;
use super::kind::{HttpFault, Reject};
use super::manner::Manner;
use super::retry_after::RetryAfter;
use super::which::Request;
use crate::rng::Rng;
use crate::time::{Nanos, Time};
use rand::RngExt as _;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a rule has done so far. It survives the rule being switched off and on again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Counts {
    /// Requests that it was done to.
    pub injected: u64,
    /// Requests that it was not done to because as many as may were under it already.
    pub overflow: u64,
    /// Requests that are under it now: arrived, and their answers not over.
    pub active: u32,
}

/// Holds a request's place under its rule; dropped when the answer is over.
#[derive(Debug)]
pub struct Active(#[expect(dead_code, reason = "what counts is how many there are")] Arc<()>);

/// What a rule does to the answer of a request.
#[derive(Debug)]
pub struct Harm {
    /// What its header `Retry-After` says, if it has one.
    pub retry_after: Option<RetryAfter>,
    /// The manner in which it leaves.
    pub manner: Manner,
    /// To be kept until it is over.
    pub active: Active,
}

/// What was decided about a request at its arrival.
#[derive(Debug, Default)]
pub(in crate::service) struct Decided {
    /// The status and age of its rejection.
    pub(in crate::service) rejected: Option<(u16, Nanos)>,
    /// What else is done to its answer.
    pub(in crate::service) harm: Option<Box<Harm>>,
}

/// What is remembered of a name.
#[derive(Debug, Default)]
struct Memory {
    /// Requests that met the conditions of whichever rule had the name.
    met: u64,
    injected: u64,
    overflow: u64,
    /// What a rate lets in.
    allowed: Option<Allowed>,
    /// Shared with every request under the rule.
    active: Arc<()>,
}

/// The rules in force, and the memory of all there were.
#[derive(Debug)]
pub(in crate::service) struct Rules {
    rules: Vec<Rule>,
    memories: BTreeMap<String, Memory>,
    rng: Rng,
    /// Requests that have arrived.
    calls: u64,
}

impl Rules {
    pub(in crate::service) const fn new(rng: Rng) -> Self {
        Self { rules: Vec::new(), memories: BTreeMap::new(), rng, calls: 0 }
    }

    /// Replaces the rules in force. One with a name that was there before goes on with its counts.
    pub(in crate::service) fn set(&mut self, rules: Vec<Rule>) {
        for rule in &rules {
            if !self.memories.contains_key(&rule.name) {
                self.memories.insert(rule.name.clone(), Memory::default());
            }
        }
        self.rules = rules;
    }

    pub(in crate::service) fn in_force(&self) -> &[Rule] {
        &self.rules
    }

    /// The counts of every rule that was ever in force, by name.
    pub(in crate::service) fn counts(&self) -> impl Iterator<Item = (&str, Counts)> {
        self.memories.iter().map(|(name, memory)| (name.as_str(), memory.counts()))
    }

    /// The first rule that matches decides.
    pub(in crate::service) fn decide(&mut self, now: Time, request: Request<'_>) -> Decided {
        let call = self.calls;
        self.calls += 1;
        for rule in &self.rules {
            let which = rule.fault.which();
            if !which.meets(call, request) {
                continue;
            }
            let memory = self.memories.get_mut(&rule.name).expect("a rule in force has a memory");
            memory.met += 1;
            let in_turn = which.every.is_none_or(|every| memory.met.is_multiple_of(every));
            // Drawn only here: a rule that is not for a call does not move the draws of the next.
            if in_turn && self.rng.random::<f64>() < which.share.get() {
                return memory.inject(now, &rule.fault);
            }
        }
        Decided::default()
    }
}

impl Memory {
    fn counts(&self) -> Counts {
        Counts { injected: self.injected, overflow: self.overflow, active: self.active() }
    }

    fn active(&self) -> u32 {
        (Arc::strong_count(&self.active) - 1) as u32
    }

    /// Does it to a request that matches, unless its rule has as many as it may, or its rate lets it in.
    fn inject(&mut self, now: Time, fault: &HttpFault) -> Decided {
        if let HttpFault::Reject(reject) = fault
            && Allowed::let_in(&mut self.allowed, now, reject)
        {
            return Decided::default();
        }
        if fault.which().max_active.is_some_and(|most| self.active() >= most) {
            self.overflow += 1;
            return Decided::default();
        }
        self.injected += 1;
        let (rejected, retry_after) = match fault {
            HttpFault::Reject(Reject { status, after, retry_after, .. }) => {
                (Some((*status, *after)), retry_after.clone())
            }
            _ => (None, None),
        };
        let active = Active(Arc::clone(&self.active));
        let harm = Harm { retry_after, manner: fault.manner(), active };
        Decided { rejected, harm: Some(Box::new(harm)) }
    }
}
