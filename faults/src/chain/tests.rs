//! Chains over tables of (time, input, expected), and over any sequence of changes.

mod kinds;
mod properties;
mod steps;
mod tables;

use super::*;
use crate::control::link_rng;
use crate::toxic::{
    Bandwidth, Latency, LimitData, LinkRate, Noop, Shape, Slicer, Toxic, ToxicKind, Wave,
};
use bytes::Bytes;
use steps::Link;
use testbed_core::limit::quantity::Bytes as Size;
use testbed_core::quantity::Share;
use testbed_core::rng::Streams;
use testbed_core::time::Nanos;

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
