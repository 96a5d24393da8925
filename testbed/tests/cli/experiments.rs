//! Every shipped experiment is valid and comes true in virtual time.

use crate::shipped;
use crate::support::Scratch;
use std::fs;
use std::path::{Path, PathBuf};

fn yaml_files(dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(yaml_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "yaml") {
            files.push(path);
        }
    }
    files.sort();
    files
}

#[test]
fn every_shipped_experiment_passes_in_virtual_time() {
    let files = yaml_files(Path::new(&shipped("")));
    assert!(!files.is_empty());
    for file in files {
        let (scratch, file) = (Scratch::new(), file.to_str().unwrap());
        println!("{file}");
        let checked = scratch.run(&["check", file]);
        assert_eq!(checked.code, 0, "{}", checked.stdout);
        let finished = scratch.run(&["run", file, "--mode", "virtual"]);
        assert_eq!(finished.code, 0, "{}", finished.stdout);
    }
}
