//! Random operation sequences on an admission, for every registered law, against a ledger that
//! is rebuilt from events alone. Invariants are checked after each operation.

mod support;

use proptest::prelude::*;
use std::collections::VecDeque;
use support::Ledger;
use testbed_core::admission::Admission;
use testbed_core::bucket::BucketConfig;
use testbed_core::control::{ControllerConfig, rate_limit};
use testbed_core::feedback::{Drain, FeedbackConfig, PerRequest, Scope, Tell};
use testbed_core::limit::quantity::ByteRate;
use testbed_core::limit::{LevelsConfig, LimiterConfig, Policy, fifo};
use testbed_core::request::{Answer, Arm, Arrival, Outcome, Ticket};
use testbed_core::rng::Streams;
use testbed_core::time::{Nanos, Time};

const MAX_WAITING: usize = 8;

#[derive(Clone, Debug)]
enum Operation {
    Arrive,
    Admit,
    AdmitUngated,
    Finish {
        which: usize,
        outcome: Outcome,
        again: bool,
    },
    /// The back-off of a request is over that is tried again.
    Return,
    Pass(u32),
}

fn operation() -> impl Strategy<Value = Operation> {
    let outcome = prop::sample::select(Outcome::ALL.to_vec());
    prop_oneof![
        4 => Just(Operation::Arrive),
        4 => Just(Operation::Admit),
        1 => Just(Operation::AdmitUngated),
        4 => (any::<usize>(), outcome, any::<bool>())
            .prop_map(|(which, outcome, again)| Operation::Finish { which, outcome, again }),
        2 => Just(Operation::Return),
        2 => any::<u32>().prop_map(Operation::Pass),
    ]
}

fn feedback() -> impl Strategy<Value = FeedbackConfig> {
    let tell = prop::sample::select(vec![Tell::All, Tell::First]);
    let drain = |(turnaround, at_most, tell)| {
        FeedbackConfig::PerDrain(Drain { turnaround: Nanos::new(turnaround), at_most, tell })
    };
    let scope = || prop::sample::select(vec![Scope::Sequence, Scope::Attempt]);
    let per_request = |(rtt, outcome)| FeedbackConfig::PerRequest(PerRequest { rtt, outcome });
    prop_oneof![
        Just(FeedbackConfig::PerResponse),
        (0u64..1_000_000_000, 1u32..20, tell).prop_map(drain),
        (scope(), scope()).prop_map(per_request),
    ]
}

/// Every law with its defaults, and one that holds requests back whatever comes in.
fn laws() -> Vec<ControllerConfig> {
    let one_a_second = BucketConfig::new(ByteRate::per_second(1).expect("above zero"));
    let limiter = fifo::Config::over(&LevelsConfig::global(one_a_second));
    let (limiter, on_excess) = (LimiterConfig::Fifo(limiter), rate_limit::OnExcess::Wait);
    let waits = rate_limit::Config { limiter, on_excess };
    let mut all = ControllerConfig::all();
    all.push(ControllerConfig::RateLimit(waits));
    all
}

/// An admission, what it gave out, and what its events say.
struct Model {
    admission: Admission,
    ledger: Ledger,
    tickets: Vec<Ticket>,
    /// Requests between two attempts.
    backing_off: VecDeque<Arrival>,
    now: Time,
    next_id: u64,
}

/// How long a back-off is. It does not matter here.
const BACK_OFF: Nanos = Nanos::from_millis(1);

impl Model {
    fn new(law: &ControllerConfig, feedback: &FeedbackConfig) -> Self {
        let mut ledger = Ledger::default();
        let mut admission =
            Admission::new(Arm(0), law.build(&Streams::new(1)), MAX_WAITING, feedback);
        admission.announce(Time::ZERO, &mut ledger);
        let (tickets, backing_off) = (Vec::new(), VecDeque::new());
        Self { admission, ledger, tickets, backing_off, now: Time::ZERO, next_id: 0 }
    }

    fn apply(&mut self, operation: &Operation) {
        match *operation {
            Operation::Arrive => {
                let arrival = Arrival::new(self.next_id, 0, self.now);
                self.next_id += 1;
                let _ = self.admission.arrive(self.now, arrival, &mut self.ledger);
            }
            Operation::Admit => {
                let ticket = self.admission.admit(self.now, &mut self.ledger);
                // Who was admitted for the first time found room beside those that keep a place.
                let room =
                    |ticket: &Ticket| u64::from(ticket.in_flight_at_start) <= ticket.limit_at_start;
                assert!(ticket.iter().filter(|ticket| ticket.arrival.attempt == 0).all(room));
                self.tickets.extend(ticket);
            }
            Operation::AdmitUngated => {
                self.tickets.extend(self.admission.admit_ungated(self.now, &mut self.ledger));
            }
            Operation::Finish { which, outcome, again } if !self.tickets.is_empty() => {
                let ticket = self.tickets.swap_remove(which % self.tickets.len());
                let answer = Answer::without(outcome, ticket.start, self.now);
                self.backing_off.extend(again.then(|| ticket.arrival.again(self.now)));
                let again = again.then_some(BACK_OFF);
                self.admission.finish(self.now, ticket, &answer, again, &mut self.ledger);
            }
            Operation::Finish { .. } => {}
            Operation::Return => {
                if let Some(arrival) = self.backing_off.pop_front() {
                    let _ = self.admission.arrive(self.now, arrival, &mut self.ledger);
                    // At once, as the shell does it: who has kept a place takes no room in the queue.
                    self.tickets.extend(self.admission.admit(self.now, &mut self.ledger));
                }
            }
            Operation::Pass(ns) => {
                self.now = self.now.after(Nanos::new(u64::from(ns)));
                self.admission.on_wake(self.now, &mut self.ledger);
                assert!(self.admission.next_wake().is_none_or(|wake| wake > self.now));
            }
        }
    }

