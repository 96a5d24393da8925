//! Downloads: tasks of segments whose transfers are paced by a limiter. Pure: it is told the time
//! and what came in, and says what to open, read and close.
//!
//! ```text
//! slot free -> Open, Read -> chunk is here -> ask the limiter -> granted -> turnaround -> Read ...
//!                 ^                              | too slow                    | last byte
//!                 +------- back-off <------ Close, cancel                      +-> Close, next segment
//! ```
//!
//! A transfer that waits for the limiter keeps its slot and its chunk. One that is aborted keeps its
//! slot too, loses what came since its last checkpoint, and begins again after a back-off.
//!
//! Let it go on with [`Downloads::step`], one thing at a time, and carry out its
//! [commands](Downloads::take_command) in between: who asks again at once is part of the regime.

pub mod chunk;
pub mod config;
pub mod speed;

mod segment;
mod timers;
mod transfer;

pub use config::{DownloadConfig, Order, Retry};
pub use transfer::{Change, Command, Progress, Reason, TransferId};

use crate::event::Event;
use crate::limit::{Ask, Grant, Limiter, LimiterConfig, Waiter};
use crate::observe::Observer;
use crate::request::Arm;
use crate::rng::Streams;
use crate::time::{Nanos, Time};
use crate::vitals::Vitals;
use crate::wait::{Wait, WaitBook, WaitEnd};
use segment::{Segment, Stage};
use speed::{CHECK_EVERY, Paused};
use std::collections::VecDeque;
use timers::{Due, Timers};

/// The downloads of one arm and the limiter that paces them.
#[derive(Debug)]
pub struct Downloads {
    arm: Arm,
    config: DownloadConfig,
    limiter: Box<dyn Limiter>,
    book: WaitBook,
    segments: Vec<Segment>,
    /// Segments of each task that are not done.
    tasks: Vec<u32>,
    /// Segments without a slot, in the order in which they get one.
    pending: VecDeque<u32>,
    free_slots: u64,
    active: u32,
    unfinished: u64,
    timers: Timers,
    commands: VecDeque<Command>,
    vitals: Vitals,
}

impl Downloads {
    /// Downloads that have not begun; the first segments are opened at the first step. Chance comes
    /// from the streams `limiter` and `chunks/<segment>`: the n-th chunk
    /// of a segment is the same in every arm.
    pub fn new(
        arm: Arm,
        config: &DownloadConfig,
        limiter: &LimiterConfig,
        streams: &Streams,
    ) -> Self {
        let mut timers = Timers::default();
        timers.set(Time::ZERO, Due::Start);
        Self {
            arm,
            limiter: limiter.build(streams),
            book: WaitBook::new(limiter.levels()),
            segments: segment::all(config, streams),
            tasks: vec![config.segments; config.tasks as usize],
            pending: segment::order(config),
            free_slots: config.slots(),
            active: 0,
            unfinished: config.all_segments(),
            timers,
            commands: VecDeque::new(),
            vitals: Vitals::new(),
            config: config.clone(),
        }
    }

    /// These downloads behind another limiter: one that does elsewhere what the policy does here.
    #[must_use]
    pub fn behind(self, limiter: Box<dyn Limiter>) -> Self {
        Self { limiter, ..self }
    }

    /// When it wants to be let go on.
    pub fn next_wake(&self) -> Option<Time> {
        Time::earliest([self.limiter.next_wake(), self.timers.next()])
    }

    /// What the world is to do next; ask until there is nothing.
    pub fn take_command(&mut self) -> Option<Command> {
        self.commands.pop_front()
    }

    /// Does one thing that is due at `now`: who has waited goes before who comes.
    pub fn step<O: Observer>(&mut self, now: Time, observer: &mut O) {
        if let Some(due) = self.limiter.next_wake().filter(|due| *due <= now) {
            if let Some(grant) = self.limiter.on_wake(now) {
                self.on_grant(now, &grant, now.since(due), observer);
            }
            return;
        }
        match self.timers.take(now) {
            None => {}
            Some(Due::Start) => self.fill_slots(now, observer),
            Some(Due::Read(id)) => self.on_read_due(id),
            Some(Due::Check(id)) => self.on_check(now, id, observer),
            Some(Due::Retry(id)) => self.open(now, id.segment, observer),
        }
    }

    /// A transfer has come on, or has broken. An attempt that is over is ignored.
    pub fn on_progress<O: Observer>(
        &mut self,
        now: Time,
        id: TransferId,
        progress: Progress,
        observer: &mut O,
    ) {
        if !self.is_current(id) {
            return;
        }
        match progress {
            Progress::Received(_) if !self.is_reading(id) => {}
            Progress::Received(bytes) => self.ask(now, id.segment, bytes, observer),
            Progress::Broken => self.abort(now, id.segment, Reason::Broken, observer),
        }
    }

