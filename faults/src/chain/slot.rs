//! One toxic's place in a chain.

use super::held::{Held, Output};
use super::{Item, Payload};
use crate::control::{ActiveToxic, ProxyFaults, ToxicId};
use crate::toxic::Stage;
use rand::RngExt as _;
use testbed_core::quantity::Share;
use testbed_core::rng::Rng;
use testbed_core::time::Time;

/// A toxic at work, with what it holds. Each has its own chance, so that a toxic added beside it
/// doesn't change what it draws.
#[derive(Debug)]
pub(super) struct Slot<P> {
    /// `None` once the toxic is removed; the place stays until it holds nothing.
    toxic: Option<ToxicId>,
    version: u64,
    stage: Stage,
    /// Whether toxicity struck. If not, all passes.
    strikes: bool,
    held: Held<P>,
    /// Whether the end has come in or was made here; what comes after it is dropped.
    ended: bool,
    rng: Rng,
}

impl<P: Payload> Slot<P> {
    /// The toxic starts on this link at `now`.
    pub(super) fn start(now: Time, toxic: &ActiveToxic, mut rng: Rng) -> Self {
        let strikes = strikes(toxic.toxic.toxicity, &mut rng);
        let mut stage = toxic.toxic.kind.stage();
        stage.start(toxic.added, now);
        let (held, version) = (Held::new(), toxic.version);
        Self { toxic: Some(toxic.id), version, stage, strikes, held, ended: false, rng }
    }

    /// Whether this is the place of that toxic.
    pub(super) fn runs(&self, id: ToxicId) -> bool {
        self.toxic == Some(id)
    }

    /// Whether the toxic acts on this link.
    pub(super) const fn strikes(&self) -> bool {
        self.strikes
    }

    /// Follows at `now` what became of its toxic; the bytes that were dropped by that.
    pub(super) fn follow(&mut self, now: Time, faults: &ProxyFaults) -> u64 {
        match self.toxic.and_then(|id| faults.find(id)) {
            Some(toxic) if toxic.version != self.version => self.update(now, toxic),
            Some(_) => 0,
            None => self.remove(now),
        }
    }

    fn update(&mut self, now: Time, toxic: &ActiveToxic) -> u64 {
        self.version = toxic.version;
        if !self.stage.is(&toxic.toxic.kind) {
            self.stop(now);
        }
        self.stage.update(&toxic.toxic.kind);
        self.stage.start(toxic.added, now);
        self.strikes = strikes(toxic.toxic.toxicity, &mut self.rng);
        self.enter_anew(now)
    }

    fn remove(&mut self, now: Time) -> u64 {
        self.stop(now);
        self.toxic = None;
        self.strikes = false;
        self.enter_anew(now)
    }

    /// The kind of toxic that is here is gone.
    fn stop(&mut self, now: Time) {
        if self.strikes && self.stage.removal_closes() {
            self.close(now);
        }
    }

    /// What was promised no time gets one, or is let go.
    fn enter_anew(&mut self, now: Time) -> u64 {
        let waiting = self.held.take_unpromised();
        // An end that has left has nothing behind it: if something waits, so does the end.
        self.ended &= waiting.is_empty();
        waiting.into_iter().map(|(_, item)| self.enter(now, item)).sum()
    }

    /// An item comes in at `at`; how many of its bytes were dropped.
    pub(super) fn enter(&mut self, at: Time, item: Item<P>) -> u64 {
        self.expire(at);
        let bytes = item.bytes();
        if self.ended {
            return bytes;
        }
        let mut out = Output::new(&mut self.held, &mut self.rng);
        if self.strikes {
            self.stage.enter(at, item, &mut out);
        } else {
            out.release(at, item);
        }
        let (passed, ended) = out.outcome();
        self.ended = ended;
        bytes - passed
    }

    /// When the toxic ends the link if nothing comes in before.
    pub(super) fn closes_at(&self) -> Option<Time> {
        if self.strikes && !self.ended { self.stage.closes_at() } else { None }
    }

    /// Ends the link if it is time to; whether it was.
    pub(super) fn expire(&mut self, now: Time) -> bool {
        let due = self.closes_at().filter(|at| *at <= now);
        due.into_iter().for_each(|at| self.close(at));
        due.is_some()
    }

    fn close(&mut self, at: Time) {
        if !self.ended {
            self.held.push(at, Item::Eof);
            self.ended = true;
        }
    }

    /// Lets go of all that it holds; how many bytes that were.
    pub(super) fn discard(&mut self) -> u64 {
        self.held.discard()
    }

    /// The next item that may go on at `now`, and since when.
    pub(super) fn pop_due(&mut self, now: Time) -> Option<(Time, Item<P>)> {
        self.held.pop_due(now)
    }

    /// When the next item may go on.
    pub(super) fn next_due(&self) -> Option<Time> {
        self.held.next_due()
    }

    /// Whether another item may come in.
    pub(super) fn has_room(&self) -> bool {
        let capacity = if self.strikes { self.stage.capacity() } else { 1 };
        self.held.len() < capacity
    }

    /// Whether the toxic is gone and so is all that it held.
    pub(super) fn is_drained(&self) -> bool {
        self.toxic.is_none() && self.held.is_empty()
    }
}

/// One draw of toxicity; certain at 0 % and 100 %.
fn strikes(toxicity: Share, rng: &mut Rng) -> bool {
    rng.random::<f64>() < toxicity.get()
}
