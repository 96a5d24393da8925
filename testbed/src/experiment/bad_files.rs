//! The files of `testbed/tests/bad`, each with all that is said of it. `BLESS=1` writes down what is said
//! now; then look at the difference.

use super::document::Document;
use super::{Overrides, load, schema};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad");
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> =
        entries.filter(|path| path.extension().is_some_and(|found| found == "yaml")).collect();
    files.sort();
    files
}

fn said_of(file: &Path) -> String {
    let name = file.file_name().unwrap().to_string_lossy();
    let text = fs::read_to_string(file).unwrap();
    load(&name, &text, &Overrides::at(file)).unwrap_err().to_string()
}

#[test]
fn all_mistakes_of_bad_files_are_said_at_once() {
    let files = files();
    assert!(files.len() >= 9, "{files:?}");
    for file in files {
        let (said, golden) = (said_of(&file), file.with_extension("txt"));
        if std::env::var_os("BLESS").is_some() {
            fs::write(&golden, &said).unwrap();
        }
        let expected = fs::read_to_string(&golden).unwrap_or_default();
        assert_eq!(said, expected, "{}", file.display());
    }
}

#[test]
fn every_mistake_has_a_place_of_its_own_and_most_have_a_cure() {
    for file in files() {
        let text = fs::read_to_string(&file).unwrap();
        let report = load("f", &text, &Overrides::at(&file)).unwrap_err();
        let problems = report.to_json();
        for problem in problems.as_array().unwrap() {
            let line = problem["line"].as_u64().unwrap() as usize;
            assert!(line > 1 && line <= text.lines().count() + 1, "{problem}");
        }
        assert!(problems.as_array().unwrap().iter().any(|problem| problem["help"].is_string()));
    }
}

/// A block of the file that cannot be read is one mistake: nothing is said that only follows from it.
#[test]
fn a_block_that_cannot_be_read_has_no_consequences() {
    let schema = schema();
    let blocks = schema["properties"].as_object().unwrap();
    let (mut looked, mut follow) = (0, Vec::new());
    for file in shipped() {
        let text = fs::read_to_string(&file).unwrap();
        let document = Document::parse("f", &text).unwrap();
        for block in blocks.keys().filter(|block| document.has(&format!("/{block}"))) {
            let mut broken = Overrides::at(&file);
            broken.set.push((block.clone(), "[[]]".to_owned()));
            let problems = load("f", &text, &broken).unwrap_err().to_json();
            let others = problems.as_array().unwrap().iter().filter(|problem| {
                !problem["path"].as_str().unwrap().starts_with(&format!("/{block}"))
            });
            let name = file.file_name().unwrap().to_string_lossy().into_owned();
            follow.extend(others.map(|problem: &Value| format!("{name}, {block}: {problem}")));
            looked += 1;
        }
    }
    assert!(looked > 100, "{looked}");
    assert!(follow.is_empty(), "{}", follow.join("\n"));
}

/// Shipped experiments, of every kind.
fn shipped() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../experiments");
    let entries = ["load", "stall", "starvation", "backend", "faults"]
        .map(|folder| fs::read_dir(root.join(folder)));
    let paths = entries.into_iter().flat_map(Result::unwrap).map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|found| found == "yaml")).collect()
}
