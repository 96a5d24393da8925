//! One direction of one connection: its toxics in a row, and what each of them holds back.
//!
//! Pure: the chain is told the time, and says what may leave and when to ask again.

mod held;
mod payload;
mod slot;

pub(crate) use held::Output;
pub use payload::Payload;

use crate::control::ProxyFaults;
use crate::toxic::Stream;
use held::Held;
use rand::SeedableRng as _;
use slot::Slot;
use testbed_core::rng::Rng;
use testbed_core::time::Time;

/// What travels along a link.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Item<P> {
    /// A chunk of bytes.
    Data(P),
    /// The end of the link; nothing comes after it.
    Eof,
}

/// The toxics on one direction of one connection, in order of addition.
///
/// Three things hold whatever is added, changed or removed meanwhile: no byte is lost, order is
/// kept, and an item that has entered a toxic never leaves it before the time set on entry. The
/// last is for controllers that track a minimum RTT: one early answer would mislead them for long.
///
/// Who drives a chain pushes while [`Chain::can_accept`], pops until nothing may leave, and comes
/// back at [`Chain::next_wake`].
#[derive(Debug)]
pub struct Chain<P> {
    stream: Stream,
    toxics: Vec<Slot<P>>,
    /// What has passed every toxic.
    exit: Held<P>,
    rng: Rng,
}

impl<P: Payload> Chain<P> {
    /// A chain without toxics for one direction; `rng` is the source of all its chance.
    pub const fn new(stream: Stream, rng: Rng) -> Self {
        Self { stream, toxics: Vec::new(), exit: Held::new(), rng }
    }

    /// Makes the toxics of this direction those of `faults`, from `now` on. Whether toxicity
    /// strikes is drawn for each toxic that is new or changed. What may leave at `now` has left
    /// before the change; what a removed or changed toxic holds keeps its time.
    pub fn apply(&mut self, now: Time, faults: &ProxyFaults) {
        self.advance(now);
        for slot in &mut self.toxics {
            slot.follow(faults);
        }
        for toxic in faults.on(self.stream) {
            if !self.toxics.iter().any(|slot| slot.runs(toxic.id)) {
                self.toxics.push(Slot::start(toxic, Rng::from_rng(&mut self.rng)));
            }
        }
        self.forget_drained();
    }

    /// An item enters at `now`. It is taken even when [`Chain::can_accept`] is false: keeping to
    /// that is what bounds the chain.
    pub fn push(&mut self, now: Time, item: Item<P>) {
        self.enter(0, now, item);
    }

    /// The next item that may leave at `now`.
    pub fn pop(&mut self, now: Time) -> Option<Item<P>> {
        if self.exit.is_empty() {
            self.advance(now);
        }
        self.exit.pop_due(now).map(|(_, item)| item)
    }

    /// When an item may leave next; `None` if nothing will without a push.
    pub fn next_wake(&self) -> Option<Time> {
        let movable = |place: &usize| self.has_room(place + 1);
        let of_toxics = || {
            let places = (0..self.toxics.len()).filter(movable);
            places.filter_map(|place| self.toxics[place].next_due()).min()
        };
        self.exit.next_due().or_else(of_toxics).filter(|at| *at < Time::NEVER)
    }

    /// Whether there is room for another item, as of the last pop.
    pub fn can_accept(&self) -> bool {
        self.toxics.first().map_or(self.exit.is_empty(), Slot::has_room)
    }

    /// Whether there is no toxic and nothing is held: an item pushed now would be popped now.
    pub fn is_plain(&self) -> bool {
        self.toxics.is_empty() && self.exit.is_empty()
    }

    /// Moves every item on as far as it may go at `now`.
    fn advance(&mut self, now: Time) {
        let mut moved = false;
        while self.advance_once(now) {
            moved = true;
        }
        if moved {
            self.forget_drained();
        }
    }

    /// Moves items one place on, the last place first so that each makes room for the one before.
    fn advance_once(&mut self, now: Time) -> bool {
        let mut moved = false;
        for place in (0..self.toxics.len()).rev() {
            while self.has_room(place + 1)
                && let Some((due, item)) = self.toxics[place].pop_due(now)
            {
                self.enter(place + 1, due, item);
                moved = true;
            }
        }
        moved
    }

    /// Puts an item into the toxic at `place`, or behind the last. It enters at the time at which
    /// it left the toxic before, so that delays add up exactly however late the chain is woken.
    fn enter(&mut self, place: usize, at: Time, item: Item<P>) {
        match self.toxics.get_mut(place) {
            Some(slot) => slot.enter(at, item),
            None => self.exit.push(at, item),
        }
    }

    fn has_room(&self, place: usize) -> bool {
        self.toxics.get(place).is_none_or(Slot::has_room)
    }

    /// Takes out the toxics that were removed and hold nothing any more.
    fn forget_drained(&mut self) {
        self.toxics.retain(|slot| !slot.is_drained());
    }
}

#[cfg(test)]
mod tests;
