//! Files that are no experiment: what is wrong is said with its place and its cure, and nothing
//! starts.

use crate::support::Scratch;
use crate::support::process::Finished;
use serde_json::Value;
use std::time::Duration;

/// Whatever the file, its refusal is not longer in coming.
const PROMPT: Duration = Duration::from_secs(10);

/// A valid file of 10 lines.
const BASE: &str = "\
version: 1
name: base
arms:
  a: { controller: { velox: { start: 2, min: 2, max: 64 } } }
backend: { servers: 8, service: { constant: 5ms } }
load: { closed: { clients: 4 } }
phases:
  - { name: calm, for: 1s }
  - { name: rough, for: 1s }
admission: { max_waiting: 100 }
";

/// The base with one text in place of another.
fn instead(old: &str, new: &str) -> String {
    assert!(BASE.contains(old), "{old}");
    BASE.replacen(old, new, 1)
}

/// The base with these lines after its tenth.
fn with(lines: &str) -> String {
    format!("{BASE}{lines}\n")
}

fn run(scratch: &Scratch, args: &[&str]) -> Finished {
    scratch.start(args).ends_within(PROMPT)
}

/// That `run` and `check` refuse the file with code 3, each in words that have all of `parts`.
fn assert_refused(content: impl AsRef<[u8]>, parts: &[&str]) {
    let scratch = Scratch::new();
    scratch.file("bad.yaml", content);
    let run_it = run(&scratch, &["run", "bad.yaml"]);
    let check = run(&scratch, &["check", "bad.yaml"]);
    let said = format!("{}{}", check.stdout, check.stderr);
    assert_eq!((run_it.code, check.code), (3, 3), "{parts:?}: {said}");
    assert_eq!(run_it.stderr, said, "run and check differ");
    for part in parts {
        assert!(said.contains(part), "`{part}` is missing in: {said}");
    }
    assert!(scratch.run_dirs().is_empty(), "{parts:?}: something was started");
}

#[test]
fn the_base_is_valid() {
    let scratch = Scratch::new();
    scratch.file("base.yaml", BASE);
    let finished = run(&scratch, &["check", "base.yaml"]);
    assert_eq!(finished.code, 0, "{}", finished.stdout);
}

#[test]
fn fields_and_values_that_do_not_fit() {
    for (content, place, parts) in [
        (with("colour: red"), "bad.yaml:11:1: ", &["unknown field `colour`", "fields here: "][..]),
        (instead("admission", "admision"), ":10:1: ", &["`admision`", "did you mean `admission`?"]),
        (instead("for: 1s", "for: 1 parsec"), ":8:24: ", &["`1 parsec`", "ns, us, ms, s, m or h"]),
        (instead("for: 1s", "for: 1"), ":8:24: ", &["`1` is not a duration", "such as 250ms"]),
        (instead("for: 1s", "for: 0s"), ":8:24: ", &["no length"]),
        (instead("constant: 5ms", "constant: 5%"), ":5:", &["`5%` is not a duration"]),
        (instead("servers: 8", "servers: 0"), ":5:21: ", &["below the minimum of 1"]),
        (instead("min: 2", "min: 65"), ":4:46: ", &["min 65 is above max 64", "swap them"]),
        (instead("start: 2", "start: 1"), ":4:38: ", &["start 1 is outside min 2 to max 64"]),
        (instead("velox", "velocity"), ":4:22: ", &["unknown kind `velocity`", "one of: "]),
        (
            instead("{ name: rough, for: 1s }", "{ name: rough }"),
            ":9:5: ",
            &["missing field `for`"],
        ),
        (instead("version: 1", "version: 2"), ":1:10: ", &["version 2", "write `version: 1`"]),
        (instead("name: base", "name: ../base"), ":2:7: ", &["letters, digits"]),
        (instead("clients: 4", "clients: 101"), ":4:3: ", &["do not fit", "max_waiting: 101"]),
    ] {
        assert_refused(content, &[parts, &[place]].concat());
    }
}

