//! The live world: real time, real HTTP/1.1 over loopback, each arm through its embedded proxy to
//! its own backend.
//!
//! The shell's thread is the generator: it sleeps on the channel of answers until the next instant
//! at which there is something to do, which is as precise as the system's timers. Everything that
//! has a socket runs on tokio.

mod transfers;

use super::interrupt::Interrupt;
use super::world::{ArmFaults, GivenUp, Step, World, WorldError};
use crate::backend::Backend;
use crate::client::{Client, Local, Reply};
use crate::experiment::file::Classify;
use crate::experiment::plan::ArmPlan;
use faults::proxy::EmbeddedProxy;
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;
use testbed_clock::{LiveClock, Timer, set_fine_timer_slack};
use testbed_core::download::{Command, Progress, TransferId};
use testbed_core::hold::Feed;
use testbed_core::request::{Answer, Arm, Attempt, Outcome, Ticket};
use testbed_core::rng::Streams;
use testbed_core::service::{BackendState, Counts};
use testbed_core::time::{Nanos, Time};
use tokio::runtime::{Builder, Runtime};
use tokio::task::AbortHandle;
use transfers::Transfers;

/// How often the shell's thread looks for signals while nothing happens.
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
    arms: Vec<LiveArm>,
    outstanding: BTreeMap<(Arm, Attempt), Outstanding>,
    transfers: Transfers,
    back: Receiver<Back>,
    send_back: Sender<Back>,
    interrupt: Interrupt,
    /// Whether an answer is to be looked for before the time is: what is always due must not keep
    /// the other from ever being seen.
    answers_first: bool,
}

struct LiveArm {
    backend: Backend,
    proxy: Arc<EmbeddedProxy>,
    client: Client,
    classify: Classify,
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
}

impl Live {
    /// Starts a backend and a proxy for each arm, on free ports of loopback.
    ///
    /// # Errors
    /// When the system does not give the sockets or threads that it takes.
    pub fn start(
        arms: &[ArmPlan],
        streams: &Streams,
        interrupt: Interrupt,
    ) -> Result<Self, WorldError> {
        set_fine_timer_slack();
        let clock = LiveClock::start();
        let timer = Timer::start(clock);
        let runtime = Builder::new_multi_thread().enable_io().thread_name("windtunnel-io").build();
        let runtime = runtime.map_err(failed("cannot start tokio"))?;
        let start = |arm| runtime.block_on(LiveArm::start(arm, streams, &timer));
        let arms = arms.iter().map(start).collect::<io::Result<Vec<_>>>();
        let arms = arms.map_err(failed("cannot start a backend and its proxy"))?;
        let (send_back, back) = channel();
        Ok(Self {
            clock,
            origin: clock.now(),
            now: Time::ZERO,
            runtime: Some(runtime),
            arms,
            outstanding: BTreeMap::new(),
            transfers: Transfers::default(),
            back,
            send_back,
            interrupt,
            answers_first: false,
        })
    }

    fn refresh(&mut self) -> Time {
        self.now = self.since_origin(self.clock.now());
        self.now
    }

    fn since_origin(&self, at: Time) -> Time {
        Time::ZERO.after(at.since(self.origin))
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

    fn send(&mut self, arm: Arm, ticket: Ticket) {
        let Some(runtime) = &self.runtime else { return };
        let state = &self.arms[arm.index()];
        let (client, proxy) = (state.client.clone(), Arc::clone(&state.proxy));
        let classify = state.classify.clone();
        let (clock, send_back) = (self.clock, self.send_back.clone());
        let (attempt, class) = (ticket.arrival.attempt(), ticket.arrival.class);
        let local = Arc::new(Local::new());
        let outstanding_local = Arc::clone(&local);
        let task = runtime.spawn(async move {
            let sent = clock.now();
            let reply = client.attempt(attempt, class, &local).await;
            let hit = hit(&proxy, &local);
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
        let hit = hit(&self.arms[arm.index()].proxy, &local);
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
        let state = &self.arms[arm.index()];
        state.backend.set_hold(faults.hold);
        state.backend.set_rules(faults.rules.clone());
        state.backend.set_slow_starts(&faults.slow_starts);
        state.backend.set_servers(faults.servers);
        state.backend.set_frozen(faults.frozen);
        let Some(runtime) = &self.runtime else {
            return Ok(());
        };
        runtime
            .block_on(state.proxy.set_faults(&faults.proxy))
            .map_err(failed("the fault proxy did not take its faults"))
    }

    fn feed(&mut self, arm: Arm, feed: Feed) {
        self.arms[arm.index()].backend.feed(feed);
    }

    fn look(&mut self, arm: Arm) -> BackendState {
        self.arms[arm.index()].backend.look()
    }

    fn injected(&mut self, arm: Arm) -> Vec<(String, Counts)> {
        self.arms.get(arm.index()).map_or_else(Vec::new, |arm| arm.backend.injected())
    }

    fn close(&mut self) -> Vec<(Arm, Ticket)> {
        self.transfers = Transfers::default();
        if let Some(runtime) = self.runtime.take() {
            runtime.block_on(async {
                for arm in self.arms.drain(..) {
                    arm.proxy.close().await;
                    arm.backend.close().await;
                }
            });
            runtime.shutdown_timeout(CLOSING);
        }
        std::mem::take(&mut self.outstanding)
            .into_iter()
            .map(|((arm, _), outstanding)| (arm, outstanding.ticket))
            .collect()
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.close();
    }
}

impl LiveArm {
    async fn start(arm: &ArmPlan, streams: &Streams, timer: &Timer) -> io::Result<Self> {
        let any_port = SocketAddr::from(([127, 0, 0, 1], 0));
        let backend = Backend::start(any_port, &arm.backend, streams, timer.clone()).await?;
        let proxy =
            EmbeddedProxy::start(any_port, backend.addr(), timer.clone(), *streams, &arm.name)
                .await?;
        let client = Client::with(proxy.listen_addr(), &arm.client());
        Ok(Self { backend, proxy: Arc::new(proxy), client, classify: arm.classify() })
    }
}

/// Whether a toxic acts on the connection that carries an attempt.
fn hit(proxy: &EmbeddedProxy, local: &Local) -> Option<bool> {
    proxy.strikes(*local.get()?)
}

fn failed(what: &str) -> impl FnOnce(io::Error) -> WorldError {
    move |source| WorldError::Io { what: what.to_owned(), source }
}
