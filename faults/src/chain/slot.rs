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
    rng: Rng,
}

impl<P: Payload> Slot<P> {
    /// The toxic starts on this link.
    pub(super) fn start(toxic: &ActiveToxic, mut rng: Rng) -> Self {
        Self {
            toxic: Some(toxic.id),
            version: toxic.version,
            stage: toxic.toxic.kind.stage(),
            strikes: strikes(toxic.toxic.toxicity, &mut rng),
            held: Held::new(),
            rng,
        }
    }

    /// Whether this is the place of that toxic.
    pub(super) fn runs(&self, id: ToxicId) -> bool {
        self.toxic == Some(id)
    }

    /// Follows what became of its toxic.
    pub(super) fn follow(&mut self, faults: &ProxyFaults) {
        match self.toxic.and_then(|id| faults.find(id)) {
            Some(toxic) if toxic.version != self.version => self.update(toxic),
            Some(_) => {}
            None => self.remove(),
        }
    }

    fn update(&mut self, toxic: &ActiveToxic) {
        self.version = toxic.version;
        self.stage.update(&toxic.toxic.kind);
        self.strikes = strikes(toxic.toxic.toxicity, &mut self.rng);
    }

    fn remove(&mut self) {
        self.toxic = None;
        self.strikes = false;
    }

    /// An item comes in at `at`.
    pub(super) fn enter(&mut self, at: Time, item: Item<P>) {
        let mut out = Output::new(&mut self.held, &mut self.rng);
        if self.strikes {
            self.stage.enter(at, item, &mut out);
        } else {
            out.release(at, item);
        }
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
