//! A link under random steps, and what has to hold whatever they are. The tests of this crate and the
//! fuzz target `chain` share it; each names the parts of the crate for it.

use super::{
    Bandwidth, Bytes, Chain, Item, Latency, LinkRate, Payload, ProxyFaults, Share, Stream, Streams,
    Time, Toxic, ToxicKind, link_rng,
};
use std::ops::Range;

/// One downstream link and its faults, driven as a proxy drives it.
pub(super) struct Link<P = Bytes> {
    pub(super) chain: Chain<P>,
    pub(super) faults: ProxyFaults,
}

impl<P: Payload> Link<P> {
    pub(super) fn new(seed: u64) -> Self {
        let rng = link_rng(&Streams::new(seed), "proxy", 0, Stream::Downstream);
        Self { chain: Chain::new(Stream::Downstream, rng), faults: ProxyFaults::default() }
    }

    pub(super) fn add(&mut self, now: u64, toxic: Toxic) {
        self.change(now, |faults| assert!(faults.add(Time::from_nanos(now), toxic).is_ok()));
    }

    pub(super) fn change(&mut self, now: u64, change: impl FnOnce(&mut ProxyFaults)) {
        change(&mut self.faults);
        self.chain.apply(Time::from_nanos(now), &self.faults);
    }

    pub(super) fn pop(&mut self, now: u64) -> Option<Item<P>> {
        self.chain.pop(Time::from_nanos(now))
    }

    /// Pops at every wake until nothing more comes: (time, item).
    pub(super) fn run(&mut self) -> Vec<(u64, Item<P>)> {
        let mut left = Vec::new();
        let mut wake = self.chain.next_wake();
        while let Some(now) = wake {
            let before = left.len();
            while let Some(item) = self.chain.pop(now) {
                left.push((now.as_nanos(), item));
            }
            wake = self.chain.next_wake();
            assert!(left.len() > before || wake > Some(now), "woken at {now} for nothing");
        }
        left
    }
}

/// Bytes that are told apart by their numbers.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Numbered(pub(super) Range<u64>);

impl Payload for Numbered {
    fn len(&self) -> u64 {
        self.0.end - self.0.start
    }

    fn split_to(&mut self, n: u64) -> Self {
        let cut = self.0.start + n.min(self.len());
        let front = self.0.start..cut;
        self.0.start = cut;
        Self(front)
    }
}

/// What happens to a link.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// So many bytes come, if there is room.
    Push(u64),
    /// What may leave leaves.
    Pop,
    /// So many ns go by.
    Elapse(u64),
    /// A toxic of this toxicity is added.
    Add(ToxicKind, f64),
    /// The toxic at this place is changed, if there is one.
    Update(usize, ToxicKind, f64),
    /// The toxic at this place is removed, if there is one.
    Remove(usize),
}

/// A link, the time, and what went in and came out.
pub(super) struct Bench {
    pub(super) link: Link<Numbered>,
    pub(super) now: u64,
    /// Bytes that went in.
    pub(super) pushed: u64,
    /// Bytes that came out: (time, number).
    pub(super) popped: Vec<(u64, u64)>,
    ends: u64,
    added: usize,
    /// When each byte may come out at the earliest.
    earliest: Vec<u64>,
}

impl Bench {
    pub(super) fn new(seed: u64) -> Self {
        let (link, popped, earliest) = (Link::new(seed), Vec::new(), Vec::new());
        Self { link, now: 0, pushed: 0, popped, ends: 0, added: 0, earliest }
    }

    /// Takes the steps, takes every toxic away, ends the source, and waits for the end.
    pub(super) fn run(mut self, steps: &[Step]) -> Self {
        for step in steps {
            self.step(step);
        }
        self.link.change(self.now, ProxyFaults::clear);
        self.link.chain.push(Time::from_nanos(self.now), Item::Eof);
        for (at, item) in self.link.run() {
            self.record(at.max(self.now), item);
        }
        self
    }

