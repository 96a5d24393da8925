//! Commands about runs.

use super::compare::both_command;
use super::{
    BROKEN, Failure, INVALID, REGRESSION, USAGE, backend_url, colour, experiment_file, interrupted,
    load, print, runs, trace_options, watch_signals,
};
use std::io;
use std::path::Path;
use testbed::cli::{self, PublishArgs, ReportArgs, RunArgs, RunMode, SweepArgs, VerifyArgs};
use testbed::experiment::Overrides;
use testbed::experiment::file::Mode;
use testbed::experiment::plan::Plan;
use testbed::page::{ReportError, serve_report, write_report};
use testbed::publish::{Placing, PublishCommand, PublishError, publish};
use testbed::remote::{RemoteCommand, RemoteError, run_remote};
use testbed::run::{RunOptions, run};
use testbed::seeds::run_seeds;
use testbed::serve::wire::Order;
use testbed::sweep::{SweepCommand, SweepError, sweep};
use testbed::verify::{VerifyError, verify};

pub(crate) fn run_command(args: &RunArgs) -> Result<u8, Failure> {
    if args.mode == Some(RunMode::Both) {
        return both_command(args);
    }
    let overrides = Overrides {
        mode: args.mode.and_then(RunMode::single),
        seed: args.seed,
        set: args.set.clone(),
        ..Overrides::default()
    };
    let (text, plan) = load(&args.file, &overrides)?;
    let seeds = args.seeds.unwrap_or(plan.resolved.run.seeds);
    if seeds > 1 {
        return seeds_command(args, &plan, &text, seeds);
    }
    let options = run_options(args, plan.mode)?;
    let interrupt = watch_signals()?;
    let finished = run(&plan, &text, &options, interrupt)
        .map_err(|error| Failure(BROKEN, format!("error: {error}")))?;
    let out =
        if args.json { format!("{:#}\n", finished.json(&plan)) } else { finished.text(&plan) };
    print(&out)?;
    Ok(finished.exit_code())
}

/// How to run in this mode what was asked for.
pub(super) fn run_options(args: &RunArgs, mode: Mode) -> Result<RunOptions, Failure> {
    Ok(RunOptions {
        out: args.out.clone(),
        listen: args.listen.unwrap_or_else(|| cli::default_listen(mode)),
        faults: args.around.faults.clone(),
        backend: backend_url(args.around.backend.clone())?,
        traces: trace_options(args.around.traces.clone(), args.around.trace_share),
        report: !args.no_report,
        quiet: args.quiet,
    })
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

pub(crate) fn sweep_command(args: SweepArgs) -> Result<u8, Failure> {
    let overrides = args.overrides().of(&experiment_file(&args.file)?);
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

pub(crate) fn verify_command(args: &VerifyArgs) -> Result<u8, Failure> {
    let (interrupt, mut code) = (watch_signals()?, 0);
    for run in args.runs.iter().flat_map(|path| runs(path)) {
        let verified = verify(&run, interrupt.clone()).map_err(verify_failure)?;
        let word = if verified.same() { "SAME" } else { "DIFFERENT" };
        print(&format!("{verified}{word}  {}\n", run.display()))?;
        code = if verified.same() { code } else { REGRESSION };
    }
    Ok(code)
}

fn verify_failure(error: VerifyError) -> Failure {
    let code = match &error {
        VerifyError::NoRun(_) | VerifyError::Live(_) => USAGE,
        VerifyError::Invalid(_) => INVALID,
        VerifyError::Interrupted(signal) => signal.exit_code(),
        VerifyError::World(_) => BROKEN,
    };
    Failure(code, format!("error: {error}"))
}

pub(crate) fn remote_command(server: &str, args: &RunArgs) -> Result<u8, Failure> {
    if args.mode == Some(RunMode::Both) {
        let message =
            "error: a server runs one mode at a time; write `--mode live` or `--mode virtual`";
        return Err(Failure(USAGE, message.to_owned()));
    }
    let file = args.file.to_string_lossy();
    let order = Order {
        experiment: file.trim_start_matches("./").to_owned(),
        mode: args.mode.and_then(RunMode::single),
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

pub(crate) fn report_command(args: &ReportArgs) -> Result<u8, Failure> {
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
    for run in runs(&args.run) {
        let written = write_report(&run).map_err(failure)?;
        print(&format!("{}\n", written.display()))?;
    }
    Ok(0)
}

pub(crate) fn publish_command(args: PublishArgs) -> Result<u8, Failure> {
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
