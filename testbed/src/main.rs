//! The command line of Windtunnel.

use clap::Parser as _;
use std::io::{self, BufReader, IsTerminal, Read as _};
use std::path::Path;
use std::process::ExitCode;
use testbed::backend::{BackendUrl, ControlArgs, StandaloneArgs, run_standalone};
use testbed::cli::{
    self, BackendArgs, CheckArgs, Cli, Command, ExplainArgs, HealthcheckArgs, InitArgs, LawArgs,
    PlanArgs, ProxyArgs, PublishArgs, ReportArgs, RunArgs, ServeArgs, SweepArgs, VerifyArgs,
};
use testbed::drive::interrupt::Interrupt;
use testbed::drive::world::Signal;
use testbed::experiment::document::Document;
use testbed::experiment::file::Mode;
use testbed::experiment::plan::Plan;
use testbed::experiment::problem::Report;
use testbed::experiment::{self, Overrides};
use testbed::page::{ReportError, serve_report, write_report};
use testbed::proxy_command::{ProxyCommand, ProxyCommandError, run_proxy};
use testbed::publish::{Placing, PublishCommand, PublishError, publish};
use testbed::remote::{RemoteCommand, RemoteError, healthcheck, run_remote};
use testbed::run::{RunOptions, run};
use testbed::seeds::run_seeds;
use testbed::serve::wire::Order;
use testbed::serve::{HostName, ServeCommand, ServeCommandError, run_serve};
use testbed::sweep::{SweepCommand, SweepError, sweep};
use testbed::traces::{Collector, ENDPOINT_VARIABLE, TraceOptions};
use testbed::verify::{VerifyError, verify};
use testbed::{init, law, list, overview, say};
use testbed_core::service::ServiceConfig;

/// Something broke; a retry may help.
const BROKEN: u8 = 1;
/// The command line names something that is not there.
const USAGE: u8 = 2;
/// The experiment file is not valid.
const INVALID: u8 = 3;
/// What was recorded before is not what is recorded now.
const REGRESSION: u8 = 98;
/// The environment variable with the hosts that requests to a server may be for.
const ALLOWED_HOSTS: &str = "ALLOWED_HOSTS";
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
        Command::Sweep(args) => sweep_command(args),
        Command::Check(args) => check_command(&args),
        Command::Verify(args) => verify_command(&args),
        Command::Init(args) => init_command(&args),
        Command::Explain(args) => explain_command(&args),
        Command::Plan(args) => plan_command(args),
        Command::Law(args) => law_command(&args),
        Command::Publish(args) => publish_command(args),
        Command::Report(args) => report_command(&args),
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
    let overrides = Overrides {
        mode: args.mode,
        seed: args.seed,
        set: args.set.clone(),
        ..Overrides::default()
    };
    let (text, plan) = load(&args.file, &overrides)?;
    let seeds = args.seeds.unwrap_or(plan.resolved.run.seeds);
    if seeds > 1 {
        return seeds_command(args, &plan, &text, seeds);
    }
    let options = RunOptions {
        out: args.out.clone(),
        listen: args.listen.unwrap_or_else(|| cli::default_listen(plan.mode)),
        faults: args.faults.clone(),
        backend: backend_url(args.backend.clone())?,
        traces: trace_options(args.traces.clone(), args.trace_share),
        report: !args.no_report,
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

fn sweep_command(args: SweepArgs) -> Result<u8, Failure> {
    let overrides = args.overrides();
    let (text, plan) = load(&args.file, &overrides)?;
    let command = SweepCommand {
        name: args.file.display().to_string(),
        text,
        overrides,
        out: args.out,
        jobs: args.jobs,
        quiet: args.quiet,
    };
    let swept = sweep(&command, &plan, &watch_signals()?).map_err(sweep_failure)?;
    print(&if args.json { format!("{:#}\n", swept.json) } else { swept.text })?;
    Ok(swept.exit_code)
}

fn verify_command(args: &VerifyArgs) -> Result<u8, Failure> {
    let (interrupt, mut code) = (watch_signals()?, 0);
    for run in &args.runs {
        let verified = verify(run, interrupt.clone()).map_err(verify_failure)?;
        let word = if verified.same() { "SAME" } else { "DIFFERENT" };
        print(&format!("{verified}{word}  {}\n", run.display()))?;
        code = if verified.same() { code } else { REGRESSION };
    }
    Ok(code)
}

fn verify_failure(error: VerifyError) -> Failure {
    let code = match &error {
        VerifyError::NoRun { .. } | VerifyError::Live(_) => USAGE,
        VerifyError::Invalid(_) => INVALID,
        VerifyError::Interrupted(signal) => signal.exit_code(),
        VerifyError::World(_) => BROKEN,
    };
    Failure(code, format!("error: {error}"))
}

fn sweep_failure(error: SweepError) -> Failure {
    let code = match &error {
        SweepError::NoAxes(_) => USAGE,
        SweepError::Invalid(report) => {
            return Failure(INVALID, report.render(colour(&io::stderr())));
        }
        SweepError::Interrupted { signal, .. } => signal.exit_code(),
        SweepError::Unkept { .. } | SweepError::World { .. } => BROKEN,
    };
    Failure(code, format!("error: {error}"))
}

fn backend_url(flag: Option<BackendUrl>) -> Result<Option<BackendUrl>, Failure> {
    let of_environment = BackendUrl::of_environment;
    flag.map_or_else(of_environment, |url| Ok(Some(url)))
        .map_err(|message| Failure(USAGE, format!("error: {message}")))
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
        backend: backend_url(args.backend)?,
        traces: trace_options(args.traces, args.trace_share),
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

fn init_command(args: &InitArgs) -> Result<u8, Failure> {
    let name = args.file.display();
    init::init(&args.file).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            Failure(USAGE, format!("error: {name} is there already; name another file"))
        }
        _ => Failure(BROKEN, format!("error: cannot write {name}: {error}")),
    })?;
    print(&format!("wrote {name}; try: windtunnel run {name}\n"))?;
    Ok(0)
}

