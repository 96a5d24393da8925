//! Style as a test: what a reviewer would otherwise have to say again and again.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};
use testbed::experiment::{self, Overrides};

const FILE_LINES_MAX: usize = 400;
const FUNCTION_LINES_MAX: usize = 70;
/// Directories that hold nothing written by hand.
const SKIPPED: [&str; 3] = ["target", "runs", ".git"];
const MODELINE: &str = "# yaml-language-server: $schema=";

/// A file of the repository.
struct Text {
    path: PathBuf,
    /// Its path from the root, with `/` on every system.
    name: String,
    text: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Every file with this extension, in order of their names.
fn files(extension: &str) -> Vec<Text> {
    let mut paths = Vec::new();
    walk(&root(), &mut paths);
    paths.retain(|path| path.extension().is_some_and(|found| found == extension));
    paths.sort();
    assert!(!paths.is_empty(), "no .{extension} file below {}", root().display());
    paths.into_iter().map(read).collect()
}

fn walk(folder: &Path, paths: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let skipped = SKIPPED.iter().any(|name| entry.file_name() == *name);
        if entry.file_type().unwrap().is_dir() && !skipped {
            walk(&entry.path(), paths);
        } else if entry.file_type().unwrap().is_file() {
            paths.push(entry.path());
        }
    }
}

fn read(path: PathBuf) -> Text {
    let name = path.strip_prefix(root()).unwrap().to_str().unwrap().replace('\\', "/");
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
    Text { path, name, text }
}

fn assert_none(what: &str, found: &[String]) {
    assert!(found.is_empty(), "{what}:\n{}", found.join("\n"));
}

/// The line on which each function begins, and how many lines it has. `rustfmt` puts the end of a
/// function at the indentation of its beginning.
fn functions(text: &str) -> Vec<(usize, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let begins = (0..lines.len()).filter(|index| begins_function(lines[*index]));
    begins.map(|begin| (begin + 1, function_length(&lines[begin..]))).collect()
}

fn begins_function(line: &str) -> bool {
    let mut rest = line.trim_start();
    for word in ["pub ", "pub(crate) ", "pub(super) ", "const ", "async "] {
        rest = rest.strip_prefix(word).unwrap_or(rest);
    }
    rest.starts_with("fn ")
}

fn function_length(lines: &[&str]) -> usize {
    let indentation = |line: &str| line.len() - line.trim_start().len();
    let ends = |line: &&str| {
        indentation(line) == indentation(lines[0]) && (line.ends_with('}') || line.ends_with(';'))
    };
    lines.iter().position(ends).map_or(lines.len(), |last| last + 1)
}

#[test]
fn the_scan_sees_where_functions_end() {
    let text = "fn one() {}\n\n\
                pub(crate) const fn three(\n) -> u32 {\n    3\n}\n\
                trait T {\n    fn declared(\n        &self,\n    );\n    \
                async fn four(&self) {\n        loop {\n        }\n    }\n}\n\
                // fn comment() {\n";
    assert_eq!(functions(text), [(1, 1), (3, 4), (8, 3), (11, 4)]);
}

#[test]
fn files_are_short() {
    let long = |file: &Text| {
        let lines = file.text.lines().count();
        (lines > FILE_LINES_MAX).then(|| format!("{}: {lines} lines", file.name))
    };
    let files = ["rs", "js"].into_iter().flat_map(files);
    let long: Vec<_> = files.filter_map(|file| long(&file)).collect();
    assert_none("files of more than 400 lines", &long);
}

#[test]
fn functions_are_short() {
    let mut long = Vec::new();
    for file in files("rs") {
        for (begin, lines) in functions(&file.text) {
            if lines > FUNCTION_LINES_MAX {
                long.push(format!("{}:{begin}: {lines} lines", file.name));
            }
        }
    }
    assert_none("functions of more than 70 lines", &long);
}

#[test]
fn core_is_under_every_ban_of_the_root() {
    let read = |name: &str| fs::read_to_string(root().join(name)).unwrap();
    let core = read("testbed/core/clippy.toml");
    let repeated = |line: &str| core.lines().any(|other| other == line);
    let root = read("clippy.toml");
    let entries = root.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let missing: Vec<_> =
        entries.filter(|line| !repeated(line)).map(|line| line.trim().to_owned()).collect();
    assert_none("in clippy.toml but not in testbed/core/clippy.toml", &missing);
}

