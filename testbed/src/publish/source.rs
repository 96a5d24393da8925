//! What a run left behind, read line by line; of a run that was killed, whatever is there.

use super::PublishError;
use crate::experiment::plan::Plan;
use crate::experiment::{self, Overrides};
use crate::run_dir::{lines, whole};
use crate::watch::names::Metric;
use serde::Deserialize;
use std::path::{Path, PathBuf};
use testbed_core::time::Time;

/// A run directory.
#[derive(Debug)]
pub(super) struct Source {
    path: PathBuf,
    /// What was run.
    pub(super) plan: Plan,
    pub(super) made: Made,
}

/// What the manifest says.
#[derive(Debug, Deserialize)]
pub(super) struct Made {
    /// The version of the program that ran it.
    pub(super) version: String,
    /// When, as `2026-01-31T10:22:07Z`.
    pub(super) started: String,
}

impl Source {
    pub(super) fn open(path: &Path) -> Result<Self, PublishError> {
        let manifest = whole(path, "manifest.json")?;
        let made: Made = serde_json::from_str(&manifest).map_err(|error| {
            PublishError::Unusable { path: path.join("manifest.json"), why: error.to_string() }
        })?;
        let resolved = whole(path, "resolved.yaml")?;
        let file = path.join("resolved.yaml");
        let overrides = Overrides::at(&file);
        let loaded = experiment::load(&file.display().to_string(), &resolved, &overrides);
        let plan = loaded.map_err(|report| PublishError::Invalid {
            version: made.version.clone(),
            report: Box::new(report),
        })?;
        Ok(Self { path: path.to_owned(), plan, made })
    }

    /// Hands every line of a file to `each`, which says whether it could be read; how many could not. A
    /// file that is not there has none.
    pub(super) fn lines(
        &self,
        name: &str,
        each: impl FnMut(&str) -> Result<bool, PublishError>,
    ) -> Result<u64, PublishError> {
        let path = self.path.join(name);
        let unread = |source| PublishError::Unread { path: path.clone(), source };
        lines(&path, unread, each)
    }
}

/// The sampling instants of a source, in order, as they come while another is read.
#[derive(Debug)]
pub(super) struct Ticks<'a> {
    left: &'a [Time],
}

impl<'a> Ticks<'a> {
    pub(super) const fn new(all: &'a [Time]) -> Self {
        Self { left: all }
    }

    /// The next sampling instant before `at`.
    pub(super) fn before(&mut self, at: Time) -> Option<Time> {
        let (first, rest) = self.left.split_first()?;
        (*first < at).then(|| {
            self.left = rest;
            *first
        })
    }
}

/// The labels of an arm's series: the arm, and what else there is.
pub(super) fn labels<'a>(metric: &Metric, arm: &'a str, more: Option<&'a str>) -> Vec<&'a str> {
    debug_assert_eq!(metric.labels.len(), 1 + usize::from(more.is_some()), "{}", metric.name);
    [arm].into_iter().chain(more).collect()
}
