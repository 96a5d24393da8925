//! What the files of a run say, as far as runs are compared.

use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// `manifest.json`.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Manifest {
    pub(super) mode: String,
    pub(super) seed: u64,
    pub(super) version: String,
    #[serde(default)]
    pub(super) program_sha256: Option<String>,
}

/// `verdict.json`; the default is that of a run that was killed.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Verdict {
    pub(super) verdict: String,
    pub(super) expectations: Vec<Judged>,
    breaches: Vec<Breach>,
    ended: Option<Ended>,
}

/// An expectation of an arm, judged.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Judged {
    pub(super) id: String,
    pub(super) arm: String,
    pub(super) that: String,
    pub(super) measure: String,
    pub(super) verdict: String,
    pub(super) observed: Option<f64>,
    pub(super) margin: Option<f64>,
}

#[derive(Clone, Debug, Deserialize)]
struct Breach {
    arm: String,
    message: String,
}

#[derive(Clone, Debug, Deserialize)]
struct Ended {
    by: String,
    verdict: String,
}

impl Verdict {
    /// Whether the run came to a judgement: it was neither stopped nor broken nor killed.
    pub(super) fn is_judged(&self) -> bool {
        !["", "interrupted", "error"].contains(&self.verdict.as_str())
    }

    /// Whether it was ended early, as a failure.
    pub(super) fn failed_early(&self) -> bool {
        self.ended.as_ref().is_some_and(|ended| ended.verdict == "fail")
    }

    /// Why nothing can be said by its numbers, if so.
    pub(super) fn unusable(&self) -> Option<String> {
        if let Some(Ended { by, .. }) = &self.ended {
            return Some(format!("it was ended early by {by}"));
        }
        if let Some(Breach { arm, message }) = self.breaches.first() {
            return Some(format!("guard, {arm}: {message}"));
        }
        match self.verdict.as_str() {
            "" => Some("it was killed".to_owned()),
            "error" => Some("it broke".to_owned()),
            "interrupted" => Some("it was interrupted".to_owned()),
            _ => None,
        }
    }

    /// The expectation of that name of an arm.
    pub(super) fn expectation(&self, arm: &str, id: &str) -> Option<&Judged> {
        self.expectations.iter().find(|judged| judged.arm == arm && judged.id == id)
    }
}

/// A resolved file, field by field: `arms.double.controller.velox.max` and its value.
pub(super) type Flat = BTreeMap<String, String>;

/// The fields of a resolved file, but for those that say which seed and mode a run has.
pub(super) fn flat(resolved: &str) -> Result<Flat, serde_yaml::Error> {
    let (value, mut fields): (Value, _) = (serde_yaml::from_str(resolved)?, Flat::new());
    flatten(&mut fields, String::new(), &value);
    for own in ["run.seed", "run.seeds", "run.mode"] {
        fields.remove(own);
    }
    Ok(fields)
}

fn flatten(fields: &mut Flat, path: String, value: &Value) {
    let below =
        |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    match value {
        Value::Object(all) if !all.is_empty() => {
            all.iter().for_each(|(name, value)| flatten(fields, below(name), value));
        }
        Value::Array(all) if !all.is_empty() => {
            let all = all.iter().enumerate();
            all.for_each(|(index, value)| flatten(fields, format!("{path}[{index}]"), value));
        }
        Value::String(text) => drop(fields.insert(path, text.clone())),
        value => drop(fields.insert(path, value.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_have_the_paths_that_set_takes_and_the_seed_is_none_of_them() {
        let fields = flat("run: { seed: 7, seeds: 3, mode: live, late: 1s }\nfaults: [{ on: {} }]");
        let expected = [("faults[0].on", "{}"), ("run.late", "1s")];
        let expected = expected.map(|(path, value)| (path.to_owned(), value.to_owned()));
        assert_eq!(fields.unwrap(), Flat::from(expected));
    }
}
