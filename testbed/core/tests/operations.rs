//! Random operation sequences on an admission, for every registered law, against a ledger that
//! is rebuilt from events alone. Invariants are checked after each operation.

mod support;

use proptest::prelude::*;
use support::Ledger;
use testbed_core::admission::Admission;
use testbed_core::bucket::BucketConfig;
use testbed_core::control::{ControllerConfig, rate_limit};
use testbed_core::feedback::{Drain, FeedbackConfig};
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
    Finish { which: usize, outcome: Outcome },
    Pass(u32),
}

fn operation() -> impl Strategy<Value = Operation> {
    let outcome = prop::sample::select(Outcome::ALL.to_vec());
    prop_oneof![
        4 => Just(Operation::Arrive),
        4 => Just(Operation::Admit),
        1 => Just(Operation::AdmitUngated),
        4 => (any::<usize>(), outcome)
            .prop_map(|(which, outcome)| Operation::Finish { which, outcome }),
        2 => any::<u32>().prop_map(Operation::Pass),
    ]
}

fn feedback() -> impl Strategy<Value = FeedbackConfig> {
    let drain = |(turnaround, at_most)| {
        FeedbackConfig::PerDrain(Drain { turnaround: Nanos::new(turnaround), at_most })
    };
    prop_oneof![Just(FeedbackConfig::PerResponse), (0u64..1_000_000_000, 1u32..20).prop_map(drain),]
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
    now: Time,
    next_id: u64,
}

impl Model {
    fn new(law: &ControllerConfig, feedback: &FeedbackConfig) -> Self {
        let mut ledger = Ledger::default();
        let mut admission =
            Admission::new(Arm(0), law.build(&Streams::new(1)), MAX_WAITING, feedback);
        admission.announce(Time::ZERO, &mut ledger);
        Self { admission, ledger, tickets: Vec::new(), now: Time::ZERO, next_id: 0 }
    }

    fn apply(&mut self, operation: &Operation) {
        match *operation {
            Operation::Arrive => {
                let arrival = Arrival::new(self.next_id, 0, self.now);
                self.next_id += 1;
                let _ = self.admission.arrive(self.now, arrival, &mut self.ledger);
            }
            Operation::Admit => {
                self.tickets.extend(self.admission.admit(self.now, &mut self.ledger))
            }
            Operation::AdmitUngated => {
                self.tickets.extend(self.admission.admit_ungated(self.now, &mut self.ledger));
            }
            Operation::Finish { which, outcome } if !self.tickets.is_empty() => {
                let ticket = self.tickets.swap_remove(which % self.tickets.len());
                let answer = Answer::without(outcome, ticket.start, self.now);
                self.admission.finish(self.now, ticket, &answer, None, &mut self.ledger);
            }
            Operation::Finish { .. } => {}
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
                watched.apply(operation);
                unwatched(&mut alone, &mut tickets, operation, &watched);
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
        Operation::Finish { which, outcome } if !tickets.is_empty() => {
            let ticket = tickets.swap_remove(which % tickets.len());
            let answer = Answer::without(outcome, ticket.start, now);
            admission.finish(now, ticket, &answer, None, &mut ());
        }
        Operation::Finish { .. } => {}
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
