//! The live world: real time and real HTTP/1.1, each arm through its proxy to its own backend.
//!
//! The shell's thread is the generator: it sleeps on the channel of answers until the next instant
//! at which there is something to do, which is as precise as the system's timers. Everything that
//! has a socket runs on tokio.

mod arm;
mod backend;
mod leaky_bucket;
mod outside;
mod probe;
mod transfers;

use super::interrupt::Interrupt;
use super::world::{ArmFaults, Closed, GivenUp, ReadBack, Signal, Step, World, WorldError};
use crate::backend::BackendUrl;
use crate::client::{Local, Reply};
use crate::experiment::plan::ArmPlan;
use crate::trace_ids::TraceIds;
use arm::LiveArm;
use backend::Backends;
use faults::Engine;
use faults::engine::EmbeddedHost;
use outside::Bell;
use probe::Probe;
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;
use testbed_clock::{LiveClock, Timer, set_fine_timer_slack};
use testbed_core::download::{Command, Progress, TransferId};
use testbed_core::event::Network;
use testbed_core::hold::Feed;
use testbed_core::limit::{Limiter, LimiterConfig};
use testbed_core::request::{Answer, Arm, Attempt, Outcome, Ticket};
use testbed_core::rng::Streams;
use testbed_core::service::{BackendState, Counts};
use testbed_core::time::{Nanos, Time};
use tokio::runtime::{Builder, Runtime};
use tokio::task::AbortHandle;
use transfers::Transfers;

/// How often the shell's thread looks for signals while nothing happens, and after proxies and backends.
const LOOK_FOR_SIGNALS: Nanos = Nanos::from_millis(50);
/// How long tasks may take to end when the world is closed.
const CLOSING: Duration = Duration::from_millis(200);

/// A world of sockets and real time.
pub struct Live {
    clock: LiveClock,
    /// When the run began, by the clock.
    origin: Time,
    now: Time,
    runtime: Option<Runtime>,
    backends: Backends,
    arms: Vec<LiveArm>,
    outstanding: BTreeMap<(Arm, Attempt), Outstanding>,
    transfers: Transfers,
    probe: Probe,
    back: Receiver<Back>,
    send_back: Sender<Back>,
    interrupt: Interrupt,
    /// When proxies and backends are looked after next.
    next_look: Time,
    /// Whether an answer is to be looked for before the time is: what is always due must not keep
    /// the other from ever being seen.
    answers_first: bool,
}

/// A request that has not come back, and the task that waits for it.
struct Outstanding {
    ticket: Ticket,
    task: AbortHandle,
    /// The connection that carries it.
    local: Arc<Local>,
}

/// What came back to an arm, as a task tells the shell.
struct Back {
    arm: Arm,
    what: What,
}

/// What it is.
enum What {
    /// A request came back. Instants are the clock's.
    Answer(Attempt, Answer),
    /// A transfer came on or broke.
    Transfer(TransferId, Progress),
    /// A limiter elsewhere has granted, and knows to whom.
    Granted,
}

impl Live {
    /// Starts a backend for each arm, on a free port of loopback or at the URL, and a proxy in front of it
    /// if there is an engine.
    ///
    /// # Errors
    /// When the system does not give the sockets or threads that it takes, the engine does not make a
    /// proxy, or the URL no backends.
    pub fn start(
        arms: &[ArmPlan],
        engine: Option<&Engine>,
        backend: Option<&BackendUrl>,
        streams: &Streams,
        interrupt: Interrupt,
    ) -> Result<Self, WorldError> {
        set_fine_timer_slack();
        let clock = LiveClock::start();
        let timer = Timer::start(clock);
        let runtime = runtime(arms).map_err(failed("cannot start tokio"))?;
        let host = EmbeddedHost { runtime: runtime.handle().clone(), timer, streams: *streams };
        let mut backends = Backends::open(backend, arms, &host)?;
        let mut started = Vec::new();
        for arm in arms {
            let shared = started.get(arm.host);
            started.push(LiveArm::start(arm, shared, engine, &mut backends, &host)?);
        }
        let (send_back, back) = channel();
        Ok(Self {
            clock,
            origin: clock.now(),
            now: Time::ZERO,
            runtime: Some(runtime),
            backends,
            arms: started,
            outstanding: BTreeMap::new(),
            transfers: Transfers::default(),
            probe: Probe::default(),
            back,
            send_back,
            interrupt,
            next_look: Time::ZERO,
            answers_first: false,
        })
    }

