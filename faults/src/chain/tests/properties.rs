//! What holds under any sequence of pushes, pops and changes.

use super::*;
use crate::toxic::{Bandwidth, LinkRate, ResetPeer, SlowClose, Timeout};
use proptest::prelude::*;
use std::ops::Range;
use testbed_core::quantity::Share;

/// Bytes that are told apart by their numbers.
#[derive(Clone, PartialEq, Debug)]
struct Numbered(Range<u64>);

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

#[derive(Clone, Debug)]
enum Step {
    Push(u64),
    Pop,
    Elapse(u64),
    Add(ToxicKind, f64),
    Update(usize, ToxicKind, f64),
    Remove(usize),
}

/// Kinds that pass on all that they are given.
fn lossless() -> impl Strategy<Value = ToxicKind> {
    let ns = || (0..50_u64).prop_map(Nanos::new);
    prop_oneof![
        (0..50_u64, 0..50_u64).prop_map(|(l, j)| latency(l, j)),
        (1..200_u64).prop_map(|mega| bandwidth(mega * 1_000_000)),
        Just(bandwidth(0)),
        ns().prop_map(|delay| ToxicKind::SlowClose(SlowClose { delay })),
        (1..4_u64, ns()).prop_map(|(size, delay)| slicer(size, size, delay)),
        Just(ToxicKind::Noop(Noop {})),
        any_wave(),
    ]
}

fn any_wave() -> impl Strategy<Value = ToxicKind> {
    let shapes = vec![Shape::Sine, Shape::Triangle, Shape::Sawtooth, Shape::Square];
    let shape = prop::sample::select(shapes);
    (shape, 0..50_u64, 0..50_u64, 1..100_u64)
        .prop_map(|(shape, low, swing, period)| wave(shape, low, low + swing, period))
}

fn kind() -> impl Strategy<Value = ToxicKind> {
    let ns = || (0..50_u64).prop_map(Nanos::new);
    prop_oneof![
        4 => lossless(),
        1 => ns().prop_map(|timeout| ToxicKind::Timeout(Timeout { timeout })),
        1 => ns().prop_map(|timeout| ToxicKind::ResetPeer(ResetPeer { timeout })),
        1 => (0..40_u64).prop_map(limit_data),
        1 => prop::sample::select(ToxicKind::all()),
    ]
}

fn toxicity() -> impl Strategy<Value = f64> {
    prop::sample::select(vec![0.0, 0.5, 1.0])
}

fn steps<K: Strategy<Value = ToxicKind> + 'static>(
    kind: fn() -> K,
) -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (1..10_u64).prop_map(Step::Push),
        2 => Just(Step::Pop),
        3 => (0..20_u64).prop_map(Step::Elapse),
        1 => (kind(), toxicity()).prop_map(|(kind, share)| Step::Add(kind, share)),
        1 => (0..4_usize, kind(), toxicity()).prop_map(|(n, kind, s)| Step::Update(n, kind, s)),
        1 => (0..4_usize).prop_map(Step::Remove),
    ];
    prop::collection::vec(step, 0..120)
}

/// A link, the time, and what went in and came out.
struct Bench {
    link: Link<Numbered>,
    now: u64,
    /// Bytes that went in.
    pushed: u64,
    /// Bytes that came out: (time, number).
    popped: Vec<(u64, u64)>,
    ends: u64,
    added: usize,
}

impl Bench {
    fn new(seed: u64) -> Self {
        let link = Link::new(seed);
        Self { link, now: 0, pushed: 0, popped: Vec::new(), ends: 0, added: 0 }
    }

    /// Takes the steps, takes every toxic away, ends the source, and waits for the end.
    fn run(mut self, steps: &[Step]) -> Self {
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

    fn numbers(&self) -> Vec<u64> {
        self.popped.iter().map(|(_, number)| *number).collect()
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Push(bytes) => self.push(*bytes),
            Step::Pop => self.pop(),
            Step::Elapse(ns) => self.now += ns,
            Step::Add(kind, share) => self.add(kind.clone(), *share),
            Step::Update(n, kind, share) => self.update(*n, kind.clone(), *share),
            Step::Remove(n) => self.remove(*n),
        }
    }

    fn push(&mut self, bytes: u64) {
        if self.link.chain.can_accept() {
            let chunk = Numbered(self.pushed..self.pushed + bytes);
            self.link.chain.push(Time::from_nanos(self.now), Item::Data(chunk));
            self.pushed += bytes;
        }
    }

