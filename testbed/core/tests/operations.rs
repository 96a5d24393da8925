//! Random operation sequences on an admission, for every registered law and every discipline of its queue,
//! against a ledger that is rebuilt from events alone. Invariants are checked after each operation.

mod support;

use proptest::prelude::*;
use support::Ledger;
use testbed_core::admission::Admission;
use testbed_core::control::ControllerConfig;
use testbed_core::feedback::{Drain, FeedbackConfig};
use testbed_core::quantity::Share;
use testbed_core::queue::{GiveUp, Queue, QueueConfig, QueueDiscipline, Tie, Zero};
use testbed_core::request::{Answer, Arm, Arrival, Class, Outcome, Ticket};
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

/// Every law with every queue of [`queues`].
fn each_with_each(
    give_up: Option<GiveUp>,
    shares: &[Share],
) -> Vec<(ControllerConfig, QueueConfig)> {
    let queues = queues(give_up, shares);
    let with_each = |law: ControllerConfig| {
        queues.iter().map(move |queue| (law.clone(), queue.clone())).collect::<Vec<_>>()
    };
    ControllerConfig::all().into_iter().flat_map(with_each).collect()
}

/// Every discipline with this longest wait and these parts of the window.
fn queues(give_up: Option<GiveUp>, shares: &[Share]) -> Vec<QueueConfig> {
    let queue =
        |discipline| QueueConfig { max: MAX_WAITING, discipline, give_up, shares: shares.to_vec() };
    QueueDiscipline::all().into_iter().map(queue).collect()
}

fn give_up() -> impl Strategy<Value = Option<GiveUp>> {
    let zero = prop::sample::select(vec![Zero::Now, Zero::Never]);
    let tie = prop::sample::select(vec![Tie::Leaves, Tie::LosesPermit]);
    let lengths = (1u64..10_000_000_000, prop_oneof![Just(0), 1u64..5_000_000_000]);
    let give_up = (lengths, zero, tie).prop_map(|((after, granularity), zero, tie)| GiveUp {
        after: Nanos::new(after),
        granularity: Nanos::new(granularity),
        zero,
        tie,
    });
    prop::option::of(give_up)
}

fn shares() -> impl Strategy<Value = Vec<Share>> {
    let shares =
        |percents: &[u8]| percents.iter().map(|percent| Share::percent(*percent)).collect();
    prop_oneof![Just(Vec::new()), Just(shares(&[70, 30])), Just(shares(&[50, 0]))]
}

/// The n-th request: of one of three classes, the last of which no list of shares knows.
fn request(n: u64, now: Time) -> Arrival {
    Arrival { class: Class((n % 3) as u8), ..Arrival::new(n, 0, now) }
}

/// An admission, what it gave out, and what its events say.
struct Model {
    admission: Admission,
    ledger: Ledger,
    tickets: Vec<Ticket>,
    now: Time,
    next_id: u64,
    told: u64,
    give_up: Option<GiveUp>,
}

fn admission(law: &ControllerConfig, queue: &QueueConfig, feedback: &FeedbackConfig) -> Admission {
    let streams = Streams::new(1);
    Admission::new(Arm(0), law.build(&streams), Queue::of(queue, &streams), feedback)
}

impl Model {
    fn new(law: &ControllerConfig, queue: &QueueConfig, feedback: &FeedbackConfig) -> Self {
        let mut ledger = Ledger::default();
        let mut admission = admission(law, queue, feedback);
        admission.announce(Time::ZERO, &mut ledger);
        let (now, give_up) = (Time::ZERO, queue.give_up);
        Self { admission, ledger, tickets: Vec::new(), now, next_id: 0, told: 0, give_up }
    }

    fn apply(&mut self, operation: &Operation) {
        match *operation {
            Operation::Arrive => {
                let arrival = request(self.next_id, self.now);
                self.next_id += 1;
                let arrived = self.admission.arrive(self.now, arrival, &mut self.ledger);
                self.told += u64::from(arrived.is_err());
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
                self.assert_longest_wait();
            }
        }
        self.told += std::iter::from_fn(|| self.admission.take_turned_away()).count() as u64;
    }

    /// A timer that is set right lets nobody wait for longer than the longest wait.
    fn assert_longest_wait(&mut self) {
        self.admission.look(self.now, &mut self.ledger);
        if let Some(GiveUp { after, zero: Zero::Now, .. }) = self.give_up {
            assert!(self.ledger.oldest < after, "{:?} is too long", self.ledger.oldest);
        }
    }

    fn assert_invariants(&self) {
        let (admission, ledger) = (&self.admission, &self.ledger);
        assert_eq!(ledger.rejected, self.told, "who is turned away is told, once");
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
        give_up in give_up(),
        shares in shares(),
    ) {
        for (law, queue) in &each_with_each(give_up, &shares) {
            let mut model = Model::new(law, queue, &feedback);
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
        give_up in give_up(),
        shares in shares(),
    ) {
        for (law, queue) in &each_with_each(give_up, &shares) {
            let mut watched = Model::new(law, queue, &feedback);
            let mut alone = admission(law, queue, &feedback);
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
            let arrival = request(watched.next_id - 1, now);
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
    let queue = &queues(None, &[])[0];
    let admission = || admission(law, queue, &FeedbackConfig::PerResponse);
    let (mut giver, mut taker) = (admission(), admission());
    let arrival = Arrival::new(0, 0, Time::ZERO);
    giver.arrive(Time::ZERO, arrival, &mut ()).unwrap();
    let ticket = giver.admit(Time::ZERO, &mut ()).unwrap();
    let answer = Answer::without(Outcome::Success, Time::ZERO, Time::ZERO);
    // The type forbids it within one admission; a ticket of another has no slot there.
    taker.finish(Time::ZERO, ticket, &answer, None, &mut ());
}