fn explain_command(args: &ExplainArgs) -> Result<u8, Failure> {
    let text = experiment::explain::explain(&experiment::schema(), &args.path)
        .map_err(|unknown| Failure(USAGE, format!("error: {unknown}")))?;
    print(&text)?;
    Ok(0)
}

fn plan_command(args: PlanArgs) -> Result<u8, Failure> {
    let overrides =
        Overrides { mode: args.mode, seed: args.seed, set: args.set, ..Overrides::default() };
    let (_, plan) = load(&args.file, &overrides)?;
    let columns = terminal_size::terminal_size_of(io::stdout()).map_or(80, |(width, _)| width.0);
    print(&overview::text(&plan, columns.into()))?;
    Ok(0)
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

fn report_command(args: &ReportArgs) -> Result<u8, Failure> {
    let failure = |error| {
        let broken = matches!(error, ReportError::Unwritten { .. } | ReportError::Unserved(_));
        Failure(if broken { BROKEN } else { USAGE }, format!("error: {error}"))
    };
    if args.serve {
        let interrupt = watch_signals()?;
        let stop = || interrupt.signal().is_some();
        serve_report(&args.run, args.listen, stop).map_err(failure)?;
        return Ok(interrupted(&interrupt));
    }
    let written = write_report(&args.run).map_err(failure)?;
    print(&format!("{}\n", written.display())).map(|()| 0)
}

fn backend_command(args: BackendArgs) -> Result<u8, Failure> {
    let service = ServiceConfig::new(args.servers, args.service, args.backlog);
    let interrupt = watch_signals()?;
    let BackendArgs { listen, seed, host, ports, lease, .. } = args;
    let control = args.control.map(|listen| ControlArgs { listen, host, ports, lease });
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
