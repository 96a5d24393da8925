//! Admission: queue, gate, feedback and controller wired together. One arm has one.
//!
//! ```text
//! arrive -> queue -> admit: gate asks the window -> Ticket -> ... -> finish -> sample
//!    ^                        ^                                                   |
//!    | accepts?               | limit, releases?                                  |
//!    +------------------------+---------------- controller <- feedback <----------+
//! ```
//!
//! After every call ask [`Admission::admit`] and [`Admission::take_turned_away`] until they have no more,
//! then [`Admission::next_wake`].

mod kept;

use crate::control::{Controller, Decision, Update};
use crate::event::Event;
use crate::feedback::{Feedback, FeedbackConfig};
use crate::gate::Gate;
use crate::observe::Observer;
use crate::queue::{Queue, Rejection, Turn};
use crate::request::{Answer, Arm, Arrival, Sample, Ticket};
use crate::time::{Nanos, Time};
use crate::vitals::Vitals;
use kept::Kept;
use std::collections::VecDeque;

/// Decides when each request of an arm may go, and tells the arm's controller what came back.
#[derive(Debug)]
pub struct Admission {
    arm: Arm,
    controller: Box<dyn Controller>,
    gate: Gate,
    queue: Queue,
    kept: Kept,
    feedback: Feedback,
    vitals: Vitals,
    /// Those that had waited, and whose clients have not been told yet.
    turned_away: VecDeque<Arrival>,
}

impl Admission {
    /// An idle admission, whose requests wait in this queue.
    pub fn new(
        arm: Arm,
        controller: Box<dyn Controller>,
        queue: Queue,
        feedback: &FeedbackConfig,
    ) -> Self {
        Self {
            arm,
            gate: Gate::new(controller.limit()),
            controller,
            queue,
            kept: Kept::default(),
            feedback: Feedback::new(feedback),
            vitals: Vitals::new(),
            turned_away: VecDeque::new(),
        }
    }

    /// The load offers a request.
    ///
    /// # Errors
    /// Hands it back when the law does not accept it or the queue is full; it has been counted as
    /// rejected.
    pub fn arrive<O: Observer>(
        &mut self,
        now: Time,
        arrival: Arrival,
        observer: &mut O,
    ) -> Result<(), Arrival> {
        let arm = self.arm;
        observer.on_event(now, &Event::Arrived { arm, arrival, lag: now.since(arrival.planned) });
        if self.kept.come_back(arrival) {
            return Ok(());
        }
        let rejected = if !self.controller.accepts(now, &arrival) {
            Rejection::Law
        } else if self.queue.push(now, arrival).is_err() {
            Rejection::Full
        } else {
            return Ok(());
        };
        observer.on_event(now, &Event::Rejected { arm, arrival, why: rejected });
        Err(arrival)
    }

    /// The next request that may go now, if there is one: who has kept a place, or whom the window lets
    /// in. It must be sent.
    pub fn admit<O: Observer>(&mut self, now: Time, observer: &mut O) -> Option<Ticket> {
        self.dismiss(now, observer);
        if let Some((arrival, since)) = self.kept.resume() {
            self.gate.resume();
            return Some(self.ticket(now, arrival, since, false, observer));
        }
        while self.gate.is_open() {
            match self.queue.turn(now, self.gate.limit())? {
                Turn::Away(arrival) => self.turn_away(now, arrival, Rejection::Codel, observer),
                Turn::Go(place) => {
                    let released = self.controller.releases(now, self.queue.at(place));
                    let arrival = released.then(|| self.queue.take(place)).flatten()?;
                    return Some(self.enter(now, arrival, true, observer));
                }
            }
        }
        None
    }

    /// The next waiting request, whatever the window says: an input's end may flush past it.
    pub fn admit_ungated<O: Observer>(&mut self, now: Time, observer: &mut O) -> Option<Ticket> {
        let arrival = self.queue.take_next(now)?;
        Some(self.enter(now, arrival, false, observer))
    }

    /// The next request that was turned away after it had waited. Its client must be told.
    pub fn take_turned_away(&mut self) -> Option<Arrival> {
        self.turned_away.pop_front()
    }

    /// Sends away those that have waited for too long.
    fn dismiss<O: Observer>(&mut self, now: Time, observer: &mut O) {
        while let Some(arrival) = self.queue.leave(now) {
            // The place that was just released was about to be its own.
            if self.gate.is_open() && self.queue.loses_permit(now) {
                self.gate.lose();
            }
            self.turn_away(now, arrival, Rejection::MaxWait, observer);
        }
    }

    fn turn_away<O: Observer>(
        &mut self,
        now: Time,
        arrival: Arrival,
        why: Rejection,
        observer: &mut O,
    ) {
        self.turned_away.push_back(arrival);
        observer.on_event(now, &Event::Rejected { arm: self.arm, arrival, why });
    }

    fn enter<O: Observer>(
        &mut self,
        now: Time,
        arrival: Arrival,
        gated: bool,
        observer: &mut O,
    ) -> Ticket {
        self.gate.enter();
        self.ticket(now, arrival, now, gated, observer)
    }

