//! The command line of Windtunnel.

use clap::Parser as _;
use std::io::{self, BufReader, IsTerminal, Read as _};
use std::path::Path;
use std::process::ExitCode;
use testbed::backend::{ControlArgs, StandaloneArgs, run_standalone};
use testbed::cli::{
    self, BackendArgs, CheckArgs, Cli, Command, HealthcheckArgs, LawArgs, ProxyArgs, PublishArgs,
    RunArgs, ServeArgs,
};
use testbed::drive::interrupt::Interrupt;
use testbed::drive::world::Signal;
use testbed::experiment::document::Document;
use testbed::experiment::file::Mode;
use testbed::experiment::plan::Plan;
use testbed::experiment::problem::Report;
use testbed::experiment::{self, Overrides};
use testbed::proxy_command::{ProxyCommand, ProxyCommandError, run_proxy};
use testbed::publish::{Placing, PublishCommand, PublishError, publish};
use testbed::remote::{RemoteCommand, RemoteError, healthcheck, run_remote};
use testbed::run::{RunOptions, run};
use testbed::seeds::run_seeds;
use testbed::serve::wire::Order;
use testbed::serve::{ServeCommand, ServeCommandError, run_serve};
use testbed::traces::{Collector, ENDPOINT_VARIABLE, TraceOptions};
use testbed::{law, list, say};
use testbed_core::service::ServiceConfig;

/// Something broke; a retry may help.
const BROKEN: u8 = 1;
/// The command line names something that is not there.
const USAGE: u8 = 2;
/// The experiment file is not valid.
const INVALID: u8 = 3;
/// More of a file than this is not read: the parser refuses files of 1 MiB.
const READ_AT_MOST: u64 = 2 << 20;

/// A message for people, and the exit code that goes with it.
struct Failure(u8, String);

/// Why there is no plan in a file.
enum Unusable {
    /// It has mistakes.
    Report(Report),
    /// It cannot be read.
    Unread(Failure),
}

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Run(args) => match &args.server {
            Some(server) => remote_command(server, &args),
            None => run_command(&args),
        },
        Command::Check(args) => check_command(&args),
        Command::Law(args) => law_command(&args),
        Command::Publish(args) => publish_command(args),
        Command::List(args) => print(&list::text(args.what)).map(|()| 0),
        Command::Schema => print(&format!("{:#}\n", experiment::schema())).map(|()| 0),
        Command::Backend(args) => backend_command(args),
        Command::Proxy(args) => proxy_command(args),
        Command::Serve(args) => serve_command(args),
        Command::Healthcheck(args) => healthcheck_command(&args),
    };
    done.map_or_else(
        |Failure(code, message)| {
            say::err(&message);
            ExitCode::from(code)
        },
        ExitCode::from,
    )
}

fn run_command(args: &RunArgs) -> Result<u8, Failure> {
    let overrides = Overrides { mode: args.mode, seed: args.seed, set: args.set.clone() };
    let (text, plan) = load(&args.file, &overrides)?;
    let seeds = args.seeds.unwrap_or(plan.resolved.run.seeds);
    if seeds > 1 {
        return seeds_command(args, &plan, &text, seeds);
    }
    let options = RunOptions {
        out: args.out.clone(),
        listen: args.listen.unwrap_or_else(|| cli::default_listen(plan.mode)),
        faults: args.faults.clone(),
        traces: trace_options(args.traces.clone(), args.trace_share),
        quiet: args.quiet,
    };
    let interrupt = watch_signals()?;
    let finished = run(&plan, &text, &options, interrupt)
        .map_err(|error| Failure(BROKEN, format!("error: {error}")))?;
    let out =
        if args.json { format!("{:#}\n", finished.json(&plan)) } else { finished.text(&plan) };
    print(&out)?;
    Ok(finished.exit_code())
}

/// A run for each of several seeds.
fn seeds_command(args: &RunArgs, plan: &Plan, text: &str, seeds: u32) -> Result<u8, Failure> {
    if plan.mode == Mode::Live {
        let message = "error: several seeds are for virtual runs; live ones would be in each other's way. \
                       Add `--mode virtual`, or `--seeds 1`";
        return Err(Failure(USAGE, message.to_owned()));
    }
    let finished = run_seeds(plan, text, seeds, &args.out, &watch_signals()?)
        .map_err(|error| Failure(BROKEN, format!("error: {error}")))?;
    let json = || format!("{:#}\n", finished.json(plan));
    print(&if args.json { json() } else { finished.text(plan) })?;
    Ok(finished.exit_code())
}

