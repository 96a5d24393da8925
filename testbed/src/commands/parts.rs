//! Commands that run a part of the testbed until they are stopped.

use super::{
    BROKEN, Failure, INVALID, USAGE, backend_url, colour, interrupted, trace_options, watch_signals,
};
use std::io;
use testbed::backend::{ControlArgs, StandaloneArgs, run_standalone};
use testbed::cli::{BackendArgs, HealthcheckArgs, ProxyArgs, ServeArgs};
use testbed::proxy_command::{ProxyCommand, ProxyCommandError, run_proxy};
use testbed::remote::healthcheck;
use testbed::serve::{HostName, ServeCommand, ServeCommandError, run_serve};
use testbed_core::service::ServiceConfig;

pub(crate) fn serve_command(args: ServeArgs) -> Result<u8, Failure> {
    let interrupt = watch_signals()?;
    // Compose files hand an empty variable on where none is set.
    let start = args.start.or_else(|| std::env::var("EXPERIMENT").ok());
    let command = ServeCommand {
        listen: args.listen,
        experiments: args.experiments,
        out: args.out,
        faults: args.around.faults,
        backend: backend_url(args.around.backend)?,
        traces: trace_options(args.around.traces, args.around.trace_share),
        start: start.filter(|name| !name.is_empty()),
        allowed_hosts: allowed_hosts(args.allowed_hosts)?,
    };
    run_serve(&command, &interrupt).map_err(|error| match error {
        ServeCommandError::Invalid(report) => {
            Failure(INVALID, report.render(colour(&io::stderr())))
        }
        ServeCommandError::Unfound(_) => Failure(USAGE, format!("error: {error}")),
        _ => Failure(BROKEN, format!("error: {error}")),
    })?;
    Ok(interrupted(&interrupt))
}

/// The environment variable with the hosts that requests to a server may be for.
const ALLOWED_HOSTS: &str = "ALLOWED_HOSTS";

/// Those of the command line, or else of the environment.
fn allowed_hosts(told: Vec<HostName>) -> Result<Vec<HostName>, Failure> {
    let variable = std::env::var(ALLOWED_HOSTS).unwrap_or_default();
    if !told.is_empty() || variable.is_empty() {
        return Ok(told);
    }
    let named = variable.split(',').map(|name| name.trim().parse());
    let wrong = |cure| Failure(USAGE, format!("error: {ALLOWED_HOSTS} is {variable}: {cure}"));
    named.collect::<Result<_, _>>().map_err(wrong)
}

pub(crate) fn healthcheck_command(args: &HealthcheckArgs) -> Result<u8, Failure> {
    healthcheck(&args.url).map_err(|error| Failure(BROKEN, format!("error: {error}")))?;
    Ok(0)
}

pub(crate) fn backend_command(args: BackendArgs) -> Result<u8, Failure> {
    let service = ServiceConfig::new(args.servers, args.service, args.backlog);
    let interrupt = watch_signals()?;
    let BackendArgs { listen, seed, host, ports, lease, .. } = args;
    let control = args.control.map(|listen| ControlArgs { listen, host, ports, lease });
    let standalone = StandaloneArgs { listen, service, seed, control };
    run_standalone(&standalone, || interrupt.signal().is_some())
        .map_err(|error| Failure(BROKEN, format!("error: {error}")))?;
    Ok(interrupted(&interrupt))
}

pub(crate) fn proxy_command(args: ProxyArgs) -> Result<u8, Failure> {
    let interrupt = watch_signals()?;
    let command = ProxyCommand { listen: args.listen, config: args.config, seed: args.seed };
    run_proxy(&command, || interrupt.signal().is_some()).map_err(|error| {
        let code = match &error {
            ProxyCommandError::Unread { .. } => USAGE,
            ProxyCommandError::Invalid { .. } => INVALID,
            _ => BROKEN,
        };
        Failure(code, format!("error: {error}"))
    })?;
    Ok(interrupted(&interrupt))
}