    /// What holds after [`Bench::run`]: every byte came out, in order and not before its time, or
    /// was dropped and counted, and the link ended once. How many were dropped.
    pub(super) fn assert_sound(&mut self) -> u64 {
        let numbers: Vec<u64> = self.popped.iter().map(|(_, number)| *number).collect();
        assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
        let dropped = self.link.chain.take_tally().dropped;
        assert_eq!(numbers.len() as u64 + dropped, self.pushed);
        assert_eq!(self.ends, 1);
        assert_eq!(self.link.chain.next_wake(), None);
        for (at, number) in &self.popped {
            let earliest = self.earliest[*number as usize];
            assert!(*at >= earliest, "byte {number} left at {at}, not {earliest}");
        }
        dropped
    }

    pub(super) fn step(&mut self, step: &Step) {
        match step {
            Step::Push(bytes) => self.push(*bytes),
            Step::Pop => self.pop(),
            Step::Elapse(ns) => self.now = self.now.saturating_add(*ns),
            Step::Add(kind, share) => self.add(kind.clone(), *share),
            Step::Update(n, kind, share) => self.update(*n, kind.clone(), *share),
            Step::Remove(n) => self.remove(*n),
        }
    }

    pub(super) fn push(&mut self, bytes: u64) {
        if self.link.chain.can_accept() {
            let chunk = Numbered(self.pushed..self.pushed + bytes);
            self.link.chain.push(Time::from_nanos(self.now), Item::Data(chunk));
            self.pushed += bytes;
            let promised = self.now.saturating_add(self.promised_by_first());
            self.earliest.resize(self.pushed as usize, promised);
        }
    }

    pub(super) fn pop(&mut self) {
        while let Some(item) = self.link.pop(self.now) {
            self.record(self.now, item);
        }
    }

    fn record(&mut self, at: u64, item: Item<Numbered>) {
        match item {
            Item::Data(chunk) => self.popped.extend(chunk.0.map(|number| (at, number))),
            Item::Eof | Item::Reset => self.ends += 1,
        }
    }

    pub(super) fn add(&mut self, kind: ToxicKind, share: f64) {
        let name = format!("toxic-{}", self.added);
        self.added += 1;
        let toxicity = Share::new(share).unwrap();
        let toxic = Toxic { name: Some(name), toxicity, ..Toxic::new(kind) };
        self.link.add(self.now, toxic);
    }

    fn name(&self, n: usize) -> Option<String> {
        self.link.faults.toxics().get(n).map(|active| active.toxic.name().into_owned())
    }

    fn update(&mut self, n: usize, kind: ToxicKind, share: f64) {
        if let Some(name) = self.name(n) {
            let share = Share::new(share).unwrap();
            self.link.change(self.now, |faults| faults.update(&name, share, kind).unwrap());
        }
    }

    /// The least delay of what is pushed now: that of the toxic added first, while it is there and
    /// certain to strike.
    fn promised_by_first(&self) -> u64 {
        let first = self.link.faults.toxics().first().map(|active| &active.toxic);
        match first.filter(|toxic| toxic.name() == "toxic-0" && toxic.toxicity == Share::ALL) {
            Some(Toxic { kind: ToxicKind::Latency(Latency { latency, jitter }), .. }) => {
                latency.minus(*jitter).get()
            }
            Some(Toxic { kind: ToxicKind::Wave(wave), .. }) => wave.low.get(),
            Some(Toxic { kind: ToxicKind::Bandwidth(Bandwidth { rate }), .. })
                if *rate > LinkRate::ZERO =>
            {
                rate.time_for(1).get()
            }
            _ => 0,
        }
    }

    fn remove(&mut self, n: usize) {
        if let Some(name) = self.name(n) {
            self.link.change(self.now, |faults| drop(faults.remove(&name).unwrap()));
        }
    }
}
