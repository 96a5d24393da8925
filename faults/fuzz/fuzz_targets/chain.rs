//! A chain under steps that the fuzzer thinks of: bytes in are bytes out and dropped, in order, none
//! before its time, and the link ends once.
#![no_main]

#[path = "../../src/chain/tests/steps.rs"]
mod steps;

use bytes::Bytes;
use faults::toxic::{Bandwidth, Latency, LinkRate};
use faults::{Chain, Item, Payload, ProxyFaults, Stream, Toxic, ToxicKind, link_rng};
use libfuzzer_sys::arbitrary::{Result, Unstructured};
use libfuzzer_sys::{Corpus, fuzz_target};
use serde_json::{Map, Value};
use steps::{Bench, Step};
use testbed_core::quantity::Share;
use testbed_core::rng::Streams;
use testbed_core::time::Time;

const STEPS: usize = 200;
/// Every attribute that a kind has; each takes those that are its own.
const NUMBERS: [&str; 11] = [
    "latency",
    "jitter",
    "rate",
    "delay",
    "timeout",
    "average_size",
    "size_variation",
    "bytes",
    "low",
    "high",
    "period",
];
const SHAPES: [&str; 4] = ["sine", "triangle", "sawtooth", "square"];

fuzz_target!(|data: &[u8]| -> Corpus {
    let mut input = Unstructured::new(data);
    let Ok((seed, steps)) = read(&mut input) else { return Corpus::Reject };
    Bench::new(seed).run(&steps).assert_sound();
    Corpus::Keep
});

fn read(input: &mut Unstructured<'_>) -> Result<(u64, Vec<Step>)> {
    let seed = input.int_in_range(0..=3)?;
    let mut steps = Vec::new();
    while !input.is_empty() && steps.len() < STEPS {
        steps.push(step(input)?);
    }
    Ok((seed, steps))
}

fn step(input: &mut Unstructured<'_>) -> Result<Step> {
    Ok(match input.int_in_range(0..=5)? {
        0 => Step::Push(input.int_in_range(1..=40)?),
        1 => Step::Pop,
        2 => Step::Elapse(number(input)?.saturating_mul(*input.choose(&[1, 1_000, 1_000_000])?)),
        3 => Step::Add(kind(input)?, *input.choose(&[0.0, 0.5, 1.0, 1.0])?),
        4 => {
            let toxicity = *input.choose(&[0.0, 0.5, 1.0, 1.0])?;
            Step::Update(input.int_in_range(0..=4)?, kind(input)?, toxicity)
        }
        _ => Step::Remove(input.int_in_range(0..=4)?),
    })
}

/// A kind with attributes of the API, or with its own where they are impossible.
fn kind(input: &mut Unstructured<'_>) -> Result<ToxicKind> {
    let kind = input.choose(&ToxicKind::all())?.clone();
    let mut attributes = Map::new();
    for name in kind.to_api().into_iter().map(|(name, _)| name) {
        if NUMBERS.contains(&&*name) {
            attributes.insert(name, number(input)?.into());
        } else {
            attributes.insert(name, Value::from(*input.choose(&SHAPES)?));
        }
    }
    Ok(ToxicKind::from_api(kind.name(), &attributes).unwrap_or(kind))
}

/// Small ones often.
fn number(input: &mut Unstructured<'_>) -> Result<u64> {
    match input.int_in_range(0..=7)? {
        0 => input.int_in_range(0..=86_400_000),
        _ => input.int_in_range(0..=50),
    }
}
