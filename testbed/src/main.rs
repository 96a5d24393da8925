//! The command line of Windtunnel.

use clap::Parser as _;
use std::io::{self, BufReader, IsTerminal as _, Read as _, Write as _};
use std::path::Path;
use std::process::ExitCode;
use testbed::backend::{StandaloneArgs, run_standalone};
use testbed::cli::{self, BackendArgs, CheckArgs, Cli, Command, LawArgs, RunArgs};
use testbed::drive::interrupt::Interrupt;
use testbed::drive::world::Signal;
use testbed::experiment::plan::Plan;
use testbed::experiment::problem::Report;
use testbed::experiment::{self, Overrides};
use testbed::run::{RunOptions, run};
use testbed::{law, list};
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

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Run(args) => run_command(&args),
        Command::Check(args) => check_command(&args),
        Command::Law(args) => law_command(&args),
        Command::List(args) => print(&list::text(args.what)).map(|()| 0),
        Command::Schema => print(&format!("{:#}\n", experiment::schema())).map(|()| 0),
        Command::Backend(args) => backend_command(args),
    };
    done.map_or_else(
        |Failure(code, message)| {
            eprintln!("{}", message.trim_end());
            ExitCode::from(code)
        },
        ExitCode::from,
    )
}

fn run_command(args: &RunArgs) -> Result<u8, Failure> {
    let overrides = Overrides { mode: args.mode, seed: args.seed, set: args.set.clone() };
    let (text, plan) = load(&args.file, &overrides)?;
    let options = RunOptions {
        out: args.out.clone(),
        listen: args.listen.unwrap_or_else(|| cli::default_listen(plan.mode)),
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

fn check_command(args: &CheckArgs) -> Result<u8, Failure> {
    let mut code = 0;
    for file in &args.files {
        let name = file.display().to_string();
        let checked = read(file).map(|text| experiment::load(&name, &text, &Overrides::default()));
        match checked {
            Ok(Ok(plan)) if !args.json => print(&summary(&name, &plan))?,
            Ok(Ok(_)) => {}
            Ok(Err(report)) => {
                code = INVALID;
                print(&shown(&report, args.json))?;
            }
            Err(Failure(failed, message)) => {
                code = code.max(failed);
                eprintln!("{message}");
            }
        }
    }
    Ok(code)
}

fn law_command(args: &LawArgs) -> Result<u8, Failure> {
    let law = law::parse(&args.law).map_err(|report| Failure(USAGE, shown(&report, false)))?;
    for invalid in law.invalid() {
        eprintln!("warning: {}: {}; the law clamps it", invalid.field, invalid.message);
    }
    let output = io::stdout().lock();
    let driven = if args.input == Path::new("-") {
        law::drive(&law, io::stdin().lock(), output)
    } else {
        let file =
            std::fs::File::open(&args.input).map_err(|error| unreadable(&args.input, &error))?;
        law::drive(&law, BufReader::new(file), output)
    };
    let name = args.input.display();
    driven.map(|()| 0).map_err(|error| Failure(USAGE, format!("error: {name}: {error}")))
}

fn backend_command(args: BackendArgs) -> Result<u8, Failure> {
    let service =
        ServiceConfig { servers: args.servers, service: args.service, backlog: args.backlog };
    let interrupt = watch_signals()?;
    let standalone = StandaloneArgs { listen: args.listen, service, seed: args.seed };
    run_standalone(&standalone, || interrupt.signal().is_some())
        .map_err(|error| Failure(BROKEN, format!("error: {error}")))?;
    Ok(match interrupt.signal() {
        Some(Signal::Terminate) => 143,
        _ => 130,
    })
}

fn load(file: &Path, overrides: &Overrides) -> Result<(String, Plan), Failure> {
    let text = read(file)?;
    let plan = experiment::load(&file.display().to_string(), &text, overrides)
        .map_err(|report| Failure(INVALID, shown_on_stderr(&report)))?;
    Ok((text, plan))
}

/// Reads a file as text, though not more of it than could be an experiment.
fn read(file: &Path) -> Result<String, Failure> {
    let opened = std::fs::File::open(file).map_err(|error| unreadable(file, &error))?;
    let mut bytes = Vec::new();
    opened.take(READ_AT_MOST).read_to_end(&mut bytes).map_err(|error| unreadable(file, &error))?;
    let message = || format!("error: {}: not UTF-8 text, so no experiment file", file.display());
    String::from_utf8(bytes).map_err(|_| Failure(INVALID, message()))
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

fn shown(report: &Report, json: bool) -> String {
    if json {
        return format!("{:#}\n", report.to_json());
    }
    report.render(io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none())
}

fn shown_on_stderr(report: &Report) -> String {
    report.render(io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none())
}

fn watch_signals() -> Result<Interrupt, Failure> {
    let failure = |error| Failure(BROKEN, format!("error: cannot watch for signals: {error}"));
    Interrupt::watch().map_err(failure)
}

/// Writes to standard output; a reader that has gone away is not an error.
fn print(text: &str) -> Result<(), Failure> {
    match io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure(BROKEN, format!("error: cannot write: {error}")))
        }
        _ => Ok(()),
    }
}
