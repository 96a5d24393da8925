//! Chains over tables of (time, input, expected), and over any sequence of changes.

mod kinds;
mod properties;
mod tables;

use super::*;
use crate::control::link_rng;
use crate::toxic::{
    Bandwidth, Latency, LimitData, LinkRate, Noop, Shape, Slicer, Toxic, ToxicKind, Wave,
};
use bytes::Bytes;
use testbed_core::limit::quantity::Bytes as Size;
use testbed_core::rng::Streams;
use testbed_core::time::Nanos;

/// One downstream link and its faults, driven as a proxy drives it.
struct Link<P = Bytes> {
    chain: Chain<P>,
    faults: ProxyFaults,
}

impl<P: Payload> Link<P> {
    fn new(seed: u64) -> Self {
        let rng = link_rng(&Streams::new(seed), "proxy", 0, Stream::Downstream);
        Self { chain: Chain::new(Stream::Downstream, rng), faults: ProxyFaults::default() }
    }

    fn add(&mut self, now: u64, toxic: Toxic) {
        self.change(now, |faults| assert!(faults.add(Time::from_nanos(now), toxic).is_ok()));
    }

    fn change(&mut self, now: u64, change: impl FnOnce(&mut ProxyFaults)) {
        change(&mut self.faults);
        self.chain.apply(Time::from_nanos(now), &self.faults);
    }

    fn pop(&mut self, now: u64) -> Option<Item<P>> {
        self.chain.pop(Time::from_nanos(now))
    }

    /// Pops at every wake until nothing more comes: (time, item).
    fn run(&mut self) -> Vec<(u64, Item<P>)> {
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

impl Link {
    fn with(toxics: &[Toxic]) -> Self {
        let mut link = Self::new(1);
        for toxic in toxics {
            link.add(0, toxic.clone());
        }
        link
    }

    fn push(&mut self, now: u64, byte: u8) {
        self.chain.push(Time::from_nanos(now), data(byte));
    }
}

fn data(byte: u8) -> Item<Bytes> {
    Item::Data(Bytes::from(vec![byte]))
}

fn latency(latency: u64, jitter: u64) -> ToxicKind {
    let (latency, jitter) = (Nanos::new(latency), Nanos::new(jitter));
    ToxicKind::Latency(Latency { latency, jitter })
}

fn bandwidth(bytes_per_second: u64) -> ToxicKind {
    ToxicKind::Bandwidth(Bandwidth { rate: LinkRate::new(bytes_per_second) })
}

fn limit_data(bytes: u64) -> ToxicKind {
    ToxicKind::LimitData(LimitData { bytes: Size::new(bytes) })
}

fn slicer(average: u64, variation: u64, delay: Nanos) -> ToxicKind {
    let (average_size, size_variation) = (Size::new(average), Size::new(variation));
    ToxicKind::Slicer(Slicer { average_size, size_variation, delay })
}

fn wave(shape: Shape, low: u64, high: u64, period: u64) -> ToxicKind {
    let (low, high, period) = (Nanos::new(low), Nanos::new(high), Nanos::new(period));
    ToxicKind::Wave(Wave { low, high, period, shape })
}

fn named(name: &str, kind: ToxicKind) -> Toxic {
    Toxic { name: Some(name.to_owned()), ..Toxic::new(kind) }
}
