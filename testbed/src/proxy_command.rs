//! `windtunnel proxy`: the embedded proxy alone, with Toxiproxy's API, for a client of another make.

use faults::api::{Config, ConfigError, Registry, Server};
use std::fs::File;
use std::io::{self, Read as _, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::thread;
use testbed_clock::{LiveClock, Timer};
use testbed_core::rng::Streams;
use testbed_core::time::Nanos;
use thiserror::Error;
use tokio::runtime;

/// How often it is asked whether to stop: often enough to seem prompt to a person.
const STOP_POLL: Nanos = Nanos::from_millis(20);

/// Bytes that a configuration may have, as a body of `/populate`.
const CONFIG_LIMIT: u64 = faults::api::BODY_LIMIT as u64;

/// What a proxy that runs alone is told.
#[derive(Clone, Debug)]
pub struct ProxyCommand {
    /// Where the API listens; port 0 takes any free one.
    pub listen: SocketAddr,
    /// Proxies to start with.
    pub config: Option<PathBuf>,
    /// The seed of all chance.
    pub seed: u64,
}

/// Why a proxy that was to run alone does not.
#[derive(Debug, Error)]
pub enum ProxyCommandError {
    /// The configuration cannot be read.
    #[error("cannot read {file}: {reason}")]
    Unread {
        /// Which file.
        file: String,
        /// What the system says.
        reason: io::Error,
    },
    /// The configuration has a mistake.
    #[error("{file}: {mistake}")]
    Invalid {
        /// Which file.
        file: String,
        /// What is wrong, and where.
        mistake: String,
    },
    /// A proxy of the configuration cannot listen.
    #[error("{file}: {refusal}")]
    Refused {
        /// Which file.
        file: String,
        /// Which proxy, and what the system says.
        refusal: ConfigError,
    },
    /// The API cannot listen.
    #[error(
        "cannot listen on {address}: {reason}; stop what listens there, or choose another port"
    )]
    Listen {
        /// Where it was to listen.
        address: SocketAddr,
        /// What the system says.
        reason: io::Error,
    },
    /// There is no runtime, or standard output cannot be written.
    #[error(transparent)]
    System(#[from] io::Error),
}

/// Runs the API and its proxies until `stop`, asked every 20 ms, says so; then closes them all.
/// Prints where it listens and what can be asked of it. Must not be called from within a tokio
/// runtime.
///
/// # Errors
/// If the configuration is none or a port is taken, and if standard output cannot be written.
pub fn run_proxy(args: &ProxyCommand, stop: impl Fn() -> bool) -> Result<(), ProxyCommandError> {
    let config = args.config.as_deref().map(read).transpose()?;
    let runtime = runtime::Builder::new_multi_thread().enable_io().build()?;
    let server = runtime.block_on(start(args, config.unwrap_or_default()))?;
    introduce(&mut io::stdout(), server.address())?;
    while !stop() {
        thread::sleep(STOP_POLL.as_std());
    }
    runtime.block_on(server.close());
    Ok(())
}

/// The proxies come first: when the API answers, they are all there.
async fn start(args: &ProxyCommand, config: Config) -> Result<Server, ProxyCommandError> {
    let timer = Timer::start(LiveClock::start());
    let registry = Registry::new(timer, Streams::new(args.seed));
    let file = args.config.clone().unwrap_or_default();
    config.start(&registry).await.map_err(|error| unusable(&file, error))?;
    let cannot = |reason| ProxyCommandError::Listen { address: args.listen, reason };
    Server::start(args.listen, registry).await.map_err(cannot)
}

fn unusable(file: &Path, error: ConfigError) -> ProxyCommandError {
    let file = file.display().to_string();
    match error {
        ConfigError::Listen { .. } => ProxyCommandError::Refused { file, refusal: error },
        mistake => ProxyCommandError::Invalid { file, mistake: mistake.to_string() },
    }
}

/// Reads a configuration, JSON or YAML.
fn read(file: &Path) -> Result<Config, ProxyCommandError> {
    let name = || file.display().to_string();
    let unread = |reason| ProxyCommandError::Unread { file: name(), reason };
    let invalid = |mistake| ProxyCommandError::Invalid { file: name(), mistake };
    let mut text = Vec::new();
    let opened = File::open(file).map_err(unread)?;
    opened.take(CONFIG_LIMIT + 1).read_to_end(&mut text).map_err(unread)?;
    if text.len() as u64 > CONFIG_LIMIT {
        return Err(invalid(format!("longer than {CONFIG_LIMIT} bytes")));
    }
    let document = serde_json::from_slice(&text).or_else(|_| serde_yaml::from_slice(&text));
    let document = document.map_err(|error| invalid(format!("neither JSON nor YAML: {error}")))?;
    Config::read(&document).map_err(|error| unusable(file, error))
}

fn introduce(out: &mut impl Write, address: SocketAddr) -> io::Result<()> {
    let api = format!("http://{address}");
    let proxy = r#"{"name":"web","listen":"127.0.0.1:8081","upstream":"127.0.0.1:8080"}"#;
    let toxic = r#"{"type":"latency","attributes":{"latency":100}}"#;
    writeln!(out, "proxy API listening on {api}/")?;
    writeln!(out, "  see the proxies   curl {api}/proxies")?;
    writeln!(out, "  add a proxy       curl {api}/proxies -d '{proxy}'")?;
    writeln!(out, "  add a toxic       curl {api}/proxies/web/toxics -d '{toxic}'")?;
    writeln!(out, "  heal everything   curl -X POST {api}/reset")?;
    writeln!(out, "  see the metrics   curl {api}/metrics")?;
    out.flush()
}