#[test]
fn names_that_lead_nowhere_or_stand_twice() {
    let fault = |text: &str| with(&format!("faults: [{{ name: f, {text} }}]"));
    let expect = |text: &str| with(&format!("expect: [{{ id: x, {text} }}]"));
    let that = "that: max(controller.window) <= 1";
    let hold = "backend: { hold: { scale: 2 } }";
    for (content, place, parts) in [
        (fault(&format!("during: ruff, {hold}")), ":11:29: ", &["`ruff`", "calm, rough"][..]),
        (fault(&format!("arms: [b], {hold}")), ":11:28: ", &["no arm `b`", "arms here: a"]),
        (fault(&format!("arms: [], {hold}")), ":11:27: ", &["without arms", "leave `arms:` out"]),
        (fault(&format!("at: 3s, {hold}")), ":11:25: ", &["the run lasts 2s", "or later"]),
        (
            fault(&format!("during: calm, for: 2s, {hold}")),
            ":11:",
            &["`calm` lasts 1s", "1s later"],
        ),
        (fault(&format!("for: 0s, {hold}")), ":11:26: ", &["no length"]),
        (
            instead("admission: { max_waiting: 100 }", "client: { timeout: 0s }"),
            ":10:",
            &["timeout of 0s", "write 1s"],
        ),
        (expect(&format!("in: calmer, {that}")), ":11:23: ", &["did you mean `calm`?"]),
        (expect(&format!("arm: b, {that}")), ":11:24: ", &["no arm `b`", "arms here: a"]),
        (instead("name: rough", "name: calm"), ":9:13: ", &["`calm` is there already"]),
        (
            with(&format!("expect: [{{ id: x, {that} }}, {{ id: x, {that} }}]")),
            ":11:",
            &["`x` is there already"],
        ),
        (with("name: again"), ":11:1: ", &["duplicate field `name`", "keep one"]),
    ] {
        assert_refused(content, &[parts, &[place]].concat());
    }
}

#[test]
fn experiments_that_cannot_work() {
    let two_holds = "faults:
  - { name: f, backend: { hold: { scale: 2 } } }
  - { name: g, during: rough, backend: { hold: { latency: 9ms } } }";
    let held = "faults: [{ name: f, backend: { hold: { gradient: 0.7 } } }]";
    let fixed =
        |text| with(text).replace("velox: { start: 2, min: 2, max: 64 }", "fixed: { limit: 3 }");
    let arm = "  a: { controller: { velox: { start: 2, min: 2, max: 64 } } }\n";
    for (content, place, parts) in [
        (with(two_holds), ":13:5: ", &["`f` already holds this backend", "use another phase"][..]),
        (fixed(held), ":11:10: ", &["`fixed` of arm `a` has none", "or hold a latency"]),
        (instead(arm, ""), ":3:1: ", &["expected a mapping, found nothing", "variants"]),
        (instead(arm, "  {}\n"), ":3:1: ", &["there are 0 arms; write 1 to 64"]),
        (instead("backend: {", "# {"), ":4:3: ", &["arm `a` has no backend", "once for all arms"]),
        (
            with("faults: [{ name: f }]"),
            ":11:10: ",
            &["exactly one of backend, toxic and proxy", "split it"],
        ),
        (
            with("faults: [{ name: f, backend: { reject: { status: 429, after: 0s } } }]"),
            ":11:62: ",
            &["would spin", "`think:`"],
        ),
    ] {
        assert_refused(content, &[parts, &[place]].concat());
    }
}