#[test]
fn nothing_is_left_to_be_done() {
    // Put together here, so that this file does not find itself.
    let banned = [["TO", "DO"], ["FIX", "ME"], ["dbg", "!"], ["todo", "!"], ["unimplemented", "!"]];
    let banned = banned.map(|halves| halves.concat());
    let mut found = Vec::new();
    for file in ["rs", "py", "toml", "yaml"].into_iter().flat_map(files) {
        for word in banned.iter().filter(|word| file.text.contains(*word)) {
            found.push(format!("{}: {word}", file.name));
        }
    }
    assert_none("banned words", &found);
}

#[test]
fn one_file_knows_the_names_of_metrics() {
    let knows = |file: &Text| {
        let code = file.text.split("#[cfg(test)]").next().unwrap();
        let mut after = code.split("windtunnel_").skip(1);
        after.any(|rest| rest.starts_with(|c: char| c.is_ascii_lowercase()))
    };
    let is_test = |name: &str| name.contains("/tests/") || name.ends_with("/tests.rs");
    let may = |name: &str| name == "testbed/src/watch/names.rs" || is_test(name);
    let files = files("rs").into_iter().filter(|file| !may(&file.name));
    let found: Vec<_> = files.filter(knows).map(|file| file.name).collect();
    assert_none("metric names outside of watch/names.rs and tests", &found);
}

#[test]
fn editors_find_the_schema_of_every_experiment() {
    let experiment = |file: &Text| {
        file.name.starts_with("experiments/") || file.text.contains("\nversion: 1\nname:")
    };
    let mut lost = Vec::new();
    for file in files("yaml").into_iter().filter(experiment) {
        let schema = file.text.lines().next().and_then(|line| line.strip_prefix(MODELINE));
        if !schema.is_some_and(|schema| file.path.with_file_name(schema).is_file()) {
            lost.push(file.name);
        }
    }
    assert_none("experiments whose first line leads to no schema", &lost);
}

#[test]
fn links_in_documents_lead_somewhere() {
    let mut broken = Vec::new();
    for file in files("md") {
        for target in prose(&file.text).split("](").skip(1) {
            let target = target.split([')', '#', ' ']).next().unwrap();
            let elsewhere = target.is_empty() || target.contains(':');
            if !elsewhere && !file.path.with_file_name(target).exists() {
                broken.push(format!("{}: {target}", file.name));
            }
        }
    }
    assert_none("links to what is not there", &broken);
}

/// A document without its blocks of code.
fn prose(markdown: &str) -> String {
    markdown.split("```").step_by(2).collect()
}

/// The complete experiments among a document's blocks of YAML.
fn examples(markdown: &str) -> impl Iterator<Item = &str> {
    let blocks = markdown.split("```").skip(1).step_by(2);
    blocks.filter_map(|block| block.strip_prefix("yaml\n")).filter(|yaml| yaml.contains("\narms:"))
}

/// A bare bracket is a pattern of file names to a shell; zsh refuses a command with one that no file has.
#[test]
fn paths_with_brackets_are_in_quotes_in_documents() {
    let mut found = Vec::new();
    for document in files("md") {
        let options = document.text.split("--set ").skip(1);
        let bare = options.filter_map(|rest| rest.split([' ', '`', '\n']).next());
        let bare = bare.filter(|word| word.contains('[') && !word.starts_with(['\'', '"']));
        found.extend(bare.map(|word| format!("{}: --set {word}", document.name)));
    }
    assert_none("in quotes, please", &found);
}

#[test]
fn experiments_in_documents_are_valid() {
    let documents = files("md");
    let in_documents = documents
        .iter()
        .flat_map(|file| examples(&file.text).map(|yaml| (file.name.as_str(), yaml)));
    let beside = files("yaml");
    let beside = beside.iter().filter(|file| file.name.starts_with("docs/"));
    let mut checked = 0;
    for (name, yaml) in in_documents.chain(beside.map(|file| (file.name.as_str(), &*file.text))) {
        if let Err(report) = experiment::load(name, yaml, &Overrides::default()) {
            panic!("{report}");
        }
        checked += 1;
    }
    assert!(checked > 0, "no document shows an experiment");
}
