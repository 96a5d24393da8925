//! `windtunnel serve`: a server that runs experiments when it is asked to, one at a time, and shows
//! them. It is the form for a machine that is left alone.

mod admission;
mod api;
pub mod catalogue;
pub(crate) mod events;
mod health;
pub(crate) mod history;
pub(crate) mod host;
pub(crate) mod onlooker;
mod refusal;
pub(crate) mod runs;
mod socket;
pub(crate) mod tap;
mod waiting;
pub mod wire;

use crate::backend::BackendUrl;
use crate::drive::interrupt::Interrupt;
use crate::drive::world::Signal;
use crate::experiment::Overrides;
use crate::experiment::plan::Plan;
use crate::experiment::problem::Report;
use crate::page::Stage;
use crate::traces::TraceOptions;
use crate::watch::current::{Current, Shown};
use crate::watch::exemplars::Exemplars;
use crate::watch::prometheus::idle;
use crate::watch::server::ServerMetrics;
use api::{Shared, routes};
use catalogue::{Catalogue, Found, Unfound};
use faults::EngineChoice;
pub use host::HostName;
use host::Hosts;
use runs::{How, Runs};
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use testbed_clock::LiveClock;
use testbed_core::time::{Nanos, Time};
use thiserror::Error;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};

/// How often it is asked whether to stop: often enough to seem prompt to a person.
const STOP_POLL: Duration = Duration::from_millis(20);
/// How long a run may take to heal and its readers to hear of it, once the server is to end.
const LAST_WORDS: Nanos = Nanos::from_millis(1500);
/// How long what is left of connections and reads of files may take to end.
const CLOSING: Duration = Duration::from_millis(200);

/// What a server is told.
#[derive(Clone, Debug)]
pub struct ServeCommand {
    /// Where to listen; port 0 takes any free one.
    pub listen: SocketAddr,
    /// The folder of experiments.
    pub experiments: PathBuf,
    /// Where run directories are made.
    pub out: PathBuf,
    /// What does the network faults of live runs.
    pub faults: EngineChoice,
    /// Where the backends of live runs are made, if not here.
    pub backend: Option<BackendUrl>,
    /// Which traces are exported, if any.
    pub traces: Option<TraceOptions>,
    /// An experiment to run at once.
    pub start: Option<String>,
    /// The names of hosts that requests to the API may be for, beside those of loopback; if there are none
    /// and it listens elsewhere, any may.
    pub allowed_hosts: Vec<HostName>,
}

/// Why a server does not run.
#[derive(Debug, Error)]
pub enum ServeCommandError {
    /// The experiment to start with is not to be had.
    #[error("--start or EXPERIMENT: {0}")]
    Unfound(#[from] Unfound),
    /// The experiment to start with has mistakes.
    #[error(transparent)]
    Invalid(Box<Report>),
    /// The experiment to start with could not be started.
    #[error("--start or EXPERIMENT: {0}")]
    NotStarted(String),
    /// The address cannot be listened on.
    #[error("cannot listen on {addr}: {reason}; {cure}")]
    Listen {
        /// Where it was to listen.
        addr: SocketAddr,
        /// What the system says.
        reason: io::Error,
        /// What to do.
        cure: &'static str,
    },
    /// There is no runtime, or standard output cannot be written.
    #[error(transparent)]
    System(#[from] io::Error),
}

/// Serves until a signal comes. Then the run under way, if any, is stopped as the signal would stop
/// it, its readers are told, and everything is closed: within 2 s, unless the run is stuck.
///
/// Prints where it listens and what can be asked of it. Must not be called from within a tokio
/// runtime.
///
/// # Errors
/// If it cannot listen, if standard output cannot be written, or if the experiment to start with
/// cannot be run.
pub fn run_serve(command: &ServeCommand, interrupt: &Interrupt) -> Result<(), ServeCommandError> {
    let exemplars = Exemplars::default();
    let (registry, metrics) = (idle(), ServerMetrics::default());
    metrics.show_in(&registry);
    let current = Current::from(Shown { registry, exemplars });
    let how = How {
        out: command.out.clone(),
        faults: command.faults.clone(),
        backend: command.backend.clone(),
        traces: command.traces.clone(),
    };
    let stage = Stage::lasting();
    let runs = Runs::new(how, (current.clone(), stage.clone()), metrics.clone());
    let catalogue = Catalogue::new(&command.experiments);
    let first = command.start.as_deref().map(|name| planned(&catalogue, name)).transpose()?;
    // One thread: what is served is little, and a live run needs the others.
    let runtime = Builder::new_multi_thread()
        .worker_threads(1)
        .thread_name("windtunnel-serve")
        .enable_io()
        .build()?;
    let listener = listen(command.listen, &runtime)?;
    let addr = listener.local_addr()?;
    let shared = Shared { catalogue, out: command.out.clone(), runs: runs.clone(), metrics };
    let hosts = Hosts::of(addr, &command.allowed_hosts);
    let router = routes(Arc::new(shared), (current, stage), hosts);
    runtime.spawn(socket::accept(listener, router));
    introduce(&mut io::stdout(), addr)?;
    if let Some((found, plan)) = first {
        runs.start(&found.name, &found.text, plan)
            .map_err(|not| ServeCommandError::NotStarted(not.to_string()))?;
    }
    let signal = wait(interrupt);
    close(&runs, signal);
    runtime.shutdown_timeout(CLOSING);
    Ok(())
}

fn planned(catalogue: &Catalogue, name: &str) -> Result<(Found, Plan), ServeCommandError> {
    let found = catalogue.find(name)?;
    let plan = found.plan(&Overrides::default());
    let plan = plan.map_err(|report| ServeCommandError::Invalid(Box::new(report)))?;
    Ok((found, plan))
}

fn listen(addr: SocketAddr, runtime: &Runtime) -> Result<TcpListener, ServeCommandError> {
    runtime.block_on(TcpListener::bind(addr)).map_err(|reason| {
        let cure = match reason.kind() {
            io::ErrorKind::AddrInUse => "stop what listens there, or choose another with --listen",
            io::ErrorKind::PermissionDenied => "choose a port above 1023 with --listen",
            _ => "choose an address of this machine, or 0.0.0.0, with --listen",
        };
        ServeCommandError::Listen { addr, reason, cure }
    })
}

fn introduce(out: &mut impl Write, addr: SocketAddr) -> io::Result<()> {
    let url = format!("http://{addr}");
    let start = r#"-H 'content-type: application/json' -d '{"experiment":"NAME"}'"#;
    writeln!(out, "windtunnel serve listening on {url}/")?;
    writeln!(out, "  see what there is   curl {url}/api/experiments")?;
    writeln!(out, "  start a run         windtunnel run --server {url} NAME")?;
    writeln!(out, "                      curl {url}/api/runs {start}")?;
    writeln!(out, "  see the metrics     curl {url}/metrics")?;
    out.flush()
}

fn wait(interrupt: &Interrupt) -> Signal {
    loop {
        if let Some(signal) = interrupt.signal() {
            return signal;
        }
        thread::sleep(STOP_POLL);
    }
}

fn close(runs: &Runs, signal: Signal) {
    runs.close(signal);
    let clock = LiveClock::start();
    while !runs.is_quiet() && clock.now().since(Time::ZERO) < LAST_WORDS {
        thread::sleep(STOP_POLL);
    }
}
