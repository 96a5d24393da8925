//! What holds under any sequence of pushes, pops and changes.

use super::*;
use proptest::prelude::*;
use testbed_core::quantity::Share;

#[derive(Clone, Debug)]
enum Step {
    Push,
    Pop,
    Elapse(u64),
    Add(ToxicKind, f64),
    Update(usize, ToxicKind, f64),
    Remove(usize),
}

fn kind() -> impl Strategy<Value = ToxicKind> {
    prop_oneof![
        (0..50_u64, 0..50_u64).prop_map(|(l, j)| latency(l, j)),
        prop::sample::select(ToxicKind::all()),
    ]
}

fn toxicity() -> impl Strategy<Value = f64> {
    prop::sample::select(vec![0.0, 0.5, 1.0])
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => Just(Step::Push),
        2 => Just(Step::Pop),
        3 => (0..20_u64).prop_map(Step::Elapse),
        1 => (kind(), toxicity()).prop_map(|(kind, share)| Step::Add(kind, share)),
        1 => (0..4_usize, kind(), toxicity()).prop_map(|(n, kind, s)| Step::Update(n, kind, s)),
        1 => (0..4_usize).prop_map(Step::Remove),
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(step(), 0..120)
}

/// A link, the time, and what went in and came out: (time, number of the chunk).
struct Bench {
    link: Link,
    now: u64,
    pushed: Vec<u64>,
    popped: Vec<(u64, u8)>,
    added: usize,
}

impl Bench {
    fn new(seed: u64) -> Self {
        let link = Link::new(seed);
        Self { link, now: 0, pushed: Vec::new(), popped: Vec::new(), added: 0 }
    }

    fn run(mut self, steps: &[Step]) -> Self {
        for step in steps {
            self.step(step);
        }
        self.link.chain.push(Time::from_nanos(self.now), Item::Eof);
        let left = self.link.run();
        assert_eq!(left.last().map(|(_, item)| item), Some(&Item::Eof));
        for (at, item) in left {
            self.record(at.max(self.now), item);
        }
        self
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Push => self.push(),
            Step::Pop => self.pop(),
            Step::Elapse(ns) => self.now += ns,
            Step::Add(kind, share) => self.add(kind.clone(), *share),
            Step::Update(n, kind, share) => self.update(*n, kind.clone(), *share),
            Step::Remove(n) => self.remove(*n),
        }
    }

    fn push(&mut self) {
        if self.link.chain.can_accept() {
            self.link.push(self.now, self.pushed.len() as u8);
            self.pushed.push(self.now);
        }
    }

    fn pop(&mut self) {
        while let Some(item) = self.link.pop(self.now) {
            self.record(self.now, item);
        }
    }

    fn record(&mut self, at: u64, item: Item<Bytes>) {
        if let Item::Data(chunk) = item {
            self.popped.extend(chunk.iter().map(|byte| (at, *byte)));
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
    fn bytes_are_conserved_and_in_order(seed: u64, steps in steps()) {
        let bench = Bench::new(seed).run(&steps);
        let numbers: Vec<u8> = bench.popped.iter().map(|(_, byte)| *byte).collect();
        let expected: Vec<u8> = (0..bench.pushed.len()).map(|n| n as u8).collect();
        prop_assert_eq!(numbers, expected);
    }

    #[test]
    fn the_same_seed_gives_the_same_trace(seed: u64, steps in steps()) {
        let (first, second) = (Bench::new(seed).run(&steps), Bench::new(seed).run(&steps));
        prop_assert_eq!(first.popped, second.popped);
    }

    #[test]
    fn what_the_first_toxic_promised_is_kept_whatever_follows(
        seed: u64,
        first in kind(),
        steps in steps(),
    ) {
        let mut bench = Bench::new(seed);
        bench.add(first, 1.0);
        let mut earliest = Vec::new();
        for step in &steps {
            bench.step(step);
            if bench.pushed.len() > earliest.len() {
                earliest.push(bench.now + bench.promised_by_first());
            }
        }
        let bench = bench.run(&[]);
        for ((at, byte), earliest) in bench.popped.iter().zip(earliest) {
            prop_assert!(*at >= earliest, "chunk {} left at {}, promised {}", byte, at, earliest);
        }
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