    /// The ticket of a request that has entered, and has its place `since` then.
    fn ticket<O: Observer>(
        &self,
        now: Time,
        arrival: Arrival,
        since: Time,
        gated: bool,
        observer: &mut O,
    ) -> Ticket {
        let (in_flight_at_start, limit) = (self.gate.taken(), self.gate.limit());
        let admitted = Event::Admitted {
            arm: self.arm,
            arrival,
            wait: now.since(arrival.planned),
            in_flight: self.gate.in_flight(),
            waiting: self.waiting(),
            limit,
            gated,
        };
        observer.on_event(now, &admitted);
        Ticket { arrival, start: now, since, in_flight_at_start, limit_at_start: limit }
    }

    /// A request came back, or failed, or was given up. Its client tries it `again` after so long,
    /// or never.
    pub fn finish<O: Observer>(
        &mut self,
        now: Time,
        ticket: Ticket,
        answer: &Answer,
        again: Option<Nanos>,
        observer: &mut O,
    ) {
        let sample = Sample {
            start: ticket.start,
            sent: answer.sent,
            end: answer.end,
            in_flight_at_start: ticket.in_flight_at_start,
            in_flight_at_end: self.gate.taken(),
            limit_at_start: ticket.limit_at_start,
            outcome: answer.outcome,
            bytes: answer.bytes,
        };
        if again.is_some() && self.feedback.keeps_places() {
            self.gate.keep();
            self.kept.keep(ticket.arrival.id, ticket.since);
        } else {
            self.gate.leave();
            self.queue.released(now, &ticket.arrival);
        }
        let finished = Event::Finished {
            arm: self.arm,
            arrival: ticket.arrival,
            sample,
            served: answer.served,
            hit: answer.hit,
            again,
            in_flight: self.gate.in_flight(),
        };
        observer.on_event(now, &finished);
        let told = self.feedback.told(sample, ticket.since, again.is_some());
        if let Some(sample) = told.and_then(|sample| self.feedback.offer(now, sample)) {
            let decision = self.controller.on_sample(now, &sample);
            self.take_over(now, decision, observer);
        }
    }

    /// The next instant at which [`Admission::on_wake`] has something to do.
    pub fn next_wake(&self) -> Option<Time> {
        let queue = self.queue.next_wake();
        Time::earliest([self.feedback.next_wake(), self.controller.next_wake(), queue])
    }

    /// Does what is due at `now`: a wait that is over, a drain of responses, a clock of the law.
    pub fn on_wake<O: Observer>(&mut self, now: Time, observer: &mut O) {
        self.dismiss(now, observer);
        while let Some(sample) = self.feedback.take(now) {
            let decision = self.controller.on_sample(now, &sample);
            self.take_over(now, decision, observer);
        }
        if self.controller.next_wake().is_some_and(|due| due <= now) {
            let decision = self.controller.on_wake(now);
            self.take_over(now, decision, observer);
        }
    }

    /// The run is over: what still waits will never run.
    pub fn abandon<O: Observer>(&mut self, now: Time, observer: &mut O) {
        let back = std::iter::from_fn(|| self.kept.resume().map(|(arrival, _)| arrival));
        for arrival in back.chain(std::iter::from_fn(|| self.queue.abandon())) {
            observer.on_event(now, &Event::Abandoned { arm: self.arm, arrival });
        }
    }

    fn take_over<O: Observer>(&mut self, now: Time, decision: Decision, observer: &mut O) {
        if let Decision::Updated(update) = decision {
            self.gate.set_limit(update.limit);
            self.tell(now, update, observer);
        }
    }

    fn tell<O: Observer>(&mut self, now: Time, update: Update, observer: &mut O) {
        self.vitals.clear();
        self.controller.vitals(&mut self.vitals);
        observer.on_event(now, &Event::Updated { arm: self.arm, update, vitals: &self.vitals });
    }

    /// Tells observers where the controller starts, before the first request.
    pub fn announce<O: Observer>(&mut self, now: Time, observer: &mut O) {
        let window = self.controller.window();
        let limit = self.controller.limit();
        self.tell(now, Update { old: window, new: window, limit, reason: "start" }, observer);
    }

    /// Tells observers the state of the queue, at a sampling instant.
    pub fn look<O: Observer>(&self, now: Time, observer: &mut O) {
        let (oldest, looks) = (self.queue.oldest(now), self.queue.looks());
        let lost = self.gate.lost();
        observer.on_event(now, &Event::Queue { arm: self.arm, oldest, looks, lost });
    }

    /// Requests in flight.
    pub const fn in_flight(&self) -> u32 {
        self.gate.in_flight()
    }

    /// Requests that wait.
    pub fn waiting(&self) -> u32 {
        self.queue.len() + self.kept.waiting()
    }

    /// What is admitted now.
    pub const fn limit(&self) -> u64 {
        self.gate.limit()
    }

    /// The controller, to read.
    pub fn controller(&self) -> &dyn Controller {
        &*self.controller
    }

    /// The controller's [`tolerated_rtt`](Controller::tolerated_rtt), for a backend that is held at a gradient.
    pub fn tolerated_rtt(&self) -> Option<Nanos> {
        self.controller.tolerated_rtt()
    }
}