    fn pop(&mut self) {
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

    fn add(&mut self, kind: ToxicKind, share: f64) {
        let name = format!("toxic-{}", self.added);
        self.added += 1;
        let toxicity = Share::new(share).unwrap();
        self.link.add(self.now, Toxic { toxicity, ..named(&name, kind) });
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

proptest! {
    #[test]
    fn bytes_are_conserved_and_in_order(seed: u64, steps in steps(lossless)) {
        let mut bench = Bench::new(seed).run(&steps);
        prop_assert_eq!(bench.numbers(), (0..bench.pushed).collect::<Vec<_>>());
        prop_assert_eq!(bench.link.chain.take_tally().dropped, 0);
        prop_assert_eq!(bench.ends, 1);
    }

    #[test]
    fn what_does_not_come_out_was_dropped_and_counted(seed: u64, steps in steps(kind)) {
        let mut bench = Bench::new(seed).run(&steps);
        let numbers = bench.numbers();
        prop_assert!(numbers.is_sorted_by(|a, b| a < b), "{:?}", numbers);
        let dropped = bench.link.chain.take_tally().dropped;
        prop_assert_eq!(numbers.len() as u64 + dropped, bench.pushed);
        prop_assert_eq!(bench.ends, 1);
        prop_assert_eq!(bench.link.chain.next_wake(), None);
    }

    #[test]
    fn the_same_seed_gives_the_same_trace(seed: u64, steps in steps(kind)) {
        let (first, second) = (Bench::new(seed).run(&steps), Bench::new(seed).run(&steps));
        prop_assert_eq!(first.popped, second.popped);
    }

    #[test]
    fn what_the_first_toxic_promised_is_kept_whatever_follows(
        seed: u64,
        first in kind(),
        steps in steps(kind),
    ) {
        let mut bench = Bench::new(seed);
        bench.add(first, 1.0);
        let mut earliest = Vec::new();
        for step in &steps {
            bench.step(step);
            let promised = bench.now + bench.promised_by_first();
            earliest.resize(bench.pushed as usize, promised);
        }
        let bench = bench.run(&[]);
        for (at, number) in &bench.popped {
            let earliest = earliest[*number as usize];
            prop_assert!(*at >= earliest, "byte {} left at {}, not {}", number, at, earliest);
        }
    }

    #[test]
    fn a_limit_passes_exactly_its_bytes(sizes in prop::collection::vec(1..20_u64, 0..20), limit in 0..100_u64) {
        let mut bench = Bench::new(1);
        bench.add(limit_data(limit), 1.0);
        for size in &sizes {
            bench.push(*size);
            bench.pop();
        }
        let total: u64 = sizes.iter().sum();
        prop_assert_eq!(bench.popped.len() as u64, total.min(limit));
        prop_assert_eq!(bench.ends, u64::from(total > 0 && total >= limit));
    }

    #[test]
    fn a_bandwidth_passes_no_more_than_its_rate(
        sizes in prop::collection::vec(1..100_000_u64, 1..20),
        kilo in 1..5_000_u64,
    ) {
        let rate = LinkRate::new(kilo * 1000);
        let mut link = Link::<Numbered>::new(1);
        link.add(0, named("a", bandwidth(rate.per_second())));
        let mut pushed = 0;
        for size in sizes {
            link.chain.push(Time::ZERO, Item::Data(Numbered(pushed..pushed + size)));
            pushed += size;
        }
        let (mut pieces, mut end) = (0, 0);
        for (at, item) in link.run() {
            let Item::Data(Numbered(bytes)) = item else { continue };
            let ideal = rate.time_for(bytes.end).get();
            pieces += 1;
            end = bytes.end;
            prop_assert!(at >= ideal && at <= ideal + pieces, "{:?} at {}", bytes, at);
        }
        prop_assert_eq!(end, pushed);
    }

    #[test]
    fn latencies_add_up(latencies in prop::collection::vec(0..1000_u64, 0..6), gap in 0..100_u64) {
        let toxics: Vec<Toxic> =
            (0..).zip(&latencies).map(|(n, l)| named(&format!("{n}"), latency(*l, 0))).collect();
        let mut link = Link::with(&toxics);
        (0..10_u8).for_each(|n| link.push(u64::from(n) * gap, n));
        let total: u64 = latencies.iter().sum();
        let expected: Vec<_> = (0..10_u8).map(|n| (u64::from(n) * gap + total, data(n))).collect();
        prop_assert_eq!(link.run(), expected);
    }

    #[test]
    fn jitter_stays_within_its_range(seed: u64, middle in 0..1000_u64, jitter in 0..1000_u64) {
        let mut link = Link::new(seed);
        link.add(0, named("a", latency(middle, jitter)));
        for _ in 0..20 {
            link.push(0, 0);
            for (at, _) in link.run() {
                prop_assert!(at >= middle.saturating_sub(jitter) && at <= middle + jitter);
            }
        }
    }
}
