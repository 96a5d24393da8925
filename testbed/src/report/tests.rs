//! What the reports say, of a run that is small enough to be checked by eye.

use super::{junit, markdown};
use crate::experiment::plan::Plan;
use crate::experiment::{Overrides, load};
use crate::verdict::{Class, judge};
use crate::watch::store::Store;
use std::path::Path;
use testbed_core::time::{Nanos, Time};

/// A window of 8 from 2 s on, in a run of 4 s.
fn plan() -> Plan {
    let text = "version: 1\nname: r\narms: { a: { controller: { fixed: { limit: 8 } } } }\n\
                backend: { servers: 1, service: { constant: 1ms } }\n\
                load: { closed: { clients: 1 } }\n\
                phases: [ { name: p, for: 3s }, { name: 'q|<q>', for: 1s } ]\n\
                expect:\n\
                - { id: low, that: max(controller.window) < 5 }\n\
                - { id: soon, severity: warn, that: time_to(controller.window > 5) <= 1s }\n\
                - { id: odd, in: 'q|<q>', that: max(rpc.rtt) > 1s }\n\
                - { id: high, that: eventually controller.window > 5 for 2s }\n";
    load("r", text, &Overrides::default()).unwrap()
}

fn store() -> Store {
    let at = |s| Time::ZERO.after(Nanos::from_secs(s));
    let mut store = Store::new(1);
    store.begin_phase(at(0));
    store.arms[0].step(1, at(0), "controller.window", 2.0);
    store.arms[0].step(1, at(2), "controller.window", 8.0);
    store.reach(at(3));
    store.begin_phase(at(3));
    store.reach(at(4));
    store
}

#[test]
fn markdown_has_a_row_for_each_expectation_and_nothing_ends_a_cell() {
    let said = markdown(&plan(), &judge(&plan(), &store()));
    let expected = "\
# r: fail

virtual, seed 1

| verdict | expectation | arm | in | sentence | observed | margin |
| --- | --- | --- | --- | --- | --- | --- |
| fail | low | a | whole run | `max(controller.window) < 5` | 8, expected < 5 (first at 2s, in p) | -3 |
| warn | soon | a | whole run | `time_to(controller.window > 5) <= 1s` | 2s, expected <= 1s (first at 1s, in p) | -1 |
| inconclusive | odd | a | q\\|<q> | `max(rpc.rtt) > 1` | nothing was recorded for max(rpc.rtt), expected > 1s |  |
| pass | high | a | whole run | `eventually controller.window > 5 for 2s` | true for 2s at a time, false for 2s in all, expected eventually for 2s | 0 |
";
    assert_eq!(said, expected);
}

#[test]
fn a_run_that_judges_nothing_of_what_is_expected_says_so_and_is_inconclusive() {
    let text = "version: 1\nname: r\narms: { a: { controller: { fixed: { limit: 8 } } } }\n\
                backend: { servers: 1, service: { constant: 1ms } }\n\
                load: { closed: { clients: 1 } }\nphases: [ { name: p, for: 4s } ]\n";
    let expect = |modes: &[&str]| {
        let one = |(n, mode): (usize, &&str)| {
            format!("- {{ id: e{n}, mode: {mode}, that: 'max(controller.window) < 9' }}\n")
        };
        let all: String = modes.iter().enumerate().map(one).collect();
        let text = if all.is_empty() { text.to_owned() } else { format!("{text}expect:\n{all}") };
        load("r", &text, &Overrides::default()).unwrap()
    };
    for (modes, class, said) in [
        (&[][..], Class::Pass, None),
        (&["virtual"], Class::Pass, None),
        (&["virtual", "live"], Class::Pass, Some("1 of 2")),
        (&["live", "live"], Class::Inconclusive, Some("0 of 2")),
    ] {
        let plan = expect(modes);
        let verdict = judge(&plan, &store());
        assert_eq!(verdict.class, class, "{modes:?}");
        let text = super::text(&plan, &verdict, Path::new("runs/1"));
        let line = said.map(|count| {
            format!("judged        {count} expectations; the others are for another mode\n")
        });
        assert_eq!(text.contains("judged  "), line.is_some(), "{text}");
        assert!(text.contains(&line.unwrap_or_default()), "{text}");
        let xml = String::from_utf8(junit(&plan, &verdict).unwrap()).unwrap();
        assert_eq!(xml.contains("<error message=\"judged 0 of"), class != Class::Pass, "{xml}");
    }
}

#[test]
fn junit_counts_failures_and_errors_and_escapes_what_it_tells() {
    let said = String::from_utf8(junit(&plan(), &judge(&plan(), &store())).unwrap()).unwrap();
    for part in [
        r#"<testsuite name="r" tests="5" failures="1" errors="1">"#,
        r#"<failure message="max(controller.window) = 8, expected &lt; 5 (first at 2s, in p)"/>"#,
        r#"<testcase classname="r.a" name="odd in q|&lt;q&gt;">"#,
        r#"<error message="max(rpc.rtt) = nothing was recorded for max(rpc.rtt), expected &gt; 1s"/>"#,
        r#"<testcase classname="r" name="guards">"#,
    ] {
        assert!(said.contains(part), "no {part} in\n{said}");
    }
    // The warning is told, and is no failure.
    assert_eq!(said.matches("<failure").count(), 1);
}

#[test]
fn a_value_that_misses_its_limit_by_little_reads_so_wherever_it_is_told() {
    let plan = |sentence: &str| {
        let text = format!(
            "version: 1\nname: r\narms: {{ a: {{ controller: {{ fixed: {{ limit: 8 }} }} }} }}\n\
             backend: {{ servers: 1, service: {{ constant: 1ms }} }}\n\
             load: {{ closed: {{ clients: 1 }} }}\nphases: [ {{ name: p, for: 4s }} ]\n\
             expect: [{{ id: x, that: '{sentence}' }}]\n"
        );
        load("r", &text, &Overrides::default()).unwrap()
    };
    let mut store = Store::new(1);
    store.begin_phase(Time::ZERO);
    store.arms[0].step(1, Time::ZERO, "controller.window", 2.0);
    store.arms[0].step(
        1,
        Time::ZERO.after(Nanos::new(2_000_000_001)),
        "controller.window",
        8.000_001,
    );
    store.reach(Time::ZERO.after(Nanos::from_secs(4)));
    for (sentence, said) in [
        ("max(controller.window) == 8", "8.000001, expected == 8"),
        ("time_to(controller.window > 5) <= 2s", "2.000000001s, expected <= 2s"),
        (
            "eventually controller.window > 5 for 2s",
            "true for 1.999999999s at a time, false for 2.000000001s in all, expected eventually for 2s",
        ),
    ] {
        let plan = plan(sentence);
        let verdict = judge(&plan, &store);
        assert_eq!(verdict.class, Class::Fail, "{sentence}");
        let xml = String::from_utf8(junit(&plan, &verdict).unwrap()).unwrap();
        let text = super::text(&plan, &verdict, Path::new("runs/1"));
        for told in [text, markdown(&plan, &verdict), xml.replace("&lt;", "<")] {
            assert!(told.contains(said), "{said}: {told}");
        }
    }
}
