//! One side of a comparison: the runs in a directory, by their seeds.

use super::CompareError;
use super::file::{Flat, Manifest, Verdict, flat};
use crate::headline::Number;
use crate::run_dir::{runs, whole};
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The runs of one side.
#[derive(Clone, Debug)]
pub struct Side {
    /// Where they are.
    pub path: PathBuf,
    /// Each by its seed; at least one.
    pub runs: BTreeMap<u64, Run>,
}

/// A run, as far as runs are compared.
#[derive(Clone, Debug)]
pub struct Run {
    /// Its directory.
    pub path: PathBuf,
    pub(super) manifest: Manifest,
    pub(super) verdict: Verdict,
    /// None if it was stopped or broke.
    pub(super) numbers: Vec<Number>,
    /// Its resolved file, field by field, without the seed.
    pub(super) experiment: Flat,
}

impl Side {
    pub(super) fn read(path: &Path) -> Result<Self, CompareError> {
        let mut by_seed = BTreeMap::new();
        for dir in runs(path) {
            let run = Run::read(dir)?;
            let seed = run.manifest.seed;
            if by_seed.insert(seed, run).is_some() {
                return Err(CompareError::SameSeed { path: path.to_owned(), seed });
            }
        }
        if by_seed.is_empty() {
            return Err(CompareError::NoRuns(path.to_owned()));
        }
        Ok(Self { path: path.to_owned(), runs: by_seed })
    }

    /// A run of it: all are of one experiment.
    pub(super) fn any(&self) -> &Run {
        self.runs.values().next().expect("a side has a run")
    }

    pub(super) fn seeds(&self) -> impl Iterator<Item = u64> {
        self.runs.keys().copied()
    }
}

impl Run {
    fn read(path: PathBuf) -> Result<Self, CompareError> {
        // A run that was killed has none.
        let has_verdict = path.join("verdict.json").is_file();
        let verdict: Verdict =
            if has_verdict { json(&path, "verdict.json")? } else { Verdict::default() };
        let numbers = if verdict.is_judged() { numbers(&path)? } else { Vec::new() };
        let resolved = whole(&path, "resolved.yaml")?;
        let experiment =
            flat(&resolved).map_err(|why| unusable(&path, "resolved.yaml", why.to_string()))?;
        Ok(Self { manifest: json(&path, "manifest.json")?, verdict, numbers, experiment, path })
    }

    /// The names of its arms, each once, in the order of the file.
    pub(super) fn arms(&self) -> Vec<&str> {
        let mut arms: Vec<_> = self.numbers.iter().map(|number| number.arm.as_str()).collect();
        arms.dedup();
        arms
    }

    /// The numbers of an arm over the whole run.
    pub(super) fn of_arm(&self, arm: &str) -> impl Iterator<Item = &Number> {
        self.numbers.iter().filter(move |number| number.phase.is_none() && number.arm == arm)
    }
}

fn numbers(path: &Path) -> Result<Vec<Number>, CompareError> {
    const NAME: &str = "numbers.json";
    if !path.join(NAME).is_file() {
        return Err(unusable(path, NAME, "it is not there".to_owned()));
    }
    json(path, NAME)
}

fn json<T: DeserializeOwned>(path: &Path, name: &str) -> Result<T, CompareError> {
    serde_json::from_str(&whole(path, name)?)
        .map_err(|error| unusable(path, name, error.to_string()))
}

fn unusable(path: &Path, name: &str, why: String) -> CompareError {
    CompareError::Unusable { path: path.join(name), why }
}