    fn is_reading(&self, id: TransferId) -> bool {
        self.segments[id.segment as usize].stage == Stage::Reading
    }

    /// Shows the limiter's inner numbers.
    pub fn look<O: Observer>(&mut self, now: Time, observer: &mut O) {
        self.vitals.clear();
        self.limiter.vitals(&mut self.vitals);
        let (tokens, stocks) = (self.limiter.tokens(now), self.limiter.levels().stocks());
        let (arm, vitals) = (self.arm, &self.vitals);
        let state = Event::Limiter { arm, vitals, tokens, stocks: &stocks };
        observer.on_event(now, &state);
    }

    /// The run ends: so do all waits.
    pub fn cut_off<O: Observer>(&mut self, now: Time, observer: &mut O) {
        let waits = self.book.cut_off();
        let mut waiting = waits.len();
        for wait in waits {
            waiting -= 1;
            self.wait_ended(now, wait, WaitEnd::CutOff, (0, Nanos::ZERO, waiting), observer);
        }
    }

    /// Whether every segment has been done or given up.
    pub const fn is_over(&self) -> bool {
        self.unfinished == 0
    }

    fn is_current(&self, id: TransferId) -> bool {
        let segment = self.segments.get(id.segment as usize);
        segment.is_some_and(|segment| segment.attempt == id.attempt && segment.is_open())
    }

    fn fill_slots<O: Observer>(&mut self, now: Time, observer: &mut O) {
        while self.free_slots > 0
            && let Some(segment) = self.pending.pop_front()
        {
            self.free_slots -= 1;
            self.active += 1;
            self.open(now, segment, observer);
        }
    }

    fn open<O: Observer>(&mut self, now: Time, index: u32, observer: &mut O) {
        let segment = &mut self.segments[index as usize];
        segment.watch.reset(now, segment.granted);
        let (id, waiter) = (segment.id(index), segment.waiter);
        let (offset, length) = segment.range(self.config.segment);
        self.commands.push_back(Command::Open { id, offset, length });
        if self.config.low_speed.is_some() {
            self.timers.set(now.after(CHECK_EVERY), Due::Check(id));
        }
        self.changed(now, waiter, Change::Opened { attempt: id.attempt }, observer);
        self.read_on(now, index);
    }

    /// Reads the next chunk, after what the client needs for it.
    fn read_on(&mut self, now: Time, index: u32) {
        let segment = &mut self.segments[index as usize];
        let drawn = self.config.chunk.draw(segment.waiter.task, &mut segment.chunks);
        segment.chunk = segment.left.map_or(drawn, |left| drawn.min(left));
        segment.stage = Stage::Reading;
        let pause = self.config.pause(segment.chunk);
        let id = segment.id(index);
        if pause == Nanos::ZERO {
            self.on_read_due(id);
        } else {
            self.timers.set(now.after(pause), Due::Read(id));
        }
    }

    fn on_read_due(&mut self, id: TransferId) {
        if self.is_current(id) {
            let bytes = self.segments[id.segment as usize].chunk;
            self.commands.push_back(Command::Read { id, bytes });
        }
    }

    fn ask<O: Observer>(&mut self, now: Time, index: u32, cost: u64, observer: &mut O) {
        let waiter = self.segments[index as usize].waiter;
        let answer = self.limiter.ask(now, waiter, cost);
        let quoted = match answer {
            Ask::Granted => Some(now),
            Ask::Waiting { quoted } => quoted,
            Ask::Refused => None,
        };
        let wait = self.book.asked(now, waiter, cost, quoted);
        let waiting = self.book.len() as u32 + 1;
        observer.on_event(now, &Event::Asked { arm: self.arm, wait, waiting });
        match answer {
            Ask::Waiting { .. } => {
                self.segments[index as usize].stage = Stage::Waiting;
                self.book.begin(wait);
            }
            Ask::Granted => {
                let overtook = self.book.went_at_once();
                self.granted(now, wait, (overtook, Nanos::ZERO), observer);
            }
            Ask::Refused => {
                self.book.begin(wait);
                self.close(now, index, observer);
                self.fail(now, index, observer);
            }
        }
    }

    fn on_grant<O: Observer>(&mut self, now: Time, grant: &Grant, lag: Nanos, observer: &mut O) {
        if let Some((wait, overtook)) = self.book.granted(grant) {
            let segment = &mut self.segments[grant.waiter.id as usize];
            if self.config.low_speed.is_some_and(|low| low.paused == Paused::Exempt) {
                segment.watch.reset(now, segment.granted);
            }
            self.granted(now, wait, (overtook, lag), observer);
        }
    }

