//! The scorecard: a small one to the letter, and the laws of the shipped ones against the registry.

use crate::shipped;
use crate::support::Scratch;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use testbed_core::control::ControllerConfig;

/// Two laws in two shapes. A window of 4 is right for four servers; one of 32 has clients give up once the load is too much.
const SMALL: &str = "
version: 1
name: small
run: { sample_every: 500ms }
arms:
  law: { controller: { fixed: { limit: 4 } } }
backend: { servers: 4, service: { exponential: 10ms } }
load: { open: { poisson: { rate: 200/s } } }
admission: { max_waiting: 2 }
client: { deadline: 100ms }
overload: true
phases: [{ name: calm, for: 5s }, { name: busy, for: 5s }]
sweep:
  axes:
    window: { paths: [arms.law.controller.fixed.limit], named: { right: 4, large: 64 } }
    shape:
      sets:
        calm: {}
        step: { load: { open: { step: { steps: [{ rate: 200/s, for: 5s }, { rate: 600/s }] } } } }
  seeds: 4
  measures:
    goodput: { of: mean(rpc.goodput) / mean(oracle.goodput), in: busy, better: more }
    p99: { of: p99(rpc.latency), better: less }
    error: { of: 'error(controller.limit, to=oracle.window)', better: less }
    false_rejections: { of: 'increase(rpc.rejected, while=backend.utilisation, below=80%)', better: less }
    convergence:
      of: 'convergence(rpc.goodput, to=oracle.goodput, band=20%, for=1s)'
      in: busy
      better: less
  scorecard: { laws: window, shapes: shape, rank_by: goodput }
";

fn golden() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/scorecard.txt"))
}

fn scorecard() -> (Scratch, PathBuf) {
    let scratch = Scratch::new();
    scratch.file("small.yaml", SMALL);
    let finished = scratch.run(&["sweep", "small.yaml", "--json"]);
    assert_eq!(finished.code, 0, "{}{}", finished.stdout, finished.stderr);
    let json: Value = serde_json::from_str(&finished.stdout).unwrap();
    let dir = scratch.path().join(json["run_dir"].as_str().unwrap());
    (scratch, dir)
}

#[test]
fn a_small_scorecard_says_who_is_ahead_and_who_is_not() {
    let (_scratch, dir) = scorecard();
    let said = fs::read_to_string(dir.join("sweep.txt")).unwrap();
    if std::env::var_os("BLESS").is_some() {
        fs::write(golden(), &said).unwrap();
    }
    assert_eq!(said, fs::read_to_string(golden()).unwrap_or_default());
}

#[test]
fn its_files_and_its_report_have_the_same_numbers() {
    let (_scratch, dir) = scorecard();
    let read = |name: &str| fs::read_to_string(dir.join(name)).unwrap();
    // Two laws, two shapes, four seeds and five measures; two laws, five measures, and a table more for all shapes.
    assert_eq!(read("measures.csv").lines().count(), 1 + 2 * 2 * 4 * 5);
    assert_eq!(read("scorecard.csv").lines().count(), 1 + 2 * 3 * 5);
    let card: Value = serde_json::from_str(&read("scorecard.json")).unwrap();
    assert_eq!(crate::report::data(&read("report.html"))["scorecard"], card);
    let of_seed = |line: &str| -> Option<f64> {
        let cells: Vec<_> = line.split(',').collect();
        let wanted = cells[..2] == ["right", "step"] && cells[3] == "goodput";
        wanted.then(|| cells[4].parse().unwrap())
    };
    let seeds: Vec<f64> = read("measures.csv").lines().skip(1).filter_map(of_seed).collect();
    let step = &card["tables"][1];
    let row = step["rows"].as_array().unwrap().iter().find(|row| row["law"] == "right").unwrap();
    let mean = seeds.iter().sum::<f64>() / seeds.len() as f64;
    assert!((row["cells"][0]["mean"].as_f64().unwrap() - mean).abs() < 1e-12, "{row}");
}

#[test]
fn every_law_of_the_registry_is_on_the_shipped_scorecards() {
    let registered: BTreeSet<_> =
        ControllerConfig::all().iter().map(|law| law.name().to_owned()).collect();
    for file in ["scorecard.yaml", "scorecard-shared.yaml"] {
        let text = fs::read_to_string(shipped(file)).unwrap();
        let yaml: Value = serde_yaml::from_str(&text).unwrap();
        let laws = yaml["sweep"]["axes"]["law"]["named"].as_object().unwrap().values();
        let listed: BTreeSet<_> =
            laws.flat_map(|law| law.as_object().unwrap().keys().cloned()).collect();
        let missing: Vec<_> = registered.difference(&listed).collect();
        assert!(
            missing.is_empty(),
            "{file}: write under `axes.law.named` what is missing: {missing:?}"
        );
    }
}
