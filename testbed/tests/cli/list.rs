//! `list` shows what is registered, without anybody listing it twice.

use crate::support::Scratch;
use faults::ToxicKind;
use testbed_core::control::ControllerConfig;
use testbed_core::load::pace::PaceConfig;

/// The lists by name, with what must be in each.
fn expected() -> Vec<(&'static str, Vec<String>)> {
    let laws = ControllerConfig::all();
    let vitals = laws.iter().flat_map(ControllerConfig::vitals);
    let vitals = vitals.map(|vital| format!("controller.{}", vital.name));
    let promised = ["controller.window", "controller.limit", "admission.in_flight", "rpc.latency"];
    let metrics = ["windtunnel_controller_window_requests", "windtunnel_regime"];
    let owned = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
    vec![
        ("controllers", laws.iter().map(|law| law.name().to_owned()).collect()),
        ("arrivals", PaceConfig::LIST.iter().map(|(name, _)| (*name).to_owned()).collect()),
        ("toxics", ToxicKind::all().iter().map(|kind| kind.name().to_owned()).collect()),
        ("series", promised.into_iter().map(str::to_owned).chain(vitals).collect()),
        ("metrics", owned(&metrics)),
    ]
}

/// Whether a line of the text begins with the name and goes on to say what it is.
fn has(text: &str, name: &str) -> bool {
    let mut lines = text.lines().map(str::split_whitespace);
    lines.any(|mut words| words.next() == Some(name) && words.next().is_some())
}

#[test]
fn each_list_names_and_explains_all_that_is_registered() {
    let scratch = Scratch::new();
    let all = scratch.run(&["list"]);
    assert_eq!(all.code, 0);
    for (list, names) in expected() {
        let one = scratch.run(&["list", list]);
        assert_eq!(one.code, 0, "{list}");
        assert!(all.stdout.contains(list), "the heading {list}");
        assert!(!names.is_empty(), "{list}");
        for name in names {
            assert!(has(&one.stdout, &name), "{list}: {name} is missing in\n{}", one.stdout);
            assert!(has(&all.stdout, &name), "{name} is missing in\n{}", all.stdout);
        }
    }
}