fn trace_options(flag: Option<Collector>, share: f64) -> Option<TraceOptions> {
    TraceOptions::choose(flag, share, std::env::var(ENDPOINT_VARIABLE).ok().as_deref())
}

fn remote_command(server: &str, args: &RunArgs) -> Result<u8, Failure> {
    let file = args.file.to_string_lossy();
    let order = Order {
        experiment: file.trim_start_matches("./").to_owned(),
        mode: args.mode,
        seed: args.seed,
        set: args.set.iter().map(|(path, value)| format!("{path}={value}")).collect(),
    };
    let command = RemoteCommand { server: server.to_owned(), order, quiet: args.quiet };
    let followed = run_remote(&command, &watch_signals()?).map_err(remote_failure)?;
    if let Some(error) = followed.end.error {
        return Err(Failure(BROKEN, format!("error: {error}")));
    }
    let verdict = followed.end.verdict.unwrap_or_default();
    print(&if args.json { format!("{verdict:#}\n") } else { followed.end.text })?;
    Ok(followed.exit_code)
}

fn remote_failure(error: RemoteError) -> Failure {
    Failure(error.exit_code(), format!("error: {error}"))
}

fn healthcheck_command(args: &HealthcheckArgs) -> Result<u8, Failure> {
    healthcheck(&args.url).map_err(|error| Failure(BROKEN, format!("error: {error}")))?;
    Ok(0)
}