    /// Has calls carry the context of their traces from now on.
    pub fn trace(&mut self, ids: TraceIds) {
        for (arm, state) in (0..).map(Arm).zip(&mut self.arms) {
            state.client.trace(ids, arm);
        }
    }

    fn refresh(&mut self) -> Time {
        self.now = self.since_origin(self.clock.now());
        self.now
    }

    fn since_origin(&self, at: Time) -> Time {
        Time::ZERO.after(at.since(self.origin))
    }

    /// Ends the run once a proxy or a backend has failed by itself: what follows would be without its
    /// faults.
    fn look_after_arms(&mut self, now: Time) -> Result<(), WorldError> {
        if now < self.next_look {
            return Ok(());
        }
        self.next_look = now.after(LOOK_FOR_SIGNALS);
        let failure = self.arms.iter().find_map(LiveArm::failure);
        failure.map_or(Ok(()), Err)
    }

    /// What came back, as the shell takes it; `None` if nobody waits for it any more.
    fn take(&mut self, Back { arm, what }: Back) -> Option<Step> {
        let step = match what {
            What::Answer(attempt, answer) => {
                let Outstanding { ticket, .. } = self.outstanding.remove(&(arm, attempt))?;
                let (sent, end) = (self.since_origin(answer.sent), self.since_origin(answer.end));
                Step::Answer { arm, ticket, answer: Answer { sent, end, ..answer } }
            }
            What::Transfer(id, progress) => {
                self.transfers.comes_on(arm, id, progress)?;
                Step::Transfer { arm, id, progress }
            }
            What::Granted => Step::Reached,
        };
        self.refresh();
        self.answers_first = false;
        Some(step)
    }

    fn take_waiting(&mut self) -> Option<Step> {
        while let Ok(back) = self.back.try_recv() {
            if let Some(step) = self.take(back) {
                return Some(step);
            }
        }
        None
    }
}

impl World for Live {
    fn now(&self) -> Time {
        self.now
    }

    fn halted(&self) -> bool {
        self.interrupt.signal() == Some(Signal::Halt)
    }

    fn limiter(&mut self, arm: Arm, policy: &LimiterConfig) -> Option<Box<dyn Limiter>> {
        let runtime = self.runtime.as_ref()?.handle().clone();
        let (clock, origin, back) = (self.clock, self.origin, self.send_back.clone());
        leaky_bucket::limiter(policy, runtime, Bell { clock, origin, arm, back })
    }

    fn send(&mut self, arm: Arm, ticket: Ticket) {
        let Some(runtime) = &self.runtime else { return };
        let state = &self.arms[arm.index()];
        let (client, proxy) = (state.client.clone(), state.proxy.clone());
        let classify = state.classify.clone();
        let (clock, send_back) = (self.clock, self.send_back.clone());
        let (arrival, start) = (ticket.arrival, ticket.start);
        let attempt = arrival.attempt();
        let local = Arc::new(Local::new());
        let outstanding_local = Arc::clone(&local);
        let task = runtime.spawn(async move {
            let sent = clock.now();
            let reply = client.attempt(&arrival, start, &local).await;
            let hit = proxy.hit(&local);
            let outcome = reply.status.map_or(Outcome::Error, |status| classify.outcome(status));
            let Reply { bytes, served, retry_after, .. } = reply;
            let end = clock.now();
            let answer = Answer { sent, end, outcome, bytes, served, retry_after, hit };
            // Nobody listens any more once the run is over.
            let _ = send_back.send(Back { arm, what: What::Answer(attempt, answer) });
        });
        let outstanding =
            Outstanding { ticket, task: task.abort_handle(), local: outstanding_local };
        self.outstanding.insert((arm, attempt), outstanding);
    }

    fn give_up(&mut self, arm: Arm, attempt: Attempt) -> Option<GivenUp> {
        let Outstanding { ticket, task, local } = self.outstanding.remove(&(arm, attempt))?;
        let hit = self.arms[arm.index()].proxy.hit(&local);
        task.abort();
        Some(GivenUp { ticket, hit })
    }

