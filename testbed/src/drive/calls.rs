//! An arm's requests: load and admission, wired to the world.

use super::overhead::Overhead;
use super::world::{GivenUp, World};
use crate::experiment::plan;
use std::collections::BTreeMap;
use testbed_core::admission::Admission;
use testbed_core::client::{Classes, Patience, Retries};
use testbed_core::event::Event;
use testbed_core::hold::Feed;
use testbed_core::load::Load;
use testbed_core::observe::Observer;
use testbed_core::queue::Queue;
use testbed_core::request::{Answer, Arm, Arrival, Attempt, Outcome, Ticket};
use testbed_core::rng::Streams;
use testbed_core::time::Time;

/// The requests of one arm.
pub(super) struct Calls {
    arm: Arm,
    admission: Admission,
    load: Load,
    overhead: Overhead,
    retries: Retries,
    patience: Patience,
    /// When attempts in flight are given up, and in the order in which they were sent. Those that came
    /// back are among them.
    give_ups: BTreeMap<(Time, u64), Attempt>,
    /// Attempts that were sent.
    sent: u64,
    done: bool,
}

impl Calls {
    pub(super) fn new(arm: Arm, plan: &plan::Calls, streams: &Streams) -> Self {
        let (admission, client) = (&plan.admission, &plan.client);
        let classes = Classes::new(client.classes.values().copied(), streams);
        Self {
            arm,
            admission: Admission::new(
                arm,
                plan.controller.build(streams),
                Queue::of(&admission.queue(&client.classes), streams),
                &admission.feedback,
            ),
            load: Load::new(&plan.load, classes, streams),
            overhead: Overhead::default(),
            retries: Retries::new(client, streams),
            patience: client.patience(),
            give_ups: BTreeMap::new(),
            sent: 0,
            done: false,
        }
    }

    pub(super) fn next_wake(&self) -> Option<Time> {
        let give_up = self.give_ups.first_key_value().map(|((at, _), _)| *at);
        let offers = [self.load.next_wake(), self.retries.next_wake()];
        Time::earliest([Time::earliest(offers), self.admission.next_wake(), give_up])
    }

    /// Shows the law as it begins.
    pub(super) fn announce<O: Observer>(&mut self, now: Time, observer: &mut O) {
        self.admission.announce(now, observer);
    }

    /// Wakes the law if it is due, and lets go what may go.
    pub(super) fn go_on<W: World, O: Observer>(
        &mut self,
        now: Time,
        world: &mut W,
        observer: &mut O,
    ) {
        self.give_up(now, world, observer);
        self.admission.on_wake(now, observer);
        self.let_go(now, world, observer);
    }

    /// Gives up what has taken too long.
    fn give_up<W: World, O: Observer>(&mut self, now: Time, world: &mut W, observer: &mut O) {
        while let Some(due) = self.give_ups.first_entry().filter(|due| due.key().0 <= now) {
            let attempt = due.remove();
            if let Some(GivenUp { ticket, hit }) = world.give_up(self.arm, attempt) {
                let answer = Answer::without(Outcome::Timeout, ticket.start, now);
                let answer = Answer { hit, ..answer };
                let feed = self.take_back(now, ticket, &answer, observer);
                world.feed(self.arm, feed);
            }
        }
    }

    /// Sends what was admitted; but what was to be over while it waited is not sent any more.
    fn send<W: World, O: Observer>(
        &mut self,
        now: Time,
        ticket: Ticket,
        world: &mut W,
        observer: &mut O,
    ) {
        let arrival = ticket.arrival;
        if self.patience.is_over(&arrival, now) {
            let given_up = Answer::without(Outcome::Cancelled, ticket.start, now);
            self.admission.finish(now, ticket, &given_up, None, observer);
            self.over(now, arrival, now, observer);
            return;
        }
        if let Some(until) = self.patience.until(&arrival, now) {
            self.give_ups.insert((until, self.sent), arrival.attempt());
            self.sent += 1;
        }
        world.send(self.arm, ticket);
    }

    /// A request came back; what the backend is to know by it.
    pub(super) fn take_back<O: Observer>(
        &mut self,
        now: Time,
        ticket: Ticket,
        answer: &Answer,
        observer: &mut O,
    ) -> Feed {
        let arrival = ticket.arrival;
        if let Some(served) = answer.served {
            self.overhead.record(answer.end.since(ticket.start).minus(served.age));
        }
        let attempts = self.admission.waiting() + self.admission.in_flight();
        let again = self.retries.plan(now, arrival, answer.outcome, answer.retry_after, attempts);
        self.admission.finish(now, ticket, answer, again, observer);
        if again.is_none() {
            self.over(now, arrival, answer.end, observer);
        }
        Feed { baseline: self.admission.tolerated_rtt(), overhead: self.overhead.least() }
    }

    /// A request is over, for good or bad; this was known at `end`.
    fn over<O: Observer>(&mut self, now: Time, arrival: Arrival, end: Time, observer: &mut O) {
        self.retries.forget(&arrival);
        self.load.on_end(now, arrival.client);
        if self.load.is_done() && !std::mem::replace(&mut self.done, true) {
            let makespan = end.since(Time::ZERO);
            observer.on_event(now, &Event::InputDone { arm: self.arm, makespan });
        }
    }

    /// Offers what is planned and sends what may go.
    pub(super) fn let_go<W: World, O: Observer>(
        &mut self,
        now: Time,
        world: &mut W,
        observer: &mut O,
    ) {
        while let Some(arrival) = self.retries.take(now).or_else(|| self.load.take(now)) {
            if self.admission.arrive(now, arrival, observer).is_err() {
                self.over(now, arrival, now, observer);
            }
        }
        while let Some(ticket) = self.admission.admit(now, observer) {
            self.send(now, ticket, world, observer);
        }
        if self.load.flushes() {
            while let Some(ticket) = self.admission.admit_ungated(now, observer) {
                self.send(now, ticket, world, observer);
            }
        }
        while let Some(arrival) = self.admission.take_turned_away() {
            self.over(now, arrival, now, observer);
        }
    }

    /// Shows the queue, at a sampling instant.
    pub(super) fn look<O: Observer>(&self, now: Time, observer: &mut O) {
        self.admission.look(now, observer);
    }

    /// A request ends with the run.
    pub(super) fn finish<O: Observer>(
        &mut self,
        now: Time,
        ticket: Ticket,
        answer: &Answer,
        observer: &mut O,
    ) {
        self.admission.finish(now, ticket, answer, None, observer);
    }

    /// Requests that still wait are given up.
    pub(super) fn abandon<O: Observer>(&mut self, now: Time, observer: &mut O) {
        self.admission.abandon(now, observer);
    }
}
