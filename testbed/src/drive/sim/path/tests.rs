//! Toxics that end connections, or pace them, on a simulated way.

use crate::drive::interrupt::Interrupt;
use crate::drive::shell::{Ending, Shell};
use crate::drive::sim::Sim;
use crate::experiment::{Overrides, load};
use testbed_core::event::Event;
use testbed_core::observe::Observer;
use testbed_core::request::Outcome;
use testbed_core::rng::Streams;
use testbed_core::time::{Nanos, Time};

/// How calls ended, in each of three seconds; what ends at a border belongs to the one before it.
#[derive(Default)]
struct Ends {
    successes: [u64; 4],
    errors: [u64; 4],
    least_rtt: [Option<Nanos>; 4],
}

impl Observer for Ends {
    fn on_event(&mut self, now: Time, event: &Event<'_>) {
        let Event::Finished { sample, .. } = event else { return };
        let second = (now.as_nanos().saturating_sub(1) / 1_000_000_000) as usize;
        match sample.outcome {
            Outcome::Success => {
                let least = self.least_rtt[second].unwrap_or(Nanos::MAX);
                self.least_rtt[second] = Some(least.min(sample.rtt()));
                self.successes[second] += 1;
            }
            Outcome::Error => self.errors[second] += 1,
            _ => {}
        }
    }
}

/// Four calls at a time, 10 ms each, with a toxic in the second of three seconds.
fn run_with(toxic: &str) -> Ends {
    let text = format!(
        "version: 1\nname: test\narms: {{ one: {{ controller: {{ fixed: {{ limit: 4 }} }} }} }}\n\
         backend: {{ servers: 8, service: {{ constant: 10ms }} }}\n\
         load: {{ closed: {{ clients: 4 }} }}\n\
         phases: [ {{ name: a, for: 1s }}, {{ name: b, for: 1s }}, {{ name: c, for: 1s }} ]\n\
         faults: [ {{ name: f, during: b, toxic: {toxic} }} ]\n"
    );
    let plan = load("test", &text, &Overrides::default()).unwrap_or_else(|err| panic!("{err}"));
    let mut ends = Ends::default();
    let sim = Sim::new(&plan.arms, &Streams::new(1), Interrupt::default()).with_patience(100_000);
    let ending = Shell::new(&plan, sim, &mut ends).run();
    assert_eq!(ending.unwrap(), Ending::Complete, "{toxic}");
    ends
}

#[test]
fn a_toxic_that_ends_connections_makes_errors_until_it_is_gone() {
    // Errors in the second with the toxic: 4 clients, each at it again as soon as it knows.
    for (toxic, errors) in [
        // Every answer, 10 ms after the call and 0.1 ms until that is known.
        ("{ reset_peer: {} }", 390..=400),
        // Every request, 0.1 ms each; those on their way were through already.
        ("{ reset_peer: {}, stream: upstream }", 39_500..=39_600),
        ("{ limit_data: { bytes: 0B }, stream: upstream }", 39_500..=39_600),
        // Answers are 200 bytes: two pass, the third is cut.
        ("{ limit_data: { bytes: 500B } }", 129..=134),
        // The answer that reaches the limit is whole; its connection is closed behind it.
        ("{ limit_data: { bytes: 400B } }", 0..=0),
        // Closed after 5 ms of silence, before the answer.
        ("{ timeout: { timeout: 5ms } }", 770..=800),
        // The black hole is closed when it is removed, which is known in the next second.
        ("{ timeout: {} }", 0..=0),
    ] {
        let ends = run_with(toxic);
        assert!(errors.contains(&ends.errors[1]), "{toxic}: {:?}", ends.errors);
        assert_eq!(ends.errors[0], 0, "{toxic}");
        assert!(ends.errors[2] <= 8, "{toxic}: {:?}", ends.errors);
        assert!(ends.successes[2] >= 390, "{toxic}: {:?}", ends.successes);
    }
}

#[test]
fn a_black_hole_answers_nothing_and_its_removal_fails_what_waits() {
    let ends = run_with("{ timeout: {} }");
    assert_eq!((ends.successes[1], ends.errors[1]), (0, 0));
    assert_eq!(ends.errors[2], 4);
}

#[test]
fn toxics_that_pace_answers_lengthen_each_round_trip() {
    // An answer of 200 bytes: at 20kB/s 10 ms more; in two halves, 7 ms apart, 7 ms more.
    for (toxic, least) in [
        ("{ bandwidth: { rate: 20kB/s } }", 20),
        ("{ slicer: { average_size: 100B, delay: 7ms } }", 17),
        ("{ slow_close: { delay: 1s } }", 10),
    ] {
        let ends = run_with(toxic);
        assert_eq!(ends.errors, [0; 4], "{toxic}");
        assert_eq!(ends.least_rtt[0], Some(Nanos::from_millis(10)), "{toxic}");
        assert_eq!(ends.least_rtt[1], Some(Nanos::from_millis(least)), "{toxic}");
    }
}

#[test]
fn a_stalled_link_goes_on_when_the_stall_is_over() {
    let ends = run_with("{ bandwidth: { rate: 0B/s } }");
    assert_eq!(ends.successes[1], 4, "released at the border");
    assert_eq!(ends.errors, [0; 4]);
    assert!(ends.successes[2] >= 396, "{:?}", ends.successes);
}
