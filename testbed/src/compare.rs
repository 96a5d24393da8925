//! `windtunnel compare`: two runs of an experiment, or two of each seed, number by number: what is better, what is
//! worse, and what cannot be told apart.

mod file;
mod pairs;
mod row;
mod show;
mod side;

pub use row::{Interval, Numbers, Row, Standing};
pub use side::{Run, Side};

use crate::run_dir::NoRun;
use pairs::Pairs;
use serde::Serialize;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why two runs are not compared.
#[derive(Debug, Error)]
pub enum CompareError {
    /// There is nothing to be compared there.
    #[error(
        "there are no runs in {path}; give a run directory, a directory of them as `windtunnel run FILE --seeds 10` \
         leaves it, or an experiment file",
        path = .0.display()
    )]
    NoRuns(PathBuf),
    /// What every run has is not there.
    #[error(transparent)]
    NoRun(#[from] NoRun),
    /// A file of a run does not say what it should.
    #[error(
        "{path} cannot be used: {why}; it may be of another version of this program: run the experiment again",
        path = .path.display()
    )]
    Unusable {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// Runs are paired by their seeds.
    #[error(
        "{path} has more than one run with seed {seed}; give a directory that has one of each seed",
        path = .path.display()
    )]
    SameSeed {
        /// The directory.
        path: PathBuf,
        /// The seed.
        seed: u64,
    },
    /// Some are live and some are virtual.
    #[error(
        "{a} is {a_mode} and {b} is {b_mode}; compare two of one mode. How far the modes are apart is told by \
         `windtunnel run FILE --mode both`",
        a = .a.display(), b = .b.display()
    )]
    Modes {
        /// A run.
        a: PathBuf,
        /// Its mode.
        a_mode: String,
        /// A run of another mode.
        b: PathBuf,
        /// That mode.
        b_mode: String,
    },
    /// No arm is in both.
    #[error("no arm is in both: A has {a}, B has {b}; compare runs whose arms have the same names")]
    NoArm {
        /// The arms of A.
        a: String,
        /// Those of B.
        b: String,
    },
    /// No seed is in both.
    #[error(
        "no seed is in both: A has {a}, B has {b}; run one of them again with the `--seed` of the other"
    )]
    NoSeed {
        /// The seeds of A.
        a: String,
        /// Those of B.
        b: String,
    },
}

/// What a comparison came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Conclusion {
    /// Nothing is worse.
    NoRegression,
    /// A pair of runs cannot say, and nothing is worse in the others.
    Inconclusive,
    /// Something is worse.
    Regression,
}

impl Conclusion {
    /// What a process exits with.
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::NoRegression => 0,
            Self::Inconclusive => 4,
            Self::Regression => 98,
        }
    }

    /// In words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NoRegression => "no regression",
            Self::Inconclusive => "inconclusive",
            Self::Regression => "regression",
        }
    }
}

/// Two sides, compared.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// What it came to.
    pub conclusion: Conclusion,
    /// Where the runs of A and of B are.
    pub sides: [PathBuf; 2],
    /// The seeds that both have and that can say something.
    pub seeds: Vec<u64>,
    /// How far a number may be worse, as a share of A's, before it counts.
    pub tolerance: f64,
    /// Every number of every arm that both have.
    pub rows: Vec<Row>,
    /// What there is to know besides.
    pub notes: Vec<String>,
}

/// Compares the runs of `a` with those of `b`, seed by seed. What is worse by `tolerance`, a share of A's number, or
/// less does not count.
///
/// # Errors
/// If they cannot be held against each other.
pub fn compare(a: &Side, b: &Side, tolerance: f64) -> Result<Comparison, CompareError> {
    let pairs = Pairs::new(a, b)?;
    let rows = row::rows(&pairs, tolerance);
    let worse = pairs.ended_worse() || rows.iter().any(|row| row.standing == Standing::Worse);
    let conclusion = match (worse, pairs.unusable()) {
        (true, _) => Conclusion::Regression,
        (false, true) => Conclusion::Inconclusive,
        (false, false) => Conclusion::NoRegression,
    };
    let sides = [a, b].map(|side| side.path.clone());
    let (seeds, notes) = (pairs.seeds(), pairs.notes());
    Ok(Comparison { conclusion, sides, seeds, tolerance, rows, notes })
}

impl Comparison {
    /// As text.
    pub fn text(&self) -> String {
        show::text(self)
    }

    /// As Markdown, for a pull request.
    pub fn markdown(&self) -> String {
        show::markdown(self)
    }
}

/// The runs below `path`, by their seeds.
///
/// # Errors
/// If there are none, or one cannot be used.
pub fn read(path: &Path) -> Result<Side, CompareError> {
    Side::read(path)
}
