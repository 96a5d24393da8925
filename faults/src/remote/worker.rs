//! The one thread that talks to a Toxiproxy, and looks after its proxies in between.

use super::http::Deadline;
use super::session::Session;
use crate::engine::{EngineError, ToxiproxyUrl};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::thread;
use testbed_clock::LiveClock;
use testbed_core::time::Nanos;

/// How much longer a caller waits than the worker may take, so that the worker's error, which says
/// more, is the one that is told.
const GRACE: Nanos = Nanos::from_millis(200);

/// How many calls' time the start may take: to find the Toxiproxy, to make the crate's client, which
/// reads the machine's certificates (0.2 s of a processor, and a busy one has little), and to clean
/// up.
const START: u32 = 3;

/// How long things may take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// One call, from the asking to its end; the start is three calls. A Toxiproxy that hangs
    /// answers after 25 s.
    pub call: Nanos,
    /// From one look at the proxies to the next.
    pub poll: Nanos,
}

impl Default for Limits {
    /// 5 s a call, a look every 500 ms.
    fn default() -> Self {
        Self { call: Nanos::from_secs(5), poll: Nanos::from_millis(500) }
    }
}

/// What the worker is to do next. It answers by itself.
type Job = Box<dyn FnOnce(&mut Session) + Send>;

/// The worker, as its callers know it. It ends when the last of them is dropped.
#[derive(Clone, Debug)]
pub(super) struct Worker {
    jobs: Sender<Job>,
    limits: Limits,
    clock: LiveClock,
}

impl Worker {
    /// Starts the thread, which finds the Toxiproxy. With its version.
    pub(super) fn start(url: &ToxiproxyUrl, limits: Limits) -> Result<(Self, String), EngineError> {
        let clock = LiveClock::start();
        let (jobs, asked) = channel();
        let (answer, started) = sync_channel(1);
        let to = url.clone();
        let run = move || run(&to, limits, clock, &asked, &answer);
        let call = format!("find Toxiproxy at {url}");
        let spawned = thread::Builder::new().name("toxiproxy".into()).spawn(run);
        spawned.map_err(|error| EngineError::failed(&call, error))?;
        let version = wait(&started, &call, limits.call.scaled(START.into()))?;
        Ok((Self { jobs, limits, clock }, version))
    }

    /// Has the worker do something, and waits for it. `call` is what it is called in an error.
    pub(super) fn ask<T: Send + 'static>(
        &self,
        call: &str,
        work: impl FnOnce(&mut Session) -> Result<T, EngineError> + Send + 'static,
    ) -> Result<T, EngineError> {
        let deadline = Deadline::after(self.limits.call, self.clock);
        let (answer, answered) = sync_channel(1);
        let job = move |session: &mut Session| {
            session.limit(deadline);
            // Who has stopped waiting has had an error for it.
            let _ = answer.send(work(session));
        };
        // That the worker has ended shows below: nobody has the other end of the answer.
        let _ = self.jobs.send(Box::new(job));
        wait(&answered, call, self.limits.call)
    }
}

fn wait<T>(
    answered: &Receiver<Result<T, EngineError>>,
    call: &str,
    limit: Nanos,
) -> Result<T, EngineError> {
    let failed = |why: String| Err(EngineError::failed(call, why));
    match answered.recv_timeout(limit.plus(GRACE).as_std()) {
        Ok(answer) => answer,
        Err(RecvTimeoutError::Timeout) => failed(format!("not done within {limit}")),
        Err(RecvTimeoutError::Disconnected) => failed("the worker has ended".to_owned()),
    }
}

/// The thread.
fn run(
    url: &ToxiproxyUrl,
    limits: Limits,
    clock: LiveClock,
    asked: &Receiver<Job>,
    started: &SyncSender<Result<String, EngineError>>,
) {
    let deadline = || Deadline::after(limits.call, clock);
    let (result, session) = match Session::start(url, deadline) {
        Ok((session, version)) => (Ok(version), Some(session)),
        Err(error) => (Err(error), None),
    };
    let heard = started.send(result).is_ok();
    if let Some(mut session) = session.filter(|_| heard) {
        work(&mut session, asked, limits, clock);
    }
}

/// Does what is asked for, and looks after the proxies, until nobody is left who could ask.
fn work(session: &mut Session, asked: &Receiver<Job>, limits: Limits, clock: LiveClock) {
    let mut look = clock.now().after(limits.poll);
    loop {
        match asked.recv_timeout(clock.until(look).as_std()) {
            Ok(job) => job(session),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        if clock.now() >= look {
            session.limit(Deadline::after(limits.call, clock));
            session.poll();
            look = clock.now().after(limits.poll);
        }
    }
}
