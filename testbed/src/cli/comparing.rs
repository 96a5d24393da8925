//! Arguments of what compares runs.

use super::values::tolerance;
use crate::experiment::file::Mode;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// The modes that a run can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RunMode {
    /// Simulated time: exact, repeatable, as fast as the machine can.
    Virtual,
    /// Real sockets, real HTTP, real time.
    Live,
    /// One after the other, and how far they are apart.
    Both,
}

impl RunMode {
    /// The mode, if it is one.
    pub const fn single(self) -> Option<Mode> {
        match self {
            Self::Virtual => Some(Mode::Virtual),
            Self::Live => Some(Mode::Live),
            Self::Both => None,
        }
    }
}

/// Arguments of `compare`.
#[derive(Debug, Args)]
#[command(
    after_help = "Runs are paired by their seeds, so a directory with one run of each seed, as `run FILE --seeds 10` \
                        leaves it, gives confidence intervals. docs/compare.md has the numbers and how they are \
                        judged.\n\nExit codes: 0 nothing is worse, 1 something broke, 2 there are no such runs or they \
                        cannot be compared, 3 invalid experiment file, 4 nothing is worse, but not all runs can say, \
                        98 something is worse, 130 or 143 interrupted."
)]
pub struct CompareArgs {
    /// A run directory, a directory with runs by seed, or an experiment file, which is run in virtual time: the measure
    pub a: PathBuf,
    /// The same, to be held against it
    pub b: PathBuf,
    /// How far a number may be worse, as a share of A's, before that counts
    #[arg(long, value_name = "SHARE", default_value = "5%", value_parser = tolerance)]
    pub tolerance: f64,
    /// How many seeds an experiment file is run with, from its own on
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub seeds: u32,
    /// Where the runs of experiment files are made
    #[arg(long, value_name = "DIR", default_value = "runs")]
    pub out: PathBuf,
    /// Print the comparison as JSON
    #[arg(long, conflicts_with = "markdown")]
    pub json: bool,
    /// Print the comparison as Markdown, for a pull request
    #[arg(long)]
    pub markdown: bool,
}