    fn granted<O: Observer>(
        &mut self,
        now: Time,
        wait: Wait,
        (overtook, lag): (u32, Nanos),
        observer: &mut O,
    ) {
        let detail = (overtook, lag, self.book.len());
        self.wait_ended(now, wait, WaitEnd::Granted, detail, observer);
        let index = wait.waiter.id;
        let segment = &mut self.segments[index as usize];
        segment.take_in(wait.cost);
        match segment.left {
            Some(0) => self.finish(now, index, observer),
            _ => self.read_on(now, index),
        }
    }

    fn wait_ended<O: Observer>(
        &self,
        now: Time,
        wait: Wait,
        end: WaitEnd,
        (overtook, lag, waiting): (u32, Nanos, usize),
        observer: &mut O,
    ) {
        let (arm, waiting, active) = (self.arm, waiting as u32, self.active);
        let ended = Event::WaitEnded { arm, wait, end, overtook, lag, waiting, active };
        observer.on_event(now, &ended);
    }

    /// The once-a-second look at a transfer's speed.
    fn on_check<O: Observer>(&mut self, now: Time, id: TransferId, observer: &mut O) {
        let Some(low) = self.config.low_speed.filter(|_| self.is_current(id)) else { return };
        let segment = &mut self.segments[id.segment as usize];
        let exempt = low.paused == Paused::Exempt && segment.stage == Stage::Waiting;
        if !exempt && segment.watch.check(now, segment.granted, &low) {
            self.abort(now, id.segment, Reason::LowSpeed, observer);
        } else {
            self.timers.set(now.after(CHECK_EVERY), Due::Check(id));
        }
    }

    fn abort<O: Observer>(&mut self, now: Time, index: u32, reason: Reason, observer: &mut O) {
        self.close(now, index, observer);
        let segment = &mut self.segments[index as usize];
        let lost = segment.lose(self.config.checkpoint.get());
        let (waiter, retries) = (segment.waiter, segment.retries);
        self.changed(now, waiter, Change::Aborted { reason, lost }, observer);
        let Some(back_off) = self.config.retry.back_off(retries) else {
            return self.fail(now, index, observer);
        };
        let segment = &mut self.segments[index as usize];
        segment.retries += 1;
        segment.attempt += 1;
        self.timers.set(now.after(back_off), Due::Retry(segment.id(index)));
    }

    /// Closes a transfer and gives its wait up, if it has one.
    fn close<O: Observer>(&mut self, now: Time, index: u32, observer: &mut O) {
        let segment = &mut self.segments[index as usize];
        let stage = std::mem::replace(&mut segment.stage, Stage::Closed);
        self.commands.push_back(Command::Close { id: segment.id(index) });
        // A grant stays taken; in Go's arithmetic even that could be cancelled at its own instant.
        if stage == Stage::Waiting {
            self.limiter.cancel(now, index);
        }
        if let Some(wait) = self.book.cancelled(now, index) {
            let detail = (0, Nanos::ZERO, self.book.len());
            self.wait_ended(now, wait, WaitEnd::Cancelled, detail, observer);
        }
    }

    fn finish<O: Observer>(&mut self, now: Time, index: u32, observer: &mut O) {
        self.close(now, index, observer);
        let waiter = self.segments[index as usize].waiter;
        let left = &mut self.tasks[waiter.task as usize];
        *left -= 1;
        let task_done = *left == 0;
        self.leave_slot(now, waiter, Change::Done { task_done }, observer);
        if self.is_over() && self.tasks.iter().all(|left| *left == 0) {
            let makespan = now.since(Time::ZERO);
            observer.on_event(now, &Event::InputDone { arm: self.arm, makespan });
        }
    }

    fn fail<O: Observer>(&mut self, now: Time, index: u32, observer: &mut O) {
        let waiter = self.segments[index as usize].waiter;
        self.leave_slot(now, waiter, Change::Failed, observer);
    }

    fn leave_slot<O: Observer>(
        &mut self,
        now: Time,
        waiter: Waiter,
        change: Change,
        observer: &mut O,
    ) {
        self.active -= 1;
        self.unfinished -= 1;
        self.free_slots += 1;
        self.changed(now, waiter, change, observer);
        self.fill_slots(now, observer);
    }

    fn changed<O: Observer>(&self, now: Time, waiter: Waiter, change: Change, observer: &mut O) {
        let (arm, active) = (self.arm, self.active);
        observer.on_event(now, &Event::Transfer { arm, waiter, change, active });
    }
}
