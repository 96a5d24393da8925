use crate::experiment::{Overrides, load};
use std::fs;
use std::path::Path;

/// The experiment with this load and these service times, as it reads in `folder`.
fn plan(folder: &Path, load_is: &str, service: &str) -> Result<super::super::plan::Plan, String> {
    let text = format!(
        "version: 1\nname: t\narms: {{ a: {{ controller: {{ fixed: {{ limit: 9 }} }} }} }}\n\
         backend: {{ servers: 1, service: {service} }}\nload: {load_is}\nclient: {{ classes: {{ tin: 1, gold: 1 }} }}\n\
         phases: [ {{ name: p, for: 10s }} ]\n"
    );
    let overrides = Overrides { folder: Some(folder.to_owned()), ..Overrides::default() };
    load("t.yaml", &text, &overrides).map_err(|report| report.to_string())
}

const CONSTANT: &str = "{ constant: 1ms }";

#[test]
fn a_plan_calls_its_traces_by_what_they_hold_and_has_them_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let text = "arrival_s,service_s,class\n0.5,0.002,gold\n";
    for name in ["one.csv", "same.csv"] {
        fs::write(folder.path().join(name), text).unwrap();
    }
    let service = "{ trace: { file: same.csv } }";
    let plan = plan(folder.path(), "{ open: { trace: { file: one.csv } } }", service).unwrap();
    let (name, content) = plan.traces.first_key_value().unwrap();
    assert_eq!((plan.traces.len(), &**content), (1, text.as_bytes()));
    let resolved = String::from_utf8(crate::run::resolved(&plan).unwrap()).unwrap();
    assert_eq!(resolved.matches(&format!("file: {name}")).count(), 2, "{resolved}");
    // Where that stands beside its trace, it is the same experiment again.
    let elsewhere = tempfile::tempdir().unwrap();
    fs::write(elsewhere.path().join(name), content).unwrap();
    let folder = Some(elsewhere.path().to_owned());
    let again = load("r", &resolved, &Overrides { folder, ..Overrides::default() }).unwrap();
    assert_eq!((again.resolved, again.traces), (plan.resolved, plan.traces));
}

#[cfg(unix)]
#[test]
fn what_is_wrong_with_a_trace_is_told_at_its_field() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("below")).unwrap();
    fs::write(folder.path().join("below/good.csv"), "arrival_s,class\n0,gold\n").unwrap();
    fs::write(folder.path().join("bad.csv"), "arrival_s\n1\n0\n").unwrap();
    fs::write(folder.path().join("lead.csv"), "arrival_s,class\n0,lead\n").unwrap();
    std::os::unix::fs::symlink("/etc/hostname", folder.path().join("out.csv")).unwrap();
    let digits = "0".repeat(64);
    for (trace, words) in [
        ("file: below/good.csv".to_owned(), None),
        ("file: bad.csv".to_owned(), Some("bad.csv:3: 0 s is before 1 s")),
        ("file: none.csv".to_owned(), Some("none.csv")),
        ("file: ../below/good.csv".to_owned(), Some("is not a path within")),
        ("file: /etc/hostname".to_owned(), Some("is not a path within")),
        ("file: out.csv".to_owned(), Some("leads out of the folder")),
        ("file: below".to_owned(), Some("is no file")),
        ("file: lead.csv".to_owned(), Some("no class `lead`")),
        (format!("file: below/good.csv, sha256: '{digits}'"), Some("is another file now")),
        ("file: below/good.csv, arm: a".to_owned(), Some("no column `arm`")),
    ] {
        let load_is = format!("{{ open: {{ trace: {{ {trace} }} }} }}");
        let said = plan(folder.path(), &load_is, CONSTANT).err();
        match words {
            None => assert_eq!(said, None, "{trace}"),
            Some(words) => {
                let said = said.unwrap_or_default();
                assert!(said.contains(words) && said.contains("t.yaml:5"), "{trace}: {said}");
                assert!(said.starts_with("1 problem"), "{said}");
            }
        }
    }
    let no_times = "{ trace: { file: below/good.csv } }";
    let said = plan(folder.path(), "{ closed: { clients: 1 } }", no_times).unwrap_err();
    assert!(said.contains("has no `service_s`") && said.contains("t.yaml:4"), "{said}");
}

#[test]
fn an_experiment_that_is_in_no_folder_names_no_file() {
    let text = "version: 1\nname: t\narms: { a: { controller: { fixed: { limit: 9 } } } }\n\
                backend: { servers: 1, service: { constant: 1ms } }\n\
                load: { open: { trace: { file: Cargo.toml } } }\nphases: [ { name: p, for: 1s } ]\n";
    let said = load("t", text, &Overrides::default()).unwrap_err().to_string();
    assert!(said.contains("is in no folder"), "{said}");
}