fn serve_command(args: ServeArgs) -> Result<u8, Failure> {
    let interrupt = watch_signals()?;
    // Compose files hand an empty variable on where none is set.
    let start = args.start.or_else(|| std::env::var("EXPERIMENT").ok());
    let command = ServeCommand {
        listen: args.listen,
        experiments: args.experiments,
        out: args.out,
        faults: args.faults,
        traces: trace_options(args.traces, args.trace_share),
        start: start.filter(|name| !name.is_empty()),
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

fn check_command(args: &CheckArgs) -> Result<u8, Failure> {
    let (mut code, mut problems) = (0, Vec::new());
    for file in &args.files {
        let name = file.display().to_string();
        match read(file).and_then(|text| checked(&name, &text)) {
            Ok(plan) if !args.json => print(&summary(&name, &plan))?,
            Ok(_) => {}
            Err(Unusable::Report(report)) if args.json => {
                code = INVALID;
                problems.extend(listed(&name, &report));
            }
            Err(Unusable::Report(report)) => {
                code = INVALID;
                print(&report.render(colour(&io::stdout())))?;
            }
            Err(Unusable::Unread(Failure(failed, message))) => {
                code = code.max(failed);
                say::err(&message);
            }
        }
    }
    if args.json {
        print(&format!("{:#}\n", serde_json::Value::Array(problems)))?;
    }
    Ok(code)
}

fn checked(name: &str, text: &str) -> Result<Plan, Unusable> {
    experiment::load(name, text, &Overrides::default()).map_err(Unusable::Report)
}

/// The problems of a report as JSON, each with its file.
fn listed(name: &str, report: &Report) -> Vec<serde_json::Value> {
    let serde_json::Value::Array(mut problems) = report.to_json() else { return Vec::new() };
    for problem in &mut problems {
        problem["file"] = name.into();
    }
    problems
}

fn law_command(args: &LawArgs) -> Result<u8, Failure> {
    let law = law::parse(&args.law)
        .map_err(|report| Failure(USAGE, report.render(colour(&io::stderr()))))?;
    for invalid in law.invalid() {
        say::err(&format!("warning: {}: {}; the law clamps it", invalid.field, invalid.message));
    }
    let output = io::stdout().lock();
    let driven = if args.input == Path::new("-") {
        law.drive(io::stdin().lock(), output)
    } else {
        let file =
            std::fs::File::open(&args.input).map_err(|error| unreadable(&args.input, &error))?;
        law.drive(BufReader::new(file), output)
    };
    match driven {
        Err(error) if !error.is_deaf() => {
            let name = args.input.display();
            Err(Failure(USAGE, format!("error: {name}: {error}")))
        }
        _ => Ok(0),
    }
}

fn publish_command(args: PublishArgs) -> Result<u8, Failure> {
    let placing = match (args.start, args.end) {
        (Some(start), _) => Placing::Start(start),
        (None, Some(end)) => Placing::End(end),
        (None, None) => Placing::Recorded,
    };
    let out = (args.out != Path::new("-")).then_some(args.out);
    let published = publish(&PublishCommand { run: args.run, out, placing }).map_err(|error| {
        let (code, more) = match &error {
            PublishError::Unwritten { .. } => (BROKEN, String::new()),
            PublishError::Invalid { report, .. } => {
                (INVALID, format!("\n{}", report.render(colour(&io::stderr()))))
            }
            _ => (USAGE, String::new()),
        };
        Failure(code, format!("error: {error}{more}"))
    })?;
    published.say();
    Ok(0)
}

fn backend_command(args: BackendArgs) -> Result<u8, Failure> {
    let service =
        ServiceConfig { servers: args.servers, service: args.service, backlog: args.backlog };
    let interrupt = watch_signals()?;
    let BackendArgs { listen, seed, host, ports, .. } = args;
    let control = args.control.map(|listen| ControlArgs { listen, host, ports });
    let standalone = StandaloneArgs { listen, service, seed, control };
    run_standalone(&standalone, || interrupt.signal().is_some())
        .map_err(|error| Failure(BROKEN, format!("error: {error}")))?;
    Ok(interrupted(&interrupt))
}

fn proxy_command(args: ProxyArgs) -> Result<u8, Failure> {
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

/// The exit code of what runs until a signal comes.
fn interrupted(interrupt: &Interrupt) -> u8 {
    interrupt.signal().unwrap_or(Signal::Interrupt).exit_code()
}

fn load(file: &Path, overrides: &Overrides) -> Result<(String, Plan), Failure> {
    let invalid = |report: Report| Failure(INVALID, report.render(colour(&io::stderr())));
    let text = read(file).map_err(|unusable| match unusable {
        Unusable::Report(report) => invalid(report),
        Unusable::Unread(failure) => failure,
    })?;
    let plan = experiment::load(&file.display().to_string(), &text, overrides).map_err(invalid)?;
    Ok((text, plan))
}

/// Reads a file as text, if it is not too long to be an experiment.
fn read(file: &Path) -> Result<String, Unusable> {
    let unread = |error: io::Error| Unusable::Unread(unreadable(file, &error));
    let name = file.display().to_string();
    let opened = std::fs::File::open(file).map_err(unread)?;
    let length = opened.metadata().map_err(unread)?.len();
    Document::refuse_long(&name, length).map_err(Unusable::Report)?;
    let mut bytes = Vec::new();
    // A pipe has no length beforehand.
    opened.take(READ_AT_MOST).read_to_end(&mut bytes).map_err(unread)?;
    let message = format!("error: {name}: not UTF-8 text, so no experiment file");
    String::from_utf8(bytes).map_err(|_| Unusable::Unread(Failure(INVALID, message)))
}

fn unreadable(file: &Path, error: &io::Error) -> Failure {
    Failure(USAGE, format!("error: cannot read {}: {error}", file.display()))
}

fn summary(name: &str, plan: &Plan) -> String {
    let count = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    format!(
        "{name}: ok ({}, {}, {}, {})\n",
        count(plan.arms.len(), "arm"),
        count(plan.phases.len(), "phase"),
        count(plan.faults.len(), "fault"),
        count(plan.resolved.expect.len(), "expectation"),
    )
}

/// Whether to colour what is written there.
fn colour(to: &impl IsTerminal) -> bool {
    to.is_terminal() && std::env::var_os("NO_COLOR").is_none()
}

fn watch_signals() -> Result<Interrupt, Failure> {
    let failure = |error| Failure(BROKEN, format!("error: cannot watch for signals: {error}"));
    Interrupt::watch().map_err(failure)
}

fn print(text: &str) -> Result<(), Failure> {
    say::out(text).map_err(|error| Failure(BROKEN, format!("error: cannot write: {error}")))
}
