//! The command line of Windtunnel.

mod commands;

use clap::Parser as _;
use commands::{Failure, compare, files, parts, print, replay, runs};
use std::process::ExitCode;
use testbed::cli::{Cli, Command};
use testbed::experiment::{self};
use testbed::{list, say};

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Run(args) => match &args.server {
            Some(server) => runs::remote_command(server, &args),
            None => runs::run_command(&args),
        },
        Command::Replay(args) => replay::replay_command(args),
        Command::Sweep(args) => runs::sweep_command(args),
        Command::Check(args) => files::check_command(&args),
        Command::Verify(args) => runs::verify_command(&args),
        Command::Compare(args) => compare::compare_command(&args),
        Command::Init(args) => files::init_command(&args),
        Command::Explain(args) => files::explain_command(&args),
        Command::Plan(args) => files::plan_command(args),
        Command::Law(args) => files::law_command(&args),
        Command::Publish(args) => runs::publish_command(args),
        Command::Report(args) => runs::report_command(&args),
        Command::List(args) => print(&list::text(args.what)).map(|()| 0),
        Command::Schema => print(&format!("{:#}\n", experiment::schema())).map(|()| 0),
        Command::Backend(args) => parts::backend_command(args),
        Command::Proxy(args) => parts::proxy_command(args),
        Command::Serve(args) => parts::serve_command(args),
        Command::Healthcheck(args) => parts::healthcheck_command(&args),
    };
    done.map_or_else(
        |Failure(code, message)| {
            say::err(&message);
            ExitCode::from(code)
        },
        ExitCode::from,
    )
}
