//! What a document accepts, refuses, finds and lets be set.

use super::Document;
use crate::experiment::problem::{At, Report};
use serde_json::json;

const VALID: &str = "\
# A comment.
version: 1
name: überlast
run: { mode: live, seed: 18446744073709551615 }   # { not: this }
arms:
  integer:
    controller: { velox: { start: 2 } }
phases:
  - { name: warm, for: 3s }
  - name: 'storm'   # it's
    for: 1s
about: >
  Two
  lines.
load:
";

fn parse(text: &str) -> Document {
    Document::parse("a.yaml", text).unwrap()
}

/// The problems of a text, as `line:column: message | help`.
fn refusals(text: &str) -> Vec<String> {
    let report = Document::parse("a.yaml", text).unwrap_err().to_json();
    let line = |p: &serde_json::Value| {
        let text = |field: &str| p[field].as_str().unwrap_or_default().to_owned();
        format!("{}:{}: {} | {}", p["line"], p["column"], text("message"), text("help"))
    };
    report.as_array().unwrap().iter().map(line).collect()
}

#[test]
fn a_document_keeps_values_and_order() {
    let document = parse(VALID);
    let json = document.to_json();
    assert_eq!(json["run"], json!({ "mode": "live", "seed": u64::MAX }));
    assert_eq!(json["phases"][1], json!({ "name": "storm", "for": "1s" }));
    assert_eq!(json["about"], json!("Two lines.\n"));
    assert_eq!(json["load"], json!(null));
    let text = serde_yaml::to_string(&document).unwrap();
    assert!(text.starts_with("version: 1\nname: überlast\nrun:\n  mode: live\n"), "{text}");
}

#[test]
fn fields_are_found() {
    let document = parse(VALID);
    for (path, at, place, text) in [
        ("/name", At::Key, (3, 1), "name"),
        ("/name", At::Value, (3, 7), "überlast"),
        ("/run/seed", At::Value, (4, 26), "18446744073709551615"),
        ("/run", At::Value, (4, 6), "{ mode: live, seed: 18446744073709551615 }"),
        ("/arms/integer", At::Value, (6, 3), "integer"),
        ("/phases/0/for", At::Key, (9, 19), "for"),
        ("/phases/1/for", At::Value, (11, 10), "1s"),
        ("/phases/0", At::Key, (9, 5), "{ name: warm, for: 3s }"),
        ("/phases/1", At::Value, (10, 5), "name: 'storm'   # it's\n    for: 1s"),
        ("/phases/1/name", At::Value, (10, 11), "'storm'"),
        ("/about", At::Value, (12, 1), "about"),
        ("/load", At::Value, (15, 1), "load"),
        ("/arms/integer/controller/gradient/x", At::Key, (7, 5), "controller"),
        ("/phases/7", At::Value, (8, 1), "phases"),
    ] {
        let position = document.locate(path, at);
        assert_eq!((position.line, position.column), place, "{path}");
        assert_eq!(&document.source().text()[position.span], text, "{path}");
    }
    assert_eq!(document.locate("", At::Key).line, 2);
}

#[test]
fn what_an_experiment_file_is_not() {
    for (text, expected) in [
        ("", "1:1: the file is empty, or has comments only"),
        ("# nothing\n", "1:1: the file is empty, or has comments only"),
        ("- a\n", "1:1: an experiment file is a mapping of fields, `name: value`"),
        ("a: 1\n---\nb: 2\n", "2:1: a second document begins here"),
        ("a: 1\n\u{7}b: 2\n", "2:1: control character U+0007"),
        ("a: &x 1\nb: 2\n", "1:4: anchors and aliases are not used in experiment files"),
        ("a: 1\n<<: { b: 1 }\n", "2:1: merge keys are not used in experiment files"),
        ("a: !law { b: 1 }\n", "1:4: the tag `!law` has no meaning here"),
        ("a: 1\nb: 2\na: 3\n", "3:1: duplicate field `a`"),
        ("1: a\n", "1:1: a field's name is text, not `1`"),
        ("? [a]\n: b\n", "1:3: a field's name is text"),
        ("a: .inf\n", "1:4: `.inf` is not a finite number"),
        ("a:\n\tb: 1\n", "2:2: not valid YAML: tabs disallowed"),
        ("a: x\n b: 2\n", "2:3: not valid YAML: mapping values are not allowed"),
        ("a: [1\n\n", "1:6: not valid YAML: while parsing a flow sequence"),
        ("a: 'x\n", "1:4: not valid YAML: while scanning a quoted scalar"),
        ("a: *x\n", "1:4: not valid YAML: while parsing node, found unknown anchor"),
    ] {
        let found = refusals(text);
        assert!(found.len() == 1 && found[0].starts_with(expected), "{text:?}: {found:?}");
        assert!(!found[0].ends_with("| "), "{text:?} needs a cure");
    }
    assert_eq!(refusals("a: &x 1\nb: .nan\nb: 2\n3: 4\n").len(), 4, "all at once");
}

