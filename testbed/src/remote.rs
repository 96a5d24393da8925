//! `windtunnel run --server`: a run on another machine, seen as if it were here; and the health
//! check of a container.
//!
//! A thread speaks HTTP and passes on what it hears; the caller's thread shows it and looks for
//! signals, so that neither holds up the other.

mod connection;
mod follow;
mod http;
mod stream;

use crate::drive::interrupt::Interrupt;
use crate::drive::world::Signal;
use crate::serve::wire::{End, Order, State};
use connection::News;
use follow::Follower;
use http::Target;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;
use testbed_clock::LiveClock;
use testbed_core::time::{Nanos, Time};
use thiserror::Error;

/// How often the caller's thread looks for signals.
const LOOK_FOR_SIGNALS: Duration = Duration::from_millis(50);
/// How long a run may take to end once it was asked to.
const STOPPING: Nanos = Nanos::from_secs(10);
/// How long a server may take to say that it is well.
const HEALTHY: Duration = Duration::from_secs(5);

/// What to run where.
#[derive(Clone, Debug)]
pub struct RemoteCommand {
    /// The server: `http://HOST:PORT`.
    pub server: String,
    /// What to run.
    pub order: Order,
    /// No progress.
    pub quiet: bool,
}

/// Why a run on a server has no end to tell of.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum RemoteError {
    /// That is no address of a server.
    #[error("{0:?} is no server's address; write http://HOST:PORT")]
    Url(String),
    /// The server cannot be reached.
    #[error(
        "cannot reach {server}: {reason}; start a server there with `windtunnel serve`, or correct \
         --server"
    )]
    Unreachable {
        /// Where it was to be.
        server: String,
        /// What went wrong.
        reason: String,
    },
    /// The server refused.
    #[error("{error}")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// Why, and what to do.
        error: String,
    },
    /// What came was not what this program understands, or it broke off.
    #[error("{0}")]
    Broken(String),
    /// A signal came, and the server did not say that it had stopped the run.
    #[error(
        "the server did not say that it stopped the run, which may go on; look at {0}/api/runs"
    )]
    NotStopped(String, Signal),
}

/// How a run on a server ended.
#[derive(Clone, PartialEq, Debug)]
pub struct Followed {
    /// What the server says of it.
    pub end: End,
    /// The exit code of this process.
    pub exit_code: u8,
}

/// Starts a run on a server and shows it until it ends. A signal stops it there, as it would stop a
/// run here.
///
/// # Errors
/// When the run does not start, or nothing more is heard of it.
pub fn run_remote(command: &RemoteCommand, interrupt: &Interrupt) -> Result<Followed, RemoteError> {
    let target = Target::parse(&command.server)?;
    let (news, heard) = channel();
    let (order, whither) = (command.order.clone(), target.clone());
    spawn(move || connection::carry_out(&whither, &order, &news))?;
    let mut caller = Caller { target, interrupt, stopping: None, run: None };
    caller.follow(&heard, &mut Follower::new(command.quiet))
}

/// Asks a server whether it is alive; `url` without a path means its `/healthz`.
///
/// # Errors
/// When it does not say so within 5 s.
pub fn healthcheck(url: &str) -> Result<(), RemoteError> {
    let target = Target::parse(url)?;
    let (answer, answered) = channel();
    let asked = target.clone();
    // Nobody waits for an answer that comes too late.
    spawn(move || drop(answer.send(connection::healthy(&asked))))?;
    answered.recv_timeout(HEALTHY).unwrap_or_else(|_| {
        let (server, reason) = (target.to_string(), format!("no answer within {HEALTHY:?}"));
        Err(RemoteError::Unreachable { server, reason })
    })
}

/// The caller's side of a run.
struct Caller<'a> {
    target: Target,
    interrupt: &'a Interrupt,
    /// When and by which signal it was asked to stop.
    stopping: Option<(LiveClock, Signal)>,
    /// The path of the run, once it has started.
    run: Option<String>,
}

impl Caller<'_> {
    fn follow(
        &mut self,
        heard: &Receiver<News>,
        follower: &mut Follower,
    ) -> Result<Followed, RemoteError> {
        loop {
            self.look_for_signals()?;
            match heard.recv_timeout(LOOK_FOR_SIGNALS) {
                Ok(News::Started(path)) => {
                    self.run = Some(path);
                    if self.stopping.is_some() {
                        self.stop()?;
                    }
                }
                Ok(News::Message(message)) => {
                    if let Some(end) = follower.take(message) {
                        return Ok(self.followed(end));
                    }
                }
                Ok(News::Failed(error)) => return Err(error),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(RemoteError::Broken("the connection's thread has died".into()));
                }
            }
        }
    }

    fn look_for_signals(&mut self) -> Result<(), RemoteError> {
        match (self.stopping, self.interrupt.signal()) {
            (None, Some(signal)) => {
                self.stopping = Some((LiveClock::start(), signal));
                self.stop()
            }
            (Some((since, signal)), _) if since.now().since(Time::ZERO) > STOPPING => {
                Err(RemoteError::NotStopped(self.target.to_string(), signal))
            }
            _ => Ok(()),
        }
    }

    /// Asks the server to stop the run, once it has started.
    fn stop(&self) -> Result<(), RemoteError> {
        let Some(path) = self.run.clone() else { return Ok(()) };
        let target = self.target.clone();
        // Whether it has stopped is heard as its end.
        spawn(move || drop(connection::stop(&target, &path)))
    }

    fn followed(&self, end: End) -> Followed {
        let exit_code = match self.stopping {
            Some((_, signal)) if end.state == State::Interrupted => signal.exit_code(),
            _ => end.exit_code,
        };
        Followed { end, exit_code }
    }
}

impl RemoteError {
    /// What the process exits with.
    pub const fn exit_code(&self) -> u8 {
        match self {
            Self::Refused { status: 422, .. } => 3,
            Self::Url(_) | Self::Refused { status: 400 | 404, .. } => 2,
            Self::NotStopped(_, signal) => signal.exit_code(),
            Self::Unreachable { .. } | Self::Refused { .. } | Self::Broken(_) => 1,
        }
    }
}

fn spawn(work: impl FnOnce() + Send + 'static) -> Result<(), RemoteError> {
    let spawned = thread::Builder::new().name("windtunnel-http".into()).spawn(work);
    spawned
        .map(drop)
        .map_err(|error| RemoteError::Broken(format!("cannot start a thread: {error}")))
}
