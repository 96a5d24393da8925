//! Feedback of requests with all their attempts: what the law hears, and who has a place in the window.

use std::sync::{Arc, Mutex};
use testbed_core::admission::Admission;
use testbed_core::control::{Controller, Decision, Update};
use testbed_core::feedback::{FeedbackConfig, PerRequest, Scope};
use testbed_core::queue::Queue;
use testbed_core::request::{Answer, Arm, Arrival, Outcome, Sample, Ticket};
use testbed_core::time::{Nanos, Time};
use testbed_core::vitals::Vitals;

/// A law that lets one in at a time and writes down what it is told.
#[derive(Debug, Default)]
struct Listener(Arc<Mutex<Vec<(u64, Outcome)>>>);

impl Controller for Listener {
    fn window(&self) -> f64 {
        1.0
    }

    fn limit(&self) -> u64 {
        1
    }

    fn on_sample(&mut self, _: Time, sample: &Sample) -> Decision {
        let rtt_ms = sample.rtt().get() / 1_000_000;
        self.0.lock().expect("nobody panics with it").push((rtt_ms, sample.outcome));
        Decision::Updated(Update { old: 1.0, new: 1.0, limit: 1, reason: "same" })
    }

    fn vitals(&self, _: &mut Vitals) {}
}

fn ms(ms: u64) -> Time {
    Time::ZERO.after(Nanos::from_millis(ms))
}

/// One attempt: admitted at `at`, it ends 20 ms later.
fn attempt(admission: &mut Admission, at: u64, arrival: Arrival, outcome: Outcome, again: bool) {
    assert!(admission.arrive(ms(at), arrival, &mut ()).is_ok());
    let ticket: Ticket = admission.admit(ms(at), &mut ()).expect("it has a place or finds one");
    assert_eq!(ticket.arrival.attempt(), arrival.attempt());
    let end = ms(at + 20);
    let answer = Answer::without(outcome, ticket.start, end);
    let again = again.then_some(Nanos::from_secs(1));
    admission.finish(end, ticket, &answer, again, &mut ());
}

/// What the law hears of a request that is turned away at 0 and 1020 ms and answered at 2060 ms.
fn heard(rtt: Scope, outcome: Scope) -> Vec<(u64, Outcome)> {
    let listener = Listener::default();
    let heard = Arc::clone(&listener.0);
    let feedback = FeedbackConfig::PerRequest(PerRequest { rtt, outcome });
    let mut admission = Admission::new(Arm(0), Box::new(listener), Queue::new(9), &feedback);
    let first = Arrival::new(0, 0, ms(0));
    let (second, third) = (first.again(ms(1020)), first.again(ms(1020)).again(ms(2040)));
    attempt(&mut admission, 0, first, Outcome::Overload, true);
    attempt(&mut admission, 1020, second, Outcome::Overload, true);
    attempt(&mut admission, 2040, third, Outcome::Success, false);
    let heard = heard.lock().expect("nobody panics with it");
    heard.clone()
}

#[test]
fn the_law_hears_of_the_sequence_or_of_each_attempt() {
    use Outcome::{Overload, Success};
    use Scope::{Attempt, Sequence};
    for (rtt, outcome, expected) in [
        (Sequence, Sequence, &[(2060, Success)][..]),
        (Attempt, Attempt, &[(20, Overload), (20, Overload), (20, Success)]),
        (Attempt, Sequence, &[(20, Success)]),
        (Sequence, Attempt, &[(20, Overload), (1040, Overload), (2060, Success)]),
    ] {
        assert_eq!(heard(rtt, outcome), expected, "{rtt:?} {outcome:?}");
    }
}

#[test]
fn a_place_is_kept_through_back_offs_and_nobody_takes_it() {
    let scopes = PerRequest { rtt: Scope::Attempt, outcome: Scope::Attempt };
    for (feedback, kept) in
        [(FeedbackConfig::PerRequest(scopes), true), (FeedbackConfig::PerResponse, false)]
    {
        let mut admission =
            Admission::new(Arm(0), Box::new(Listener::default()), Queue::new(9), &feedback);
        let first = Arrival::new(0, 0, ms(0));
        attempt(&mut admission, 0, first, Outcome::Overload, true);
        admission.arrive(ms(30), Arrival::new(1, 0, ms(30)), &mut ()).unwrap();
        let other = admission.admit(ms(30), &mut ());
        assert_eq!((other.is_none(), admission.in_flight()), (kept, u32::from(!kept)));
        if kept {
            attempt(&mut admission, 1020, first.again(ms(1020)), Outcome::Error, false);
            let other = admission.admit(ms(1040), &mut ()).expect("the place is free");
            assert_eq!((other.arrival.id, other.in_flight_at_start), (1, 1));
        }
    }
}
