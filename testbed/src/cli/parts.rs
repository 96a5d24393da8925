//! Arguments of the commands that run a part of the testbed.

use super::values::{distribution, lease, share};
use crate::backend::{BackendUrl, Ports};
use crate::serve::HostName;
use crate::traces::{Collector, DEFAULT_SHARE};
use clap::Args;
use faults::EngineChoice;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use testbed_core::distribution::Distribution;
use testbed_core::time::Nanos;

/// Arguments of `backend`.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 1 a port is taken, 2 bad command line, 130 or 143 interrupted."
)]
pub struct BackendArgs {
    /// Where to listen
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8080")]
    pub listen: SocketAddr,
    /// Requests it works on at a time
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..))]
    pub servers: u32,
    /// Service time: '{constant: 40ms}', '{exponential: 20ms}', '{lognormal: {median: 10ms, sigma: 0.5}}'
    #[arg(long, default_value = "{constant: 10ms}", value_parser = distribution)]
    pub service: Distribution,
    /// Requests that may wait for a server; beyond it, 503
    #[arg(long, default_value_t = 100_000)]
    pub backlog: u32,
    /// The seed of its service times
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Also give backends to the arms of a testbed elsewhere, which asks for them here
    #[arg(long, value_name = "ADDR")]
    pub control: Option<SocketAddr>,
    /// Where the backends of those arms listen
    #[arg(long, value_name = "IP", default_value = "127.0.0.1", requires = "control")]
    pub host: IpAddr,
    /// Their ports: a first and a last, or 0 for any that are free
    #[arg(long, value_name = "FROM-TO", default_value = "18000-18063", requires = "control")]
    pub ports: Ports,
    /// Close them when their testbed has not been heard of for so long, at least 3s
    #[arg(long, value_name = "DURATION", default_value = "10s", requires = "control",
          value_parser = lease)]
    pub lease: Nanos,
}

/// Arguments of `proxy`.
#[derive(Debug, Args)]
#[command(after_help = "The file is a list of proxies, JSON or YAML, as Toxiproxy's; toxics may \
                        stand in it:\n\n- name: web\n  listen: 127.0.0.1:8081\n  upstream: \
                        127.0.0.1:8080\n  toxics:\n  - {type: latency, attributes: {latency: \
                        100}}\n\nExit codes: 1 a port is taken, 2 bad command line, 3 invalid \
                        file, 130 or 143 interrupted.")]
pub struct ProxyArgs {
    /// Where the API listens
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8474")]
    pub listen: SocketAddr,
    /// Proxies to start with
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The seed of all chance
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

/// What stands around the arms of live runs, and where the traces of any run go: arguments of `run` and `serve`.
#[derive(Clone, Debug, Args)]
pub struct AroundArgs {
    /// What does the network faults of a live run: `embedded` proxies, a Toxiproxy at a URL such as
    /// http://127.0.0.1:8474, `none`, or `auto`: the Toxiproxy of TOXIPROXY_URL if it answers, else
    /// embedded
    #[arg(long, value_name = "ENGINE", default_value = "auto")]
    pub faults: EngineChoice,
    /// Make the backends of a live run at a `windtunnel backend --control`, such as
    /// http://127.0.0.1:8081. Default: that of WINDTUNNEL_BACKEND; without it, they are made here
    #[arg(long, value_name = "URL")]
    pub backend: Option<BackendUrl>,
    /// Export traces of some requests to an OpenTelemetry collector at http://HOST:4318. Default: that of
    /// OTEL_EXPORTER_OTLP_ENDPOINT, for live runs; without it, none
    #[arg(long, value_name = "URL")]
    pub traces: Option<Collector>,
    /// The share of requests, 0 to 1, whose traces are exported though nothing is remarkable about them
    #[arg(long, value_name = "SHARE", default_value_t = DEFAULT_SHARE, value_parser = share)]
    pub trace_share: f64,
}

/// Arguments of `serve`.
#[derive(Debug, Args)]
#[command(
    after_help = "docs/serve.md describes what can be asked of it.\n\nExit codes: 1 the port is \
                        taken, 2 bad command line, 3 invalid experiment file, 130 or 143 \
                        interrupted; the run under way is stopped and its faults are healed."
)]
pub struct ServeArgs {
    /// Where to listen. On loopback, the API answers only requests for this machine's own names
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:9464")]
    pub listen: SocketAddr,
    /// The folder of experiments; no file outside of it is read
    #[arg(long, value_name = "DIR", default_value = "experiments")]
    pub experiments: PathBuf,
    /// Where run directories are made
    #[arg(long, value_name = "DIR", default_value = "runs")]
    pub out: PathBuf,
    /// What live runs are made of, and where traces go.
    #[command(flatten)]
    pub around: AroundArgs,
    /// Run this experiment at once, such as stall/overload-recovery. Default: the environment
    /// variable EXPERIMENT; without it, wait to be asked
    #[arg(long, value_name = "NAME")]
    pub start: Option<String>,
    /// A host that requests to the API may be for, beside this machine's own names on loopback; may be
    /// repeated. Default: those in the environment variable ALLOWED_HOSTS, with commas between; without
    /// them, any, unless it listens on loopback
    #[arg(long = "allowed-host", value_name = "NAME")]
    pub allowed_hosts: Vec<HostName>,
}

/// Arguments of `healthcheck`.
#[derive(Debug, Args)]
pub struct HealthcheckArgs {
    /// The server; without a path, its /healthz is asked. /readyz says whether it can start runs
    #[arg(default_value = "http://127.0.0.1:9464")]
    pub url: String,
}