#[test]
fn floods_are_refused_at_once() {
    let level = |i| format!("l{i}: &l{i} [{}]\n", vec![format!("*l{}", i - 1); 9].join(", "));
    let bomb = "l0: &l0 [lol]\n".to_owned() + &(1..10).map(level).collect::<String>();
    let big = 1 << 20;
    for (text, expected) in [
        (bomb, "1:5: anchors and aliases are not used"),
        ("a: ".to_owned() + &"[".repeat(big - 3), "1:259: mappings and lists nest deeper than 32"),
        ("- ".repeat(big / 2), "1:65: mappings and lists nest deeper than 32"),
        ("? ".repeat(big / 2), "1:65: mappings and lists nest deeper than 32"),
        ("a: [".to_owned() + &"1,".repeat(big / 2 - 3) + "]", "1:99999: more than 50000 values"),
        ("#".repeat(big + 1), "1:1: the file has 1048577 bytes; 1 MiB is the limit"),
    ] {
        let found = refusals(&text);
        assert!(found[0].starts_with(expected), "{found:?}");
    }
}

#[test]
fn values_can_be_set() {
    let mut document = parse(VALID);
    for (path, value, pointer, json) in [
        ("run.seed", "9", "/run/seed", json!(9)),
        ("run.mode", "virtual", "/run/mode", json!("virtual")),
        ("phases[1].for", "2 s", "/phases/1/for", json!("2 s")),
        ("phases.0.name", "\"7\"", "/phases/0/name", json!("7")),
        ("load", "{ open: { rate: 5/s } }", "/load", json!({ "open": { "rate": "5/s" } })),
        ("load.open.rate", "6/s", "/load/open/rate", json!("6/s")),
        ("run.record", "[a, b]", "/run/record", json!(["a", "b"])),
        ("load", "", "/load", json!(null)),
    ] {
        document.set(path, value).unwrap();
        assert_eq!(document.to_json().pointer(pointer), Some(&json), "{path}");
    }
}

#[test]
fn what_cannot_be_set_says_why() {
    let mut document = parse(VALID);
    let top = "the file has the fields version, name, run, arms, phases, about, load";
    for (path, value, message, help) in [
        (
            "arms.intger.controller",
            "off",
            "there is no `intger` (did you mean `integer`?)",
            "`arms` has the fields integer",
        ),
        ("run.mode.x", "1", "there is no `x`", "`run.mode` has the value \"live\""),
        ("phases[2].for", "1s", "there is no `2`", "`phases` has the items 0 to 1"),
        ("phases[2]", "1s", "there is no `2`", "`phases` has the items 0 to 1"),
        ("run..seed", "1", "there is no ``", "`run` has the fields mode, seed"),
        ("", "1", "there is no ``", top),
        (
            "run",
            "[1, &a 2",
            "anchors and aliases are not used in experiment files; not valid YAML: while parsing \
             a flow sequence, expected ',' or ']'",
            "write the value as in the file",
        ),
    ] {
        let problem = document.set(path, value).unwrap_err();
        assert_eq!(problem.message, format!("`--set {path}={value}`: {message}"));
        assert_eq!(problem.help.as_deref(), Some(help));
    }
    assert_eq!(document.to_json(), parse(VALID).to_json(), "nothing was set");
}

#[test]
fn a_block_that_the_file_leaves_out_can_be_set_within() {
    let mut document = parse(VALID);
    document.set("admission.max_waiting", "7").unwrap();
    assert_eq!(document.to_json()["admission"]["max_waiting"], 7);
}

#[test]
fn a_problem_with_what_was_set_names_the_setting() {
    let mut document = parse(VALID);
    document.set("phases[1].for", "10").unwrap();
    document.set("run.sed", "1").unwrap();
    let problems =
        ["/phases/1/for", "/run/sed", "/run"].map(|path| super::Problem::at_value(path, "bad"));
    let text = Report::new(&document, problems).to_string();
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("a.yaml")).collect();
    assert_eq!(
        lines,
        [
            "a.yaml:4:6: bad",
            "a.yaml:4:6: in `--set run.sed=1`: bad",
            "a.yaml:11:10: in `--set phases[1].for=10`: bad",
        ]
    );
}

/// Pseudo-random numbers below `n`, the same each time.
fn below(state: &mut u64, n: usize) -> usize {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) as usize % n
}

