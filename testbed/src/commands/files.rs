//! Commands about experiment files and laws.

use super::{BROKEN, Failure, INVALID, USAGE, Unusable, colour, load, print, read, unreadable};
use std::io::{self, BufReader};
use std::path::Path;
use testbed::cli::{CheckArgs, ExplainArgs, InitArgs, LawArgs, PlanArgs};
use testbed::experiment::plan::Plan;
use testbed::experiment::problem::Report;
use testbed::experiment::{self, Overrides};
use testbed::{init, law, overview, say, shell};

pub(crate) fn check_command(args: &CheckArgs) -> Result<u8, Failure> {
    let (mut code, mut problems) = (0, Vec::new());
    for file in &args.files {
        let name = file.display().to_string();
        match read(file).and_then(|text| checked(file, &text)) {
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

fn checked(file: &Path, text: &str) -> Result<Plan, Unusable> {
    let name = file.display().to_string();
    experiment::load(&name, text, &Overrides::at(file)).map_err(Unusable::Report)
}

/// The problems of a report as JSON, each with its file.
fn listed(name: &str, report: &Report) -> Vec<serde_json::Value> {
    let serde_json::Value::Array(mut problems) = report.to_json() else { return Vec::new() };
    for problem in &mut problems {
        problem["file"] = name.into();
    }
    problems
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

pub(crate) fn init_command(args: &InitArgs) -> Result<u8, Failure> {
    if args.file == Path::new("-") {
        print(init::STARTER)?;
        return Ok(0);
    }
    let name = args.file.display();
    init::init(&args.file).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            Failure(USAGE, format!("error: {name} is there already; name another file"))
        }
        io::ErrorKind::NotFound => {
            Failure(BROKEN, format!("error: there is no folder for {name}; make it first"))
        }
        _ => Failure(BROKEN, format!("error: cannot write {name}: {error}")),
    })?;
    print(&format!("wrote {name}; try: windtunnel run {}\n", shell::word(&args.file)))?;
    Ok(0)
}

pub(crate) fn explain_command(args: &ExplainArgs) -> Result<u8, Failure> {
    let text = experiment::explain::explain(&experiment::schema(), &args.path)
        .map_err(|unknown| Failure(USAGE, format!("error: {unknown}")))?;
    print(&text)?;
    Ok(0)
}

pub(crate) fn plan_command(args: PlanArgs) -> Result<u8, Failure> {
    let overrides =
        Overrides { mode: args.mode, seed: args.seed, set: args.set, ..Overrides::default() };
    let (_, plan) = load(&args.file, &overrides)?;
    let columns = terminal_size::terminal_size_of(io::stdout()).map_or(80, |(width, _)| width.0);
    print(&overview::text(&plan, columns.into()))?;
    Ok(0)
}

pub(crate) fn law_command(args: &LawArgs) -> Result<u8, Failure> {
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
