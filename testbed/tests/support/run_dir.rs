//! What a run directory holds.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// A row of `series.csv`.
#[derive(Debug, Deserialize)]
pub(crate) struct Row {
    pub(crate) t_ns: u64,
    pub(crate) arm: String,
    pub(crate) series: String,
    pub(crate) value: f64,
}

/// The rows of `series.csv`, all of them whole.
pub(crate) fn rows(run_dir: &Path) -> Vec<Row> {
    table(&run_dir.join("series.csv"), &["t_ns", "arm", "series", "value"])
}

/// A row of `waits.csv`.
#[derive(Debug, Deserialize)]
pub(crate) struct Wait {
    pub(crate) t_ns: u64,
    pub(crate) arm: String,
    pub(crate) waiter: String,
    pub(crate) cost: u64,
    pub(crate) quoted_ns: Option<u64>,
    pub(crate) wait_ns: u64,
    pub(crate) outcome: String,
}

/// The rows of `waits.csv`, all of them whole.
pub(crate) fn waits(run_dir: &Path) -> Vec<Wait> {
    let head = ["t_ns", "arm", "waiter", "cost", "quoted_ns", "wait_ns", "outcome"];
    table(&run_dir.join("waits.csv"), &head)
}

/// The lines of `events.jsonl`, all of them whole.
pub(crate) fn events(run_dir: &Path) -> Vec<Value> {
    let text = whole_lines(&run_dir.join("events.jsonl"));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A JSON file.
pub(crate) fn json(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn table<T: DeserializeOwned>(path: &Path, head: &[&str]) -> Vec<T> {
    let text = whole_lines(path);
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    assert_eq!(reader.headers().unwrap(), head);
    reader.deserialize().map(Result::unwrap).collect()
}

fn whole_lines(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.ends_with('\n'), "{} ends within a line", path.display());
    text
}
