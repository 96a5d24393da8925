use super::*;
use crate::experiment::schema;
use serde_json::json;

#[test]
fn every_field_is_explained_and_its_example_is_valid() {
    let schema = schema();
    let paths = paths(&schema);
    assert!(paths.len() > 200, "{}", paths.len());
    for path in &paths {
        let text = explain(&schema, path).unwrap();
        assert!(text.starts_with(&format!("{path}\n\n  ")), "no meaning: {text}");
        assert!(text.contains("\n  type "), "no type: {text}");
        assert!(text.contains("\n  example "), "no example: {text}");
        let place =
            path.split('.').fold(Place::root(&schema), |place, name| place.step(name).unwrap().0);
        let part = json!({ "allOf": [place.outer()], "definitions": schema["definitions"] });
        let value = example(&place);
        let valid = jsonschema::draft7::new(&part).unwrap();
        let wrong = valid.iter_errors(&value).map(|error| error.to_string()).collect::<Vec<_>>();
        assert!(wrong.is_empty(), "{path}: {value}: {wrong:?}");
    }
}

#[test]
fn what_stands_on_the_line_of_an_example_is_yaml() {
    for value in [
        json!({ "a": "max(x) <= 2", "b": [1, 2.5, true, null], "c": {}, "d": "70%" }),
        json!({ "comma": "max(a, b)", "colon": "a: b", "empty": "", "braces": "{x}", "star": "*a" }),
    ] {
        let read: Value = serde_yaml::from_str(&flow(&value)).unwrap();
        assert_eq!(read, value);
    }
}

#[test]
fn names_of_arms_and_numbers_of_entries_may_stand_or_be_left_out() {
    let schema = schema();
    let body = |path: &str| {
        let text = explain(&schema, path).unwrap();
        text.split_once("\n\n").map(|(_, body)| body.lines().next().map(str::to_owned))
    };
    for (short, long) in [
        ("arms.controller.velox.window", "arms.integer.controller.velox.window"),
        ("faults.backend.hold", "faults[1].backend.hold"),
        ("phases.for", "phases.0.for"),
    ] {
        assert_eq!(body(short), body(long), "{short}");
    }
}

#[test]
fn a_path_that_leads_nowhere_is_answered_with_ones_that_do() {
    let schema = schema();
    for (path, parts) in [
        ("fault", &["did you mean `faults`?"][..]),
        ("faults.backend.hald", &["no `hald` in faults.backend", "did you mean `hold`?", "has: "]),
        ("velox.window", &["fields that end so: arms.controller.velox.window"]),
        ("phases.for.more", &["nothing is inside of phases.for"]),
        ("colour", &["no `colour` in the file", "the file has: "]),
    ] {
        let said = explain(&schema, path).unwrap_err().to_string();
        for part in parts {
            assert!(said.contains(part), "{path}: {said}");
        }
    }
}

#[test]
fn an_explanation_in_full() {
    let schema = schema();
    assert_eq!(
        explain(&schema, "phases.for").unwrap(),
        "phases.for\n\n  How long it lasts.\n\n  type      a duration\n  unit      write a number with a \
         unit: ns, us, ms, s, m or h, such as 250ms\n  example   phases: [{ for: 250ms }]\n"
    );
    let whole = explain(&schema, "").unwrap();
    assert!(whole.contains("\n  arms       The variants"), "{whole}");
    assert!(whole.contains("(required)"), "{whole}");
}

#[test]
fn a_law_within_a_law_has_its_fields_once() {
    let paths = paths(&schema());
    let within = |path: &&String| path.matches("windowed.law").count() > 1;
    assert_eq!(paths.iter().find(within), None);
    for path in
        ["arms.controller.windowed.law", "faults.toxic.latency.latency", "arms.limiter.fifo"]
    {
        assert!(paths.iter().any(|found| found == path), "{path}");
    }
    let said = explain(&schema(), "velox").unwrap_err().to_string();
    assert!(said.ends_with("fields that end so: arms.controller.velox"), "{said}");
}

#[test]
fn what_stands_beside_a_kind_is_not_called_one() {
    for (path, kinds) in [
        (
            "faults.toxic",
            "latency, bandwidth, slow_close, timeout, reset_peer, slicer, limit_data, noop, wave; beside it name, stream, toxicity",
        ),
        ("load.open", "constant, poisson, ramp, step, spike, sine, trace"),
        ("admission.queue", "adaptive_lifo, codel, or the word fifo, lifo, barging"),
    ] {
        let text =
            explain(&schema(), path).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
        let said = format!("type a mapping with one kind of {kinds} ");
        assert!(text.contains(&said), "{path}: {text}");
    }
}
