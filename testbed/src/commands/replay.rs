//! `windtunnel replay`: what a run had to do with, before something else.

use super::runs::run_command;
use super::{Failure, USAGE, load};
use testbed::cli::RunArgs;
use testbed::experiment::Overrides;
use testbed::experiment::plan::{Calls, Plan, Work};
use testbed::watch::arrivals;
use testbed_core::load::LoadConfig;

/// Runs what was run in a directory. With nothing changed that is the same load, which gives the same run to the byte
/// in virtual time. With something changed, the arrivals that the run recorded take the place of its load: what a
/// closed load asks depends on the answers, so it would ask another law something else.
pub(crate) fn replay_command(mut args: RunArgs) -> Result<u8, Failure> {
    let chance = args.mode.is_some() || args.seed.is_some() || args.seeds.is_some();
    let changed = chance || !args.set.is_empty();
    if changed && args.file.join(arrivals::FILE).is_file() {
        let (_, plan) = load(&args.file, &Overrides::default())?;
        // What the command line says comes after it, and so has the last word.
        args.set.splice(0..0, recorded_loads(&plan)?);
    }
    run_command(&args)
}

/// The settings that put recorded arrivals before each arm of `plan`. A finite input is the same in any case, and knows
/// its end. Nobody means the load any more, so nobody is asked whether it is meant to be too much.
fn recorded_loads(plan: &Plan) -> Result<Vec<(String, String)>, Failure> {
    let offers = |work: &Work| match work {
        Work::Calls(calls) => !matches!(**calls, Calls { load: LoadConfig::Input(_), .. }),
        Work::Downloads(_) => false,
    };
    let mut set = vec![("overload".to_owned(), "true".to_owned())];
    for arm in plan.arms.iter().filter(|arm| offers(&arm.work)) {
        let name = &arm.name;
        if name.contains('.') {
            let message = format!(
                "error: arm `{name}` has a dot in its name, so no path leads to its load; give it another name in \
                 resolved.yaml and {}",
                arrivals::FILE
            );
            return Err(Failure(USAGE, message));
        }
        let trace =
            format!("{{ open: {{ trace: {{ file: {}, arm: {name:?} }} }} }}", arrivals::FILE);
        set.push((format!("arms.{name}.load"), trace));
    }
    Ok(set)
}