#[test]
fn backend_faults_that_cannot_work() {
    for (fault, column, parts) in [
        ("{ drip: { bytes: 0B, pause: 1ms } }", 47, &["write 1B or more"][..]),
        ("{ drip: { bytes: 1B, pause: 0s } }", 58, &["such as 10ms"][..]),
        ("{ slow_headers: { delay: 0s } }", 55, &["such as 200ms"][..]),
        ("{ no_answer: { path: file } }", 51, &["begins with `/`"][..]),
        (
            "{ no_answer: { calls: { from: 3, until: 3 } } }",
            52,
            &["none at all", "greater one"][..],
        ),
        ("{ no_answer: { every: 0 } }", 52, &["below the minimum of 1"][..]),
        ("{ reject: { status: 399 } }", 50, &["below the minimum of 400"][..]),
        (
            "{ reject: { status: 429, retry_after: { text: ' ' } } }",
            68,
            &["1 to 64 printable", "such as soon"][..],
        ),
        ("{ slow_start: { from: 0%, over: 1s } }", 52, &["such as 10%"][..]),
        ("{ slow_start: { from: 1%, over: 0s } }", 62, &["such as 10s"][..]),
        (
            "{ reset: { after: 1B }, no_answer: {} }",
            30,
            &["more than one kind", "choose one of: reject"][..],
        ),
    ] {
        let content = with(&format!("faults: [{{ name: f, backend: {fault} }}]"));
        assert_refused(content, &[parts, &[&format!(":11:{column}: ")]].concat());
    }
}

#[test]
fn sentences_that_cannot_be_judged() {
    for (sentence, parts) in [
        (
            "maximum(controller.window) <= 1",
            &["column 1 of", "did you mean `max`?", "one of: "][..],
        ),
        ("max(controller.window) <= 64 parsec", &["column 27 of", "`64 parsec`", "units are"]),
        ("max(controller.window", &["column 22 of", "expected `)`", "close the function"]),
        ("max(controller.windw) <= 1", &["did you mean `controller.window`?", "list series"]),
        ("time_to(rpc.latency > 1s) <= 1s", &["one value a request", "use it with max"]),
        ("max(controller.window)", &["of the sentence)", "help: "]),
        ("fairness(x) >= 1", &["column 1 of", "did you mean `jain`?", "one of: "]),
        ("jain(download.granted) >= 1", &["column 22 of", "`by waiter`", "by waiter)"]),
        ("zero_progress(20) == 0", &["column 17 of", "expected `rounds`", "(20 rounds)"]),
        (
            "max(rpc.rtt) / fifo <= 1",
            &["column 14 of", "`max(rpc.rtt)` has nothing", "max(limiter.wait) / fifo"],
        ),
        ("max(limiter.wait) / fifo <= 1", &["no series `limiter.wait`", "list series"]),
        ("max(real - quoted) <= 1s", &["no series `limiter.overrun`", "list series"]),
        (
            "zero_progress(20 rounds) == 0",
            &["only arms with a limiter", "give the arm a `limiter`"],
        ),
        (
            "jain(download.granted by waiter) >= 0.9",
            &["arm `a` has law `velox`", "give the arm a `limiter`"],
        ),
        ("''", &["of the sentence)", "help: "]),
    ] {
        let content = with(&format!("expect:\n  - {{ id: x, that: {sentence} }}"));
        assert_refused(content, &[parts, &["bad.yaml:12:20: "]].concat());
    }
}

#[test]
fn files_that_are_something_else() {
    let ten = |name: char, old: &str| format!("{name}: &{name} [{}]\n", [old; 10].join(","));
    let names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'];
    let bomb: String = names.iter().map(|name| ten(*name, "*a")).collect();
    let big = format!("# {}\n", "x".repeat(10_000_000));
    let deep = format!("a: {}\n", "[".repeat(100_000));
    for (content, parts) in [
        (&b""[..], &["bad.yaml:1:1: ", "the file is empty", "begin with `version: 1`"][..]),
        (b"# later\n", &["bad.yaml:1:1: ", "has comments only", "begin with `version: 1`"]),
        (b"- a\n- b\n", &["bad.yaml:1:1: ", "a mapping of fields", "begin with `version: 1`"]),
        (b"version: 1\n\tname: x\n", &["bad.yaml:", "tab", "indent with spaces"]),
        (
            b"version: 1\n---\nversion: 1\n",
            &["bad.yaml:2:1: ", "second document", "remove the `---`"],
        ),
        (b"name: a\0b\n", &["bad.yaml:1:8: ", "control character U+0000", "remove it"]),
        (b"name: caf\xe9\n", &["bad.yaml:1:10: ", "not UTF-8", "save it in the encoding UTF-8"]),
        (b"\xff\xfev\0", &["bad.yaml:1:1: ", "not UTF-8", "save it in the encoding UTF-8"]),
        (
            bomb.as_bytes(),
            &["bad.yaml:1:4: ", "anchors and aliases are not used", "write the value out"],
        ),
        (big.as_bytes(), &["bad.yaml:1:1: ", "1 MiB is the limit", "is this the right file?"]),
        (deep.as_bytes(), &["bad.yaml:1:", "nest deeper than 32", "check the brackets"]),
    ] {
        assert_refused(content, parts);
    }
}