    fn transfer(&mut self, arm: Arm, command: Command) {
        let Some(runtime) = &self.runtime else { return };
        match command {
            Command::Open { id, offset, length } => {
                let (client, send_back) = (&self.arms[arm.index()].client, &self.send_back);
                let (client, send_back) = (client.clone(), send_back.clone());
                self.transfers.open(runtime, (arm, id), client, (offset, length), send_back);
            }
            Command::Read { id, bytes } => self.transfers.read(arm, id, bytes),
            Command::Close { id } => self.transfers.close(arm, id),
        }
    }

    fn step(&mut self, until: Time) -> Result<Step, WorldError> {
        loop {
            if let Some(signal) = self.interrupt.signal() {
                return Ok(Step::Interrupted(signal));
            }
            if self.answers_first
                && let Some(step) = self.take_waiting()
            {
                return Ok(step);
            }
            let now = self.refresh();
            self.look_after_arms(now)?;
            if now >= until {
                self.answers_first = true;
                return Ok(Step::Reached);
            }
            let wait = until.since(now).min(LOOK_FOR_SIGNALS);
            match self.back.recv_timeout(wait.as_std()) {
                Ok(back) => {
                    if let Some(step) = self.take(back) {
                        return Ok(step);
                    }
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
        }
    }

    fn set_faults(&mut self, arm: Arm, faults: &ArmFaults) -> Result<(), WorldError> {
        // Once the world is closed there is nothing left to be wrong.
        self.arms.get_mut(arm.index()).map_or(Ok(()), |arm| arm.set_faults(faults))
    }

    fn feed(&mut self, arm: Arm, feed: Feed) {
        self.arms[arm.index()].backend.borrow().feed(feed);
    }

    fn feed_lags(&mut self, arm: Arm) -> Vec<Nanos> {
        self.arms
            .get(arm.index())
            .map_or_else(Vec::new, |arm| arm.backend.borrow().take_feed_lags())
    }

    fn look(&mut self, arm: Arm) -> BackendState {
        self.arms[arm.index()].backend.borrow().look()
    }

    fn injected(&mut self, arm: Arm) -> Vec<(String, Counts)> {
        self.arms.get(arm.index()).map_or_else(Vec::new, |arm| arm.backend.borrow().injected())
    }

    fn network(&mut self, arm: Arm) -> Option<Network> {
        self.arms.get(arm.index())?.proxy.network()
    }

    fn read_back(&mut self, arm: Arm) -> Result<ReadBack, WorldError> {
        self.arms[arm.index()].read_back()
    }

    fn runtime_lag(&mut self) -> Option<Nanos> {
        self.probe.ask(self.runtime.as_ref()?, self.clock)
    }

    fn close(&mut self) -> Closed {
        self.transfers = Transfers::default();
        let mut outcome = Ok(());
        if let Some(runtime) = self.runtime.take() {
            for arm in self.arms.drain(..) {
                let closed = arm.close(&runtime);
                outcome = outcome.and(closed);
            }
            let closed = self.backends.close().map_err(WorldError::from);
            outcome = outcome.and(closed);
            runtime.shutdown_timeout(CLOSING);
        }
        let outstanding = std::mem::take(&mut self.outstanding).into_iter();
        let tickets = outstanding.map(|((arm, _), outstanding)| (arm, outstanding.ticket));
        Closed { tickets: tickets.collect(), outcome }
    }
}

impl Drop for Live {
    /// Whoever wants to know how it went closes it himself.
    fn drop(&mut self) {
        drop(self.close());
    }
}

/// Tokio with the sockets that everything takes, and with timers of its own if a crate sleeps on them.
fn runtime(arms: &[ArmPlan]) -> io::Result<Runtime> {
    let mut builder = Builder::new_multi_thread();
    builder.enable_io().thread_name("windtunnel-io");
    let mut policies = arms.iter().filter_map(ArmPlan::downloads).map(|plan| &plan.limiter);
    if policies.any(|policy| leaky_bucket::settings(policy).is_some()) {
        builder.enable_time();
    }
    builder.build()
}

fn failed(what: &str) -> impl FnOnce(io::Error) -> WorldError {
    move |source| WorldError::Io { what: what.to_owned(), source }
}
