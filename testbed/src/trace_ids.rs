//! The ids of traces: known before a request is sent, and again after it has ended, without anything
//! being remembered.

use testbed_core::request::{Arm, Attempt};

/// Which span of a request's trace its call is: the one that the header `traceparent` names.
pub const CALL_SPAN: u64 = 2;

/// Where the ids of a run come from. The same experiment and seed give the same ids.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TraceIds {
    run: u64,
}

/// The ids of one trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ids {
    /// Of the trace; never 0.
    pub trace: u128,
}

impl TraceIds {
    /// The ids of a run of this experiment with this seed.
    pub fn new(experiment: &str, seed: u64) -> Self {
        let run = experiment.bytes().fold(mix(seed), |run, byte| mix(run ^ u64::from(byte)));
        Self { run }
    }

    /// Those of the trace of the run as a whole.
    pub const fn run(&self) -> Ids {
        Ids::new(self.run)
    }

    /// Those of the trace of one attempt of a request.
    pub fn attempt(&self, arm: Arm, attempt: Attempt) -> Ids {
        // 1 is added so that no arm has the run's own.
        let arm = mix(self.run ^ (u64::from(arm.0) + 1));
        Ids::new(mix(mix(arm ^ attempt.request) ^ u64::from(attempt.number)))
    }
}

impl Ids {
    const fn new(from: u64) -> Self {
        let (high, low) = (mix(from), mix(from ^ 0x7472_6163_6569_6473));
        Self { trace: ((high as u128) << 64) | (low | 1) as u128 }
    }

    /// Of the n-th span of the trace, from 0, its root; never 0.
    pub const fn span(&self, n: u64) -> u64 {
        mix((self.trace as u64) ^ mix(n)) | 1
    }

    /// Even over 0 to 1: traces below a share are that share of all, and the same ones each time.
    pub fn rank(&self) -> f64 {
        (self.trace >> 64) as u64 as f64 / 2f64.powi(64)
    }

    /// The header `traceparent` of a call that is the span `span` (W3C Trace Context, section 3.2).
    ///
    /// The flag `sampled` is set. It says that the caller *may* have recorded the trace, and more cannot
    /// be known: whether a request is worth a trace is decided when it has ended.
    pub fn traceparent(&self, span: u64) -> [u8; 55] {
        let mut header = *b"00-00000000000000000000000000000000-0000000000000000-01";
        write_hex(&mut header[3..35], self.trace);
        write_hex(&mut header[36..52], span.into());
        header
    }
}

/// Fills `digits` with the last ones of `number` in base 16. Every request of a traced run has 48 of them, and the
/// standard library's formatter takes ten times as long: 440 ns a header in place of 40.
fn write_hex(digits: &mut [u8], number: u128) {
    for (place, digit) in digits.iter_mut().rev().enumerate() {
        *digit = b"0123456789abcdef"[(number >> (4 * place)) as usize & 0xf];
    }
}

/// SplitMix64's finaliser (Steele, Lea and Flood, 2014) after its increment: spreads what differs in a
/// bit over all of them.
const fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn ids(seed: u64, arm: u16, request: u64, number: u32) -> Ids {
        TraceIds::new("held", seed).attempt(Arm(arm), Attempt { request, number })
    }

    #[test]
    fn ids_differ_by_seed_arm_request_and_attempt_and_by_nothing_else() {
        let mut traces = BTreeSet::from([TraceIds::new("held", 1).run().trace]);
        for (seed, arm, request, number) in
            [(1, 0, 0, 0), (2, 0, 0, 0), (1, 1, 0, 0), (1, 0, 1, 0), (1, 0, 0, 1)]
        {
            let of = ids(seed, arm, request, number);
            assert_eq!(of, ids(seed, arm, request, number));
            assert!(traces.insert(of.trace), "{of:?}");
        }
        let other = TraceIds::new("other", 1).attempt(Arm(0), Attempt { request: 0, number: 0 });
        assert!(traces.insert(other.trace));
    }

    #[test]
    fn spans_differ_within_a_trace_and_between_traces() {
        let traces: Vec<_> = (0..1000).map(|request| ids(1, 0, request, 0)).collect();
        let spans = traces.iter().flat_map(|ids| (0..4).map(|n| ids.span(n)));
        let spans: BTreeSet<_> = spans.collect();
        assert_eq!(spans.len(), 4000);
        assert!(!spans.contains(&0));
    }

    #[test]
    fn ranks_are_even() {
        let below = |share| (0..100_000).filter(|n| ids(1, 0, *n, 0).rank() < share).count();
        // Five standard deviations of a binomial distribution.
        for (share, expected, width) in [(0.01, 1000, 157), (0.5, 50_000, 791)] {
            assert!(below(share).abs_diff(expected) < width, "{share}: {}", below(share));
        }
        assert_eq!((below(0.0), below(1.0)), (0, 100_000));
    }

    #[test]
    fn a_traceparent_has_the_form_of_the_standard() {
        let ids = Ids { trace: 0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736 };
        let header = ids.traceparent(0x00f0_67aa_0ba9_02b7);
        assert_eq!(header, *b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
    }
}