/// A file that is too long is said to be that, by its own size and whatever its last bytes are.
#[test]
fn a_file_that_is_too_long_is_measured_in_full() {
    for filler in ["x", "\u{20ac}"] {
        let content = format!("#x{}\n", filler.repeat(10_000_000 / filler.len()));
        let size = content.len().to_string();
        assert_refused(&content, &[&size, "1 MiB is the limit"]);
    }
}

#[test]
fn all_mistakes_are_said_at_once_in_the_order_of_the_file() {
    let content = instead("servers: 8", "servers: 0").replace("clients: 4", "clints: 4");
    let content = content.replacen("for: 1s", "for: 1 day", 1);
    assert_refused(&content, &["3 problems in bad.yaml", ":5:", ":6:", ":8:"]);
}

#[test]
fn overrides_that_do_not_fit_are_named() {
    let scratch = Scratch::new();
    scratch.file("base.yaml", BASE);
    for (set, parts) in [
        ("nope=1", &["in `--set nope=1`", "unknown field `nope`", "fields here: "][..]),
        ("arms.b.controller=1", &["there is no `b`", "`arms` has the fields a"]),
        ("phases[5].for=1s", &["there is no `5`", "the items 0 to 1"]),
        ("phases[0].for=soon", &["in `--set phases[0].for=soon`", "is not a duration"]),
        ("backend.servers=[1", &["not valid YAML", "as in the file"]),
        ("version=2", &["version 2", "write `version: 1`"]),
    ] {
        let finished = run(&scratch, &["run", "base.yaml", "--set", set]);
        assert_eq!(finished.code, 3, "{set}: {}", finished.stderr);
        for part in parts {
            assert!(finished.stderr.contains(part), "{set}: {part}: {}", finished.stderr);
        }
    }
    assert!(scratch.run_dirs().is_empty());
}

#[test]
fn check_as_json_has_place_message_and_cure_of_each_problem() {
    let scratch = Scratch::new();
    scratch.file("bad.yaml", with("colour: red"));
    let finished = run(&scratch, &["check", "bad.yaml", "--json"]);
    let problems: Value = serde_json::from_str(&finished.stdout).unwrap();
    let problem = &problems[0];
    assert_eq!((&problem["line"], &problem["column"]), (&11.into(), &1.into()));
    assert_eq!(problem["path"], "/colour");
    assert!(problem["message"].as_str().unwrap().contains("`colour`"), "{problem}");
    assert!(problem["help"].as_str().unwrap().contains("fields here"), "{problem}");
    assert_eq!(finished.code, 3);
}

/// Whoever asks for JSON reads one document, whatever is in the files, and it has as many problems as there are files
/// with one.
#[test]
fn check_as_json_is_one_document() {
    let scratch = Scratch::new();
    scratch.file("good.yaml", BASE);
    scratch.file("bad.yaml", with("colour: red"));
    scratch.file("latin1.yaml", b"name: caf\xe9\n");
    scratch.file("long.yaml", vec![b'#'; 2_000_000]);
    for (files, problems) in [
        (&["good.yaml"][..], 0),
        (&["bad.yaml"], 1),
        (&["bad.yaml", "good.yaml", "bad.yaml"], 2),
        (&["latin1.yaml", "long.yaml", "good.yaml"], 2),
    ] {
        let finished = run(&scratch, &[&["check", "--json"], files].concat());
        let document: Vec<Value> = serde_json::from_str(&finished.stdout).unwrap();
        assert_eq!(document.len(), problems, "{files:?}: {}", finished.stdout);
        assert_eq!(finished.code, if problems > 0 { 3 } else { 0 }, "{files:?}");
    }
}
