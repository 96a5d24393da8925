//! What points came to, kept by what they are: a point that was run once is not run again, neither
//! by this sweep after it was killed nor by another that has the point too.

use super::measures::{Number, fingerprint};
use crate::experiment::plan::Plan;
use crate::program;
use crate::run::resolved;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// What a point came to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Point {
    /// The run's seed.
    pub seed: u64,
    /// The run's verdict: `pass`, `fail` or another class.
    pub verdict: String,
    /// Its expectations, in the order of the file.
    pub expectations: Vec<Row>,
    /// What was breached, for people.
    #[serde(default)]
    pub breaches: Vec<String>,
    /// What was measured, in the order of the file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub measures: Vec<Number>,
}

/// An expectation of one arm, judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Row {
    /// The expectation's name.
    pub id: String,
    /// The arm.
    pub arm: String,
    /// How it came out: `pass`, `fail` or another class.
    pub verdict: String,
    /// The number that was observed, in base units; none if there is none.
    pub observed: Option<f64>,
    /// What it was held against.
    pub limit: String,
}

/// A folder of points.
#[derive(Clone, Debug)]
pub(super) struct Cache {
    folder: PathBuf,
    /// The hash of this program.
    program: &'static str,
}

impl Cache {
    /// The points in `folder`, which is made if it is not there.
    ///
    /// # Errors
    /// When the system does not allow it, or does not let this program be read.
    pub(super) fn open(folder: &Path) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        Ok(Self { folder: folder.to_owned(), program: program::hash()? })
    }

    /// The name of the point that `plan` is: a hash of all that its outcome is a function of, which
    /// are the resolved file with its seed and mode, what is measured, and this program.
    ///
    /// # Errors
    /// When the plan cannot be written as YAML.
    pub(super) fn name(&self, plan: &Plan) -> io::Result<String> {
        let measures = fingerprint(&plan.measures);
        let all = [self.program.as_bytes(), &resolved(plan)?, measures.as_bytes()].concat();
        Ok(program::hash_of(&all)[..32].to_owned())
    }

    /// What the point of that name came to, if it is known. A file that does not read as one is none.
    pub(super) fn get(&self, name: &str) -> Option<Point> {
        serde_json::from_slice(&fs::read(self.file(name)).ok()?).ok()
    }

    /// Keeps what a point came to. A reader sees all of it or nothing, whenever the process dies.
    ///
    /// # Errors
    /// When the system does not allow it.
    pub(super) fn put(&self, name: &str, point: &Point) -> io::Result<()> {
        let (file, half) =
            (self.file(name), self.folder.join(format!("{name}.{}", std::process::id())));
        fs::write(&half, serde_json::to_vec(point)?)?;
        fs::rename(half, file)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.json"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_that_was_cut_off_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::open(folder.path()).unwrap();
        let point = Point { seed: 7, verdict: "pass".into(), ..Point::default() };
        assert_eq!(cache.get("a"), None);
        cache.put("a", &point).unwrap();
        assert_eq!(cache.get("a"), Some(point));
        fs::write(folder.path().join("a.json"), "{\"seed\": 7, \"verd").unwrap();
        assert_eq!(cache.get("a"), None);
    }
}
