//! `windtunnel report`, and the report at the end of a run.

use super::support::Scratch;
use super::support::run_dir::events;
use std::fs;

const CALM: &str = "
version: 1
name: calm
about: </script><script>alert(1)</script>
arms: { a: { controller: { fixed: { limit: 1 } } } }
backend: { servers: 1, service: { constant: 1ms } }
load: { closed: { clients: 1 } }
phases: [{ name: p, for: 1s }]
expect: [{ id: one, that: max(controller.window) <= 1 }]
";

/// A directory with a run that is over.
fn ran(more: &[&str]) -> Scratch {
    let scratch = Scratch::new();
    scratch.file("calm.yaml", CALM);
    let args = [&["run", "calm.yaml", "--mode", "virtual"], more].concat();
    let finished = scratch.run(&args);
    assert_eq!(finished.code, 0, "{}", finished.stderr);
    scratch
}

/// The data of a report.
pub(crate) fn data(html: &str) -> serde_json::Value {
    let begin = "<script type=\"application/json\" id=\"data\">";
    let data = html.split_once(begin).unwrap().1.split_once("</script>").unwrap().0;
    serde_json::from_str(data).unwrap()
}

#[test]
fn a_run_leaves_a_report_unless_it_is_told_not_to() {
    let scratch = ran(&[]);
    let html = fs::read_to_string(scratch.run_dir().join("report.html")).unwrap();
    let data = data(&html);
    assert_eq!(data["verdict"]["verdict"], "pass");
    assert_eq!(data["about"], "</script><script>alert(1)</script>");
    assert!(!html.contains("<script>alert"), "the question became markup");
    let window = &data["series"][0];
    assert_eq!((&window["series"], &window["arm"]), (&"controller.window".into(), &"a".into()));
    assert_eq!(window["v"][0], 1.0);
    let waits = data["admission_waits"]["a"].as_array().unwrap();
    assert_eq!((&waits[0][0], &waits[waits.len() - 1][0]), (&0.0.into(), &1.0.into()));
    assert!(!ran(&["--no-report"]).run_dir().join("report.html").exists());
}

#[test]
fn a_report_has_the_regimes_with_their_spans() {
    let scratch = Scratch::new();
    let file = super::shipped("stall/overload-recovery.yaml");
    let finished = scratch.run(&["run", &file, "--mode", "virtual", "--quiet"]);
    assert_eq!(finished.code, 0, "{}", finished.stderr);
    let data = data(&fs::read_to_string(scratch.run_dir().join("report.html")).unwrap());
    let regimes = data["regimes"].as_array().unwrap().iter();
    let of = |arm| {
        regimes.clone().filter(move |span| span["arm"] == arm).map(|span| {
            let word = |field: &str| span[field].as_str().unwrap().to_owned();
            (word("regime"), span["from_s"].as_f64().unwrap(), span["to_s"].as_f64().unwrap())
        })
    };
    // As docs/regimes.md has them.
    let integer: Vec<_> = of("integer").collect();
    assert_eq!(integer, [("collapse".to_owned(), 3.6, 5.0), ("stall".to_owned(), 5.1, 30.0)]);
    assert_eq!(of("double").collect::<Vec<_>>(), [("collapse".to_owned(), 3.6, 5.0)]);
}

#[test]
fn a_law_without_a_window_leaves_none_behind() {
    let scratch = Scratch::new();
    let open = CALM.replace("fixed: { limit: 1 }", "unlimited: {}");
    let open = open.replace("controller.window", "admission.in_flight");
    scratch.file("open.yaml", &open);
    let finished = scratch.run(&["run", "open.yaml", "--mode", "virtual"]);
    assert_eq!(finished.code, 0, "{}", finished.stderr);
    let read = |name: &str| fs::read_to_string(scratch.run_dir().join(name)).unwrap();
    assert!(!read("series.csv").contains("controller."));
    let shown = data(&read("report.html"));
    assert!(
        shown["series"].as_array().unwrap().iter().all(|it| it["series"] != "controller.window")
    );
    let updates = events(&scratch.run_dir()).into_iter().filter(|event| event["event"] == "update");
    let updates: Vec<_> = updates.collect();
    assert_eq!(updates.len(), 1);
    assert!(["old", "new", "limit"].iter().all(|field| updates[0][*field].is_null()));
}

#[test]
fn a_run_that_was_killed_has_a_report_of_what_is_there() {
    let scratch = ran(&["--no-report"]);
    let run = scratch.run_dir();
    fs::remove_file(run.join("verdict.json")).unwrap();
    let series = fs::read_to_string(run.join("series.csv")).unwrap();
    fs::write(run.join("series.csv"), &series[..series.len() - 3]).unwrap();
    fs::write(run.join("events.jsonl"), "{\"t_ns\":0,\"event\":\"phase\",\"phase\":\"p\"}\n{\"t_")
        .unwrap();
    let finished = scratch.run(&["report", run.to_str().unwrap()]);
    assert_eq!(finished.code, 0, "{}", finished.stderr);
    let data = data(&fs::read_to_string(finished.stdout.trim()).unwrap());
    assert!(data["verdict"].is_null());
    assert_eq!(data["left_out"], 2, "half a line of each file");
    assert_eq!(data["phases"][0]["to_s"], data["end_s"], "it lasts to the end");
}

#[test]
fn what_is_no_run_is_said_with_the_cure() {
    let scratch = Scratch::new();
    for args in [&["report", "nowhere"][..], &["report", "nowhere", "--serve"]] {
        let finished = scratch.run(args);
        assert_eq!(finished.code, 2, "{}", finished.stderr);
        let cure = "cannot read nowhere/manifest.json";
        assert!(finished.stderr.contains(cure), "{}", finished.stderr);
        assert!(finished.stderr.contains("give a directory that `windtunnel run` made"));
    }
}