#[test]
fn no_text_makes_it_panic() {
    let pieces: Vec<&str> =
        "\t|\n|  |- |: |:|{|}|[|]|,|&a |*a|!t |\"|'|? |#|%|---\n|...\n|<<: |\r|é|\u{feff}|\\x|@|>|~|\0"
            .split('|')
            .chain(["|2-\n"])
            .collect();
    let mut state = 7;
    for _ in 0..1000 {
        let mut text: Vec<char> = VALID.chars().collect();
        for _ in 0..=below(&mut state, 6) {
            let start = below(&mut state, text.len());
            let end = (start + below(&mut state, 12)).min(text.len());
            let piece = pieces[below(&mut state, pieces.len())];
            text.splice(start..end, piece.chars());
        }
        match Document::parse("a.yaml", &text.into_iter().collect::<String>()) {
            Ok(document) => drop(document.deserialize::<serde_yaml::Value>()),
            Err(report) => assert!(report.to_string().len() > 20),
        }
    }
}

const ARMS: &str = "\
client: { timeout: 2s }
arms:
  wide: { controller: { fixed: { limit: 9 } } }
  narrow:
    controller: { fixed: { limit: 9 } }
    set: { backend.servers: 2, 'backend.queue': lifo, controller.fixed.limit: 1, admission.max_waiting: 3 }
  own: { backend: { servers: 5 }, set: { backend.servers: 6 } }
backend: { servers: 8, service: { constant: 1ms } }
";

#[test]
fn an_arm_sets_single_fields_of_the_blocks_that_it_takes() {
    let mut document = parse(ARMS);
    document.inherit();
    let arms = &document.to_json()["arms"];
    assert_eq!(arms["wide"], json!({ "controller": { "fixed": { "limit": 9 } } }));
    let narrow = json!({
        "controller": { "fixed": { "limit": 1 } },
        "backend": { "servers": 2, "service": { "constant": "1ms" }, "queue": "lifo" },
        "admission": { "max_waiting": 3 },
    });
    assert_eq!(arms["narrow"], narrow);
    assert_eq!(arms["own"], json!({ "backend": { "servers": 6 } }));
    assert!(document.is_sound());
    // What is set stands where it was written, and so does its name; what was copied, at the top.
    for (path, at, line, column) in [
        ("/arms/narrow/backend/servers", At::Value, 6, 29),
        ("/arms/narrow/backend/servers", At::Key, 6, 12),
        ("/arms/narrow/backend/queue", At::Key, 6, 32),
        ("/arms/narrow/backend/service/constant", At::Value, 8, 45),
        ("/arms/narrow/admission", At::Key, 6, 82),
    ] {
        let found = document.locate(path, at);
        assert_eq!((found.line, found.column), (line, column), "{path}");
    }
}

#[test]
fn what_an_arm_cannot_set_says_why() {
    for (path, message, help) in [
        (
            "fautls.x",
            "`fautls` is no block of an arm",
            "a path in `set` begins with backend, load, ",
        ),
        ("bakend.servers", "`bakend` is no block of an arm (did you mean `backend`?)", "a path"),
        ("backend.x.y", "`backend.x.y`: there is no `x`", "`backend` has the fields servers, serv"),
        ("load.open.rate", "`load.open.rate`: there is no `open`", "`load` has no fields"),
    ] {
        let mut document = parse(&ARMS.replace("'backend.queue'", path));
        document.inherit();
        let report = Report::new(&document, []).to_json();
        let problem = &report[0];
        assert_eq!((&problem["line"], &problem["column"]), (&json!(6), &json!(32)), "{path}");
        assert_eq!(problem["message"], message);
        assert!(problem["help"].as_str().unwrap().starts_with(help), "{problem}");
        assert!(!document.is_sound());
    }
}

#[test]
fn a_setting_reaches_into_a_block_that_an_arm_has_from_the_top() {
    let mut document = parse(ARMS);
    document.set("backend.servers", "7").unwrap();
    document.inherit();
    document.set("arms.wide.client.timeout", "1s").unwrap();
    document.set("arms.narrow.client.deadline", "4s").unwrap();
    let arms = &document.to_json()["arms"];
    assert_eq!(arms["wide"]["client"], json!({ "timeout": "1s" }));
    assert_eq!(arms["narrow"]["client"], json!({ "timeout": "2s", "deadline": "4s" }));
    assert_eq!(arms["narrow"]["backend"]["servers"], 2, "its own");
    assert_eq!(
        document.to_json()["client"],
        json!({ "timeout": "2s" }),
        "the others' is as it was"
    );
}
