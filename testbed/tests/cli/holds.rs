//! What a backend is held at is what its law makes of it.

use crate::support::Scratch;
use crate::support::run_dir::json;
use testbed_core::control::ControllerConfig;

#[test]
fn a_clamp_has_every_law_compute_the_gradient_that_was_asked_whatever_it_tolerates() {
    let all = ControllerConfig::all();
    let computes =
        |law: &&ControllerConfig| law.vitals().iter().any(|vital| vital.name == "gradient");
    let laws: Vec<_> = all.iter().filter(computes).map(ControllerConfig::name).collect();
    assert!(laws.len() >= 5, "{laws:?}");
    let arms: String =
        laws.iter().map(|law| format!("  {law}: {{ controller: {{ {law}: {{}} }} }}\n")).collect();
    let scratch = Scratch::new();
    // More clients than any of these windows, so that each counts as used, and a calm in which every average warms up.
    scratch.file(
        "held.yaml",
        format!(
            "version: 1\nname: held\nrun: {{ mode: virtual }}\narms:\n{arms}\
             backend: {{ servers: 200, service: {{ constant: 50ms }} }}\n\
             load: {{ closed: {{ clients: 400 }} }}\n\
             phases: [{{ name: calm, for: 15s }}, {{ name: held, for: 10s }}]\n\
             faults: [{{ name: f, during: held, backend: {{ hold: {{ gradient: 0.7, at_most: 30s }} }} }}]\n\
             expect: [{{ id: x, in: held, that: last(controller.gradient) within 0.7 +- 0.01 }}]\n"
        ),
    );
    let finished = scratch.run(&["run", "held.yaml", "--quiet", "--no-report"]);
    assert_eq!(finished.code, 0, "{}{}", finished.stdout, finished.stderr);
    let verdict = json(&scratch.run_dir().join("verdict.json"));
    assert_eq!(verdict["holds"].as_array().unwrap().len(), laws.len(), "{verdict}");
}
