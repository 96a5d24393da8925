//! One direction of one connection: its toxics in a row, and what each of them holds back.
//!
//! Pure: the chain is told the time, and says what may leave and when to ask again.

mod held;
mod payload;
mod slot;
mod tally;

pub(crate) use held::Output;
pub use payload::Payload;
pub use tally::Tally;

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
    /// The end of the connection by a reset of both sides; nothing comes after it.
    Reset,
}

impl<P> Item<P> {
    /// Whether nothing comes after it.
    pub const fn is_end(&self) -> bool {
        matches!(self, Self::Eof | Self::Reset)
    }
}

impl<P: Payload> Item<P> {
    /// Its length in bytes; an end has none.
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Self::Data(chunk) => chunk.len(),
            Self::Eof | Self::Reset => 0,
        }
    }
}

/// The toxics on one direction of one connection, in order of addition.
///
/// Three things hold whatever is added, changed or removed meanwhile: no byte is lost but those that
/// a toxic is there to drop, order is kept, and an item that has entered a toxic never leaves it before the time set on entry. The
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
    /// Whether the end has passed every toxic.
    ended: bool,
    source_ended: bool,
    hit: bool,
    tally: Tally,
    rng: Rng,
}

impl<P: Payload> Chain<P> {
    /// A chain without toxics for one direction; `rng` is the source of all its chance.
    pub const fn new(stream: Stream, rng: Rng) -> Self {
        Self {
            stream,
            toxics: Vec::new(),
            exit: Held::new(),
            ended: false,
            source_ended: false,
            hit: false,
            tally: Tally::NOTHING,
            rng,
        }
    }

    /// Makes the toxics of this direction those of `faults`, from `now` on. Whether toxicity
    /// strikes is drawn for each toxic that is new or changed. What may leave at `now` has left
    /// before the change; what a removed or changed toxic holds keeps its time.
    pub fn apply(&mut self, now: Time, faults: &ProxyFaults) {
        self.advance(now);
        for slot in &mut self.toxics {
            self.tally.dropped += slot.follow(now, faults);
        }
        for toxic in faults.on(self.stream) {
            if !self.toxics.iter().any(|slot| slot.runs(toxic.id)) {
                self.toxics.push(Slot::start(now, toxic, Rng::from_rng(&mut self.rng)));
            }
        }
        self.count_hit();
        self.forget_drained();
    }

    /// An item enters at `now`. It is taken even when [`Chain::can_accept`] is false: keeping to
    /// that is what bounds the chain.
    pub fn push(&mut self, now: Time, item: Item<P>) {
        self.source_ended |= item.is_end();
        let first = if self.ended { self.toxics.len() } else { 0 };
        self.enter(first, now, item);
    }

    /// The next item that may leave at `now`. With the end the chain lets go of all that it holds.
    pub fn pop(&mut self, now: Time) -> Option<Item<P>> {
        if self.exit.is_empty() && !self.ended {
            self.advance(now);
        }
        let (_, item) = self.exit.pop_due(now)?;
        if item.is_end() {
            self.count_end(&item);
            self.discard();
        }
        Some(item)
    }

    /// When an item may leave next; `None` if nothing will without a push.
    pub fn next_wake(&self) -> Option<Time> {
        if self.ended || !self.exit.is_empty() {
            return self.exit.next_due();
        }
        let places = (0..self.toxics.len()).filter(|place| self.has_room(place + 1));
        let moves = places.filter_map(|place| self.toxics[place].next_due());
        let ends = self.toxics.iter().filter_map(Slot::closes_at);
        moves.chain(ends).min().filter(|at| *at < Time::NEVER)
    }

    /// Whether there is room for another item, as of the last pop.
    pub fn can_accept(&self) -> bool {
        !self.ended && self.toxics.first().map_or(self.exit.is_empty(), Slot::has_room)
    }

    /// Whether there is no toxic and nothing is held: an item pushed now would be popped now.
    pub fn is_plain(&self) -> bool {
        self.toxics.is_empty() && self.exit.is_empty() && !self.ended
    }

    /// Whether a toxic acts on the link now: its toxicity has struck, and it has not been removed.
    pub fn is_struck(&self) -> bool {
        self.toxics.iter().any(Slot::strikes)
    }

    /// Lets go of all that is held; it counts as dropped.
    pub fn discard(&mut self) {
        let of_toxics = self.toxics.iter_mut().map(Slot::discard).sum::<u64>();
        self.tally.dropped += of_toxics + self.exit.discard();
    }

    /// What the toxics have done since the last call.
    pub const fn take_tally(&mut self) -> Tally {
        std::mem::replace(&mut self.tally, Tally::NOTHING)
    }

    /// Moves every item on as far as it may go at `now`, and ends the link where it is time to: an
    /// item that was due before comes first.
    fn advance(&mut self, now: Time) {
        let mut moved = false;
        while self.advance_once(now) || self.expire(now) {
            moved = true;
        }
        if moved {
            self.forget_drained();
        }
    }

    fn expire(&mut self, now: Time) -> bool {
        self.toxics.iter_mut().any(|slot| slot.expire(now))
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
            Some(slot) => self.tally.dropped += slot.enter(at, item),
            None if self.ended => self.tally.dropped += item.bytes(),
            None => {
                self.ended = item.is_end();
                self.exit.push(at, item);
            }
        }
    }

    /// Counts the link once a toxic acts on it.
    fn count_hit(&mut self) {
        if !self.hit && self.is_struck() {
            self.hit = true;
            self.tally.links_hit += 1;
        }
    }

    /// Counts an end that a toxic made.
    fn count_end(&mut self, end: &Item<P>) {
        match end {
            Item::Reset => self.tally.resets += 1,
            Item::Eof if !self.source_ended => self.tally.aborts += 1,
            Item::Eof | Item::Data(_) => {}
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
