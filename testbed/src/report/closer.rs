//! What matters of a run that did not pass, and how to look closer.

use crate::experiment::file::Waits;
use crate::shell;
use crate::verdict::{Class, Judged, Verdict, oracle};
use crate::watch::series::PerRequest;
use std::path::Path;

/// One line about what matters most and one with a command, behind the text of a verdict of a run that recorded such
/// waits; nothing for one that is a pass.
pub(super) fn text(waits: Waits, verdict: &Verdict, run_dir: &Path) -> String {
    if verdict.class == Class::Pass {
        return String::new();
    }
    // A breach says more than what was judged in spite of it.
    let (line, command) = match (verdict.breaches.first(), worst(verdict)) {
        (Some(breach), _) => (
            format!("{}: {}", breach.arm, breach.message),
            format!(
                "grep '\"arm\":\"{}\"' {}",
                breach.arm,
                shell::word(&run_dir.join("events.jsonl"))
            ),
        ),
        (None, Some(judged)) => (sentence(judged), command(waits, judged, run_dir)),
        (None, None) => return String::new(),
    };
    format!("  {line}\n  look closer: {command}\n")
}

/// The first of those that came out worst.
fn worst(verdict: &Verdict) -> Option<&Judged> {
    verdict.expectations.iter().find(|judged| judged.verdict == verdict.class)
}

fn sentence(judged: &Judged) -> String {
    let place = judged.phase.as_ref().map_or_else(String::new, |phase| format!(" in {phase}"));
    let Judged { id, arm, measure, text, .. } = judged;
    format!("{id}: {measure} of {arm}{place} = {text}")
}

/// The values behind it where they are recorded one by one, or how to have them recorded; else what happened to the arm.
fn command(waits: Waits, judged: &Judged, run_dir: &Path) -> String {
    let is_lower = |part: &str| part.starts_with(|c: char| c.is_ascii_lowercase());
    // What an oracle says follows from the plan, and is not recorded.
    let of_oracle = |name: &str| oracle::SERIES.iter().any(|(series, ..)| *series == name);
    let recorded =
        |name: &&str| name.contains('.') && name.split('.').all(is_lower) && !of_oracle(name);
    let separator = |c: char| !(c.is_ascii_alphanumeric() || "._".contains(c));
    let series = judged.measure.split(separator).find(recorded);
    let file = |name: &str| shell::word(&run_dir.join(name));
    match series {
        Some("limiter.wait" | "limiter.fifo_wait" | "limiter.overrun") if waits == Waits::Off => {
            format!("windtunnel run {} --set record.waits=all", shell::word(run_dir))
        }
        Some("limiter.wait" | "limiter.fifo_wait" | "limiter.overrun") => {
            format!("grep ',{},' {}", judged.arm, file("waits.csv"))
        }
        Some(series) if PerRequest::named(series).is_none() => {
            format!("grep ',{},{series},' {}", judged.arm, file("series.csv"))
        }
        _ => format!("grep '\"arm\":\"{}\"' {}", judged.arm, file("events.jsonl")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::file::Severity;

    fn judged(measure: &str, verdict: Class) -> Judged {
        Judged {
            id: "x".to_owned(),
            arm: "double".to_owned(),
            phase: Some("degraded".to_owned()),
            that: format!("{measure} <= 1"),
            severity: Severity::Fail,
            measure: measure.to_owned(),
            verdict,
            observed: Some(2.0),
            remark: None,
            margin: None,
            breach: None,
            limit: "<= 1".to_owned(),
            text: "2, expected <= 1".to_owned(),
        }
    }

    fn said(class: Class, expectations: Vec<Judged>) -> String {
        said_in("runs/1", class, expectations)
    }

    fn said_in(run_dir: &str, class: Class, expectations: Vec<Judged>) -> String {
        let (breaches, holds, generators) = (Vec::new(), Vec::new(), Vec::new());
        let (ended, utilised) = (None, Vec::new());
        let verdict = Verdict { class, ended, expectations, breaches, holds, utilised, generators };
        text(Waits::Waited, &verdict, Path::new(run_dir))
    }

    #[test]
    fn the_worst_expectation_and_where_its_values_are() {
        for (measure, command) in [
            ("max(controller.window)", "grep ',double,controller.window,' runs/1/series.csv"),
            ("time_to(rpc.goodput >= 9)", "grep ',double,rpc.goodput,' runs/1/series.csv"),
            ("max(limiter.wait) / fifo", "grep ',double,' runs/1/waits.csv"),
            (
                "mean(oracle.goodput) - mean(rpc.goodput)",
                "grep ',double,rpc.goodput,' runs/1/series.csv",
            ),
            ("p99.9(rpc.latency)", "grep '\"arm\":\"double\"' runs/1/events.jsonl"),
            ("zero_progress(20 rounds)", "grep '\"arm\":\"double\"' runs/1/events.jsonl"),
        ] {
            let both = vec![judged("max(a.b)", Class::Pass), judged(measure, Class::Fail)];
            assert_eq!(
                said(Class::Fail, both),
                format!(
                    "  x: {measure} of double in degraded = 2, expected <= 1\n  look closer: {command}\n"
                )
            );
        }
    }

    #[test]
    fn the_command_is_one_for_a_shell_wherever_the_run_is() {
        for measure in ["max(controller.window)", "max(limiter.wait)", "p50(rpc.latency)"] {
            let said = said_in("my runs/1", Class::Fail, vec![judged(measure, Class::Fail)]);
            let (_, command) = said.split_once("look closer: ").unwrap();
            let words = shlex::split(command).unwrap();
            assert_eq!(words.len(), 3, "{command}");
            assert!(words[2].starts_with("my runs/1/"), "{command}");
        }
    }

    #[test]
    fn a_pass_needs_no_closer_look() {
        assert_eq!(said(Class::Pass, vec![judged("max(a.b)", Class::Pass)]), "");
        assert_eq!(said(Class::Fail, Vec::new()), "");
    }
}
