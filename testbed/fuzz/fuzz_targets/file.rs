//! Texts that the fuzzer thinks of as experiment files. Each is a plan, or a report of mistakes that stand
//! in the text; and a plan that is written out in full is a plan again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use testbed::experiment::{Overrides, load};

fuzz_target!(|text: &str| {
    match load("fuzz.yaml", text, &Overrides::default()) {
        Err(report) => {
            assert!(!report.is_empty());
            let lines = text.lines().count() as u64;
            for problem in report.to_json().as_array().expect("a list of problems") {
                let line = problem["line"].as_u64().expect("a line");
                assert!((1..=lines.max(1) + 1).contains(&line), "{problem}");
            }
        }
        Ok(plan) => {
            let mut yaml = Vec::new();
            let mut serializer = serde_yaml::Serializer::new(&mut yaml);
            serde_yaml::with::singleton_map_recursive::serialize(&plan.resolved, &mut serializer)
                .expect("a plan can be written");
            drop(serializer);
            let again = String::from_utf8(yaml).expect("YAML is text");
            let loaded = load("again.yaml", &again, &Overrides::default());
            assert!(loaded.is_ok(), "{again}\n{}", loaded.unwrap_err());
        }
    }
});
