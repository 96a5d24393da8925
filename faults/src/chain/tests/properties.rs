//! What holds under any sequence of pushes, pops and changes.

use super::steps::{Bench, Numbered, Step};
use super::*;
use crate::toxic::{ResetPeer, SlowClose, Timeout};
use proptest::prelude::*;

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

proptest! {
    #[test]
    fn bytes_are_conserved_and_in_order(seed: u64, steps in steps(lossless)) {
        prop_assert_eq!(Bench::new(seed).run(&steps).assert_sound(), 0);
    }

    #[test]
    fn what_does_not_come_out_was_dropped_and_counted(seed: u64, steps in steps(kind)) {
        Bench::new(seed).run(&steps).assert_sound();
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
        bench.run(&steps).assert_sound();
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
        // An end lets nothing in any more.
        let ended = !bench.link.chain.can_accept();
        prop_assert_eq!(ended, total > 0 && total >= limit);
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
