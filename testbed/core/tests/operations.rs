//! Random operation sequences on an admission, for every registered law and every discipline of its queue,
//! against a ledger that is rebuilt from events alone. Invariants are checked after each operation.

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

/// Every law with every queue of [`queues`].
fn each_with_each(
    give_up: Option<GiveUp>,
    shares: &[Share],
) -> Vec<(ControllerConfig, QueueConfig)> {
    let queues = queues(give_up, shares);
    let with_each = |law: ControllerConfig| {
        queues.iter().map(move |queue| (law.clone(), queue.clone())).collect::<Vec<_>>()
    };
    laws().into_iter().flat_map(with_each).collect()
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
    /// Requests between two attempts.
    backing_off: VecDeque<Arrival>,
    now: Time,
    next_id: u64,
    told: u64,
    give_up: Option<GiveUp>,
}

fn admission(law: &ControllerConfig, queue: &QueueConfig, feedback: &FeedbackConfig) -> Admission {
    let streams = Streams::new(1);
    Admission::new(Arm(0), law.build(&streams), Queue::of(queue, &streams), feedback)
}

/// How long a back-off is. It does not matter here.
const BACK_OFF: Nanos = Nanos::from_millis(1);

impl Model {
    fn new(law: &ControllerConfig, queue: &QueueConfig, feedback: &FeedbackConfig) -> Self {
        let mut ledger = Ledger::default();
        let mut admission = admission(law, queue, feedback);
        admission.announce(Time::ZERO, &mut ledger);
        let (tickets, backing_off) = (Vec::new(), VecDeque::new());
        let (now, next_id, told, give_up) = (Time::ZERO, 0, 0, queue.give_up);
        Self { admission, ledger, tickets, backing_off, now, next_id, told, give_up }
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
                    let arrival = Arrival { planned: self.now, ..arrival };
                    let arrived = self.admission.arrive(self.now, arrival, &mut self.ledger);
                    self.told += u64::from(arrived.is_err());
                    // At once, as the shell does it: who has kept a place takes no room in the queue.
                    self.tickets.extend(self.admission.admit(self.now, &mut self.ledger));
                }
            }
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
            let arrival = request(watched.next_id - 1, now);
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
                let arrival = Arrival { planned: now, ..arrival };
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
    let law = &laws()[0];
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
