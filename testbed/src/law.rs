//! `windtunnel law`: drives one controller or one limiter over recorded inputs.

mod controller;
mod limiter;
mod table;

pub use table::LawError;

use crate::experiment::document::Document;
use crate::experiment::problem::{Problem, Report, did_you_mean};
use crate::experiment::schema_check;
use schemars::{JsonSchema, schema_for};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::io::{BufRead, Write};
use testbed_core::control::{ControllerConfig, Invalid};
use testbed_core::limit::LimiterConfig;

/// What can be driven.
#[derive(Clone, Debug)]
pub enum Law {
    /// A controller, over round-trip times.
    Controller(ControllerConfig),
    /// A limiter, over asks.
    Limiter(LimiterConfig),
}

/// The document that a law on the command line is taken for: `law: {velox: {...}}`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Wrapped<T> {
    law: T,
}

/// Reads a law such as `{velox: {window: integer, max: 256}}`.
///
/// # Errors
/// Every mistake in it, with its place.
pub fn parse(text: &str) -> Result<Law, Report> {
    let document = Document::parse("LAW", &format!("law: {text}"))?;
    let json = document.to_json();
    let name = json["law"].as_object().and_then(|law| law.keys().next()).map_or("", String::as_str);
    let controllers: Vec<_> = ControllerConfig::all().iter().map(ControllerConfig::name).collect();
    let limiters: Vec<_> = LimiterConfig::LIST.iter().map(|(name, _)| *name).collect();
    if limiters.contains(&name) {
        read(&document).map(Law::Limiter)
    } else if controllers.contains(&name) {
        read(&document).map(Law::Controller)
    } else {
        let all = [controllers, limiters].concat();
        let hint = did_you_mean(name, all.iter().copied());
        let problem = Problem::at_key(format!("/law/{name}"), format!("no law `{name}`{hint}"))
            .with_help(format!("write {{NAME: {{...}}}} with one of: {}", all.join(", ")));
        Err(Report::new(&document, vec![problem]))
    }
}

fn read<T: DeserializeOwned + JsonSchema>(document: &Document) -> Result<T, Report> {
    let problems = schema_check::check(document, &schema_for!(Wrapped<T>).to_value());
    if !problems.is_empty() {
        return Err(Report::new(document, problems));
    }
    let wrapped = document.deserialize::<Wrapped<T>>();
    wrapped.map(|wrapped| wrapped.law).map_err(|problem| Report::new(document, vec![problem]))
}

impl Law {
    /// Settings that an experiment file should not contain.
    pub fn invalid(&self) -> Vec<Invalid> {
        match self {
            Self::Controller(law) => law.invalid(),
            Self::Limiter(law) => law.invalid(),
        }
    }

    /// Feeds each row of `input` to a fresh instance, and writes the row to `output` with two columns
    /// appended: `limit` and `window` of a controller, `ok` and `delay_ns` of a limiter. Lines before
    /// the header that begin with `#` are kept.
    ///
    /// # Errors
    /// When a column is missing, a cell cannot be read, or a file cannot be read or written.
    pub fn drive(&self, input: impl BufRead, output: impl Write) -> Result<(), LawError> {
        match self {
            Self::Controller(law) => controller::drive(law, input, output),
            Self::Limiter(law) => limiter::drive(law, input, output),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn driven(law: &str, input: &str) -> Result<String, String> {
        let law = parse(law).map_err(|report| report.render(false))?;
        let mut output = Vec::new();
        law.drive(input.as_bytes(), &mut output).map_err(|error| error.to_string())?;
        Ok(String::from_utf8(output).unwrap())
    }

    #[test]
    fn rows_come_back_with_limit_and_window() {
        let input = "# recorded\nrtt_ns,note\n1000,a\n2000,\"b, c\"\n";
        let expected = "# recorded\nrtt_ns,note,limit,window\n1000,a,7,7\n2000,\"b, c\",7,7\n";
        assert_eq!(driven("{fixed: {limit: 7}}", input).unwrap(), expected);
        let expected = "# recorded\nrtt_ns,note,limit,window\n1000,a,,\n2000,\"b, c\",,\n";
        assert_eq!(driven("{unlimited: {}}", input).unwrap(), expected, "it has no window");
    }

    #[test]
    fn a_law_inside_of_another_is_read_and_checked() {
        let inside = |law: &str| parse(&format!("{{windowed: {{law: {law}}}}}"));
        assert!(inside("{aimd: {initial: 30}}").is_ok_and(|law| law.invalid().is_empty()));
        let unknown = inside("{aimd: {inital: 30}}").unwrap_err().render(false);
        assert!(unknown.contains("did you mean `initial`?"), "{unknown}");
        let invalid = inside("{aimd: {initial: 10}}").unwrap().invalid();
        assert!(invalid[0].message.contains("initial 10 is outside"), "{invalid:?}");
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        for (law, input, message) in [
            ("{fixd: {limit: 7}}", "rtt_ns\n1\n", "fixed"),
            ("{fixed: {limit: 7}}", "rtt\n1\n", "no column `rtt_ns`"),
            ("{fixed: {limit: 7}}", "# c\nrtt_ns\n1\nx\n", "line 4: `x`"),
            ("{fixed: {limit: 7}}", "op,rtt_ns\nsend,1\n", "neither sample nor error"),
        ] {
            let error = driven(law, input).unwrap_err();
            assert!(error.contains(message), "{error}");
        }
    }
}
