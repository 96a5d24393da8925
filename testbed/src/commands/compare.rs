//! Commands that hold runs against each other.

use super::runs::run_options;
use super::{BROKEN, Failure, USAGE, load, print, watch_signals};
use std::path::Path;
use testbed::both::{Plans, run_both};
use testbed::cli::{CompareArgs, Listen, RunArgs};
use testbed::compare::{self, CompareError, Side};
use testbed::drive::interrupt::Interrupt;
use testbed::experiment::Overrides;
use testbed::experiment::file::Mode;
use testbed::run::RunOptions;
use testbed::seeds::run_seeds;

pub(crate) fn compare_command(args: &CompareArgs) -> Result<u8, Failure> {
    let interrupt = watch_signals()?;
    let Some(a) = side(&args.a, args, &interrupt)? else {
        return Ok(super::interrupted(&interrupt));
    };
    let Some(b) = side(&args.b, args, &interrupt)? else {
        return Ok(super::interrupted(&interrupt));
    };
    let compared = compare::compare(&a, &b, args.tolerance).map_err(failure)?;
    print(&match (args.json, args.markdown) {
        (true, _) => format!("{:#}\n", serde_json::json!(compared)),
        (false, true) => compared.markdown(),
        (false, false) => compared.text(),
    })?;
    Ok(compared.conclusion.exit_code())
}

/// The runs in a directory, or those that come of a file; none if they were interrupted.
fn side(path: &Path, args: &CompareArgs, interrupt: &Interrupt) -> Result<Option<Side>, Failure> {
    if !path.is_file() {
        return compare::read(path).map(Some).map_err(failure);
    }
    let overrides = Overrides { mode: Some(Mode::Virtual), ..Overrides::default() };
    let (text, plan) = load(path, &overrides)?;
    let ran = run_seeds(&plan, &text, args.seeds, &args.out, interrupt)
        .map_err(|error| Failure(BROKEN, format!("error: {error}")))?;
    let judged = ran.summary.is_some();
    judged.then(|| compare::read(&ran.run_dir).map_err(failure)).transpose()
}

fn failure(error: CompareError) -> Failure {
    Failure(USAGE, format!("error: {error}"))
}

/// A run of each mode, and the distance between them.
pub(crate) fn both_command(args: &RunArgs) -> Result<u8, Failure> {
    if args.seeds.is_some_and(|seeds| seeds > 1) {
        let message = "error: `--mode both` is one run of each mode; leave --seeds out";
        return Err(Failure(USAGE, message.to_owned()));
    }
    let of = |mode| {
        let mut set = args.set.clone();
        set.push(("run.seeds".to_owned(), "1".to_owned()));
        Overrides { mode: Some(mode), seed: args.seed, set, ..Overrides::default() }
    };
    let (text, simulated) = load(&args.file, &of(Mode::Virtual))?;
    let (_, live) = load(&args.file, &of(Mode::Live))?;
    let options = run_options(args, Mode::Live)?;
    let quietly = RunOptions { listen: Listen::Off, traces: None, ..options.clone() };
    let plans = Plans { simulated: &simulated, live: &live };
    let finished = run_both(plans, &text, [&quietly, &options], &watch_signals()?)
        .map_err(|error| Failure(BROKEN, format!("error: {error}")))?;
    let json = || format!("{:#}\n", finished.json(plans));
    print(&if args.json { json() } else { finished.text(plans) })?;
    Ok(finished.exit_code())
}
