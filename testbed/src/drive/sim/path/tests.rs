//! Toxics that end connections, or pace them, on a simulated way, and HTTP faults beside them.

use crate::drive::interrupt::Interrupt;
use crate::drive::shell::{Ending, Shell};
use crate::drive::sim::Sim;
use crate::experiment::{Overrides, load};
use testbed_core::event::Event;
use testbed_core::observe::Observer;
use testbed_core::request::Outcome;
use testbed_core::rng::Streams;
use testbed_core::time::{Nanos, Time};

/// How calls ended, in each of three seconds; what ends at a border belongs to the one before it. Round
/// trips are those of calls that also began in it.
#[derive(Default)]
struct Ends {
    successes: [u64; 4],
    errors: [u64; 4],
    least_rtt: [Option<Nanos>; 4],
}

impl Observer for Ends {
    fn on_event(&mut self, now: Time, event: &Event<'_>) {
        let Event::Finished { sample, .. } = event else { return };
        let second_of = |at: Time| (at.as_nanos().saturating_sub(1) / 1_000_000_000) as usize;
        let second = second_of(now);
        match sample.outcome {
            Outcome::Success => {
                if second_of(sample.start) == second {
                    let least = self.least_rtt[second].unwrap_or(Nanos::MAX);
                    self.least_rtt[second] = Some(least.min(sample.rtt()));
                }
                self.successes[second] += 1;
            }
            Outcome::Error => self.errors[second] += 1,
            _ => {}
        }
    }
}

/// Four calls at a time, 10 ms each, with a toxic in the second of three seconds.
fn run_with(toxic: &str) -> Ends {
    run_under(&[&format!("toxic: {toxic}")])
}

/// The same with any faults.
fn run_under(faults: &[&str]) -> Ends {
    let fault = |(n, what)| format!("- {{ name: f{n}, during: b, {what} }}\n");
    let faults: String = faults.iter().enumerate().map(fault).collect();
    let text = format!(
        "version: 1\nname: test\narms: {{ one: {{ controller: {{ fixed: {{ limit: 4 }} }} }} }}\n\
         backend: {{ servers: 8, service: {{ constant: 10ms }} }}\n\
         load: {{ closed: {{ clients: 4 }} }}\n\
         phases: [ {{ name: a, for: 1s }}, {{ name: b, for: 1s }}, {{ name: c, for: 1s }} ]\n\
         faults:\n{faults}"
    );
    let plan = load("test", &text, &Overrides::default()).unwrap_or_else(|err| panic!("{err}"));
    let mut ends = Ends::default();
    let sim = Sim::new(&plan.arms, &Streams::new(1), Interrupt::default()).with_patience(100_000);
    let ending = Shell::new(&plan, sim, &mut ends).run();
    assert_eq!(ending.unwrap(), Ending::Complete, "{faults}");
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

#[test]
fn what_a_rule_does_to_an_answer_passes_the_toxics_behind_it() {
    const LATE: &str = "toxic: { latency: { latency: 5ms } }";
    // Errors of 4 clients in a second that has the fault; else the least round trip in ms.
    for (faults, errors, least) in [
        (&["backend: { drip: { bytes: 1B, pause: 5ms } }"][..], 0..=0, Some(20)),
        (&["backend: { drip: { bytes: 1B, pause: 5ms } }", LATE], 0..=0, Some(25)),
        (&["backend: { slow_headers: { delay: 7ms } }", LATE], 0..=0, Some(22)),
        (&["backend: { truncate: { after: 1B } }"], 390..=400, None),
        (&["backend: { truncate: { after: 1B } }", LATE], 255..=270, None),
        (&["backend: { reset: { after: 1B } }", LATE], 255..=270, None),
        // Whole answers, each the last of its connection.
        (&["backend: { truncate: { after: 3B } }"], 0..=0, Some(10)),
        (&["backend: { wrong_length: { declared: 1B } }", LATE], 0..=0, Some(15)),
        (
            &["backend: { truncate: { after: 3B } }", "toxic: { slow_close: { delay: 45ms } }"],
            0..=0,
            Some(10),
        ),
        (&["backend: { reset: { after: 3B } }", LATE], 0..=0, Some(15)),
        // The toxic cuts the answer of 200 bytes, but behind what is waited for. The four that were on
        // their way are cut within.
        (
            &[
                "backend: { wrong_length: { declared: 2B } }",
                "toxic: { limit_data: { bytes: 199B } }",
            ],
            4..=4,
            Some(10),
        ),
    ] {
        let ends = run_under(faults);
        assert!(errors.contains(&ends.errors[1]), "{faults:?}: {:?}", ends.errors);
        assert_eq!(ends.least_rtt[1], least.map(Nanos::from_millis), "{faults:?}");
        assert_eq!((ends.errors[0], ends.errors[3]), (0, 0), "{faults:?}");
        assert!(ends.errors[2] <= 4, "{faults:?}: {:?}", ends.errors);
        assert!(ends.successes[2] >= 385, "{faults:?}: {:?}", ends.successes);
    }
}

#[test]
fn of_many_at_a_time_only_so_many_are_harmed() {
    // Two of four calls take 20 ms longer, so each pair of the others is through thrice meanwhile.
    let one = "backend: { slow_headers: { delay: 20ms, max_active: 2 } }";
    let ends = run_under(&[one]);
    assert_eq!(ends.errors, [0; 4]);
    assert_eq!(ends.least_rtt[1], Some(Nanos::from_millis(10)));
    assert!((255..=275).contains(&ends.successes[1]), "{:?}", ends.successes);
}

#[test]
fn a_slow_start_is_slow_at_first() {
    let ends = run_under(&["backend: { slow_start: { from: 50%, over: 1s } }"]);
    // Speeds of 50 % to 100 % are 75 % at the mean: 300 in place of 400.
    assert!((295..=305).contains(&ends.successes[1]), "{:?}", ends.successes);
    assert!(ends.successes[2] >= 396, "{:?}", ends.successes);
}