    fn assert_invariants(&self) {
        let (admission, ledger) = (&self.admission, &self.ledger);
        assert_eq!(ledger.in_flight(), self.tickets.len() as u64, "tickets are in flight");
        assert_eq!(ledger.in_flight(), u64::from(admission.in_flight()));
        assert_eq!(ledger.waiting(), u64::from(admission.waiting()));
        assert_eq!(ledger.limit, admission.limit(), "no change of the limit without an event");
        assert_eq!(ledger.limit, admission.controller().limit());
        assert!(!ledger.overfull, "the gate admitted beyond the window");
        assert!(ledger.waiting() <= MAX_WAITING as u64, "the queue is bounded");
        assert!(ledger.limit >= 1, "something may always go");
        let window = admission.controller().window();
        assert!(window.is_finite() && window >= ledger.limit as f64, "the limit is the floor");
    }
}

proptest! {
    #[test]
    fn a_ledger_of_events_equals_the_state_after_every_operation(
        operations in prop::collection::vec(operation(), 0..200),
        feedback in feedback(),
    ) {
        for law in laws() {
            let mut model = Model::new(&law, &feedback);
            for operation in &operations {
                model.apply(operation);
                model.assert_invariants();
            }
            let waiting = model.ledger.waiting();
            model.admission.abandon(model.now, &mut model.ledger);
            prop_assert_eq!(model.ledger.abandoned, waiting);
            prop_assert_eq!(model.admission.waiting(), 0);
        }
    }

    #[test]
    fn observers_cannot_change_a_decision(
        operations in prop::collection::vec(operation(), 0..200),
        feedback in feedback(),
    ) {
        for law in laws() {
            let mut watched = Model::new(&law, &feedback);
            let mut alone = Admission::new(Arm(0), law.build(&Streams::new(1)), MAX_WAITING, &feedback);
            let mut tickets = Vec::new();
            for operation in &operations {
                let returns = watched.backing_off.front().copied();
                watched.apply(operation);
                unwatched(&mut alone, &mut tickets, operation, returns, &watched);
                prop_assert_eq!(alone.limit(), watched.admission.limit());
                prop_assert_eq!(&tickets, &watched.tickets);
            }
        }
    }
}

/// The same operation, with nobody watching.
fn unwatched(
    admission: &mut Admission,
    tickets: &mut Vec<Ticket>,
    operation: &Operation,
    returns: Option<Arrival>,
    watched: &Model,
) {
    let now = watched.now;
    match *operation {
        Operation::Arrive => {
            let arrival = Arrival::new(watched.next_id - 1, 0, now);
            let _ = admission.arrive(now, arrival, &mut ());
        }
        Operation::Admit => tickets.extend(admission.admit(now, &mut ())),
        Operation::AdmitUngated => tickets.extend(admission.admit_ungated(now, &mut ())),
        Operation::Finish { which, outcome, again } if !tickets.is_empty() => {
            let ticket = tickets.swap_remove(which % tickets.len());
            let answer = Answer::without(outcome, ticket.start, now);
            admission.finish(now, ticket, &answer, again.then_some(BACK_OFF), &mut ());
        }
        Operation::Finish { .. } => {}
        Operation::Return => {
            if let Some(arrival) = returns {
                let _ = admission.arrive(now, arrival, &mut ());
                tickets.extend(admission.admit(now, &mut ()));
            }
        }
        Operation::Pass(_) => admission.on_wake(now, &mut ()),
    }
}

#[test]
#[should_panic(expected = "a ticket ended twice")]
fn a_ticket_cannot_end_twice() {
    let law = &ControllerConfig::all()[0];
    let admission =
        || Admission::new(Arm(0), law.build(&Streams::new(1)), 1, &FeedbackConfig::PerResponse);
    let (mut giver, mut taker) = (admission(), admission());
    let arrival = Arrival::new(0, 0, Time::ZERO);
    giver.arrive(Time::ZERO, arrival, &mut ()).unwrap();
    let ticket = giver.admit(Time::ZERO, &mut ()).unwrap();
    let answer = Answer::without(Outcome::Success, Time::ZERO, Time::ZERO);
    // The type forbids it within one admission; a ticket of another has no slot there.
    taker.finish(Time::ZERO, ticket, &answer, None, &mut ());
}
