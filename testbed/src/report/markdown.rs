//! The verdict as Markdown, for a pull request or a wiki.

use super::since;
use crate::columns::cell;
use crate::experiment::plan::Plan;
use crate::verdict::{Judged, Verdict};
use std::fmt::Write as _;

/// The verdict as a heading and a table with a row for each expectation of an arm.
pub fn markdown(plan: &Plan, verdict: &Verdict) -> String {
    let (name, mode, seed) = (cell(&plan.name), plan.mode.name(), plan.seed);
    let mut out = format!("# {name}: {}\n\n{mode}, seed {seed}\n", verdict.class.name());
    if let Some(ended) = &verdict.ended {
        let (by, arm, phase) = (ended.by, cell(&ended.arm), cell(&ended.at.phase));
        let _ = writeln!(out, "\nEnded in {phase} by {by}, {arm}: {}", cell(&ended.text));
    }
    if !verdict.expectations.is_empty() {
        out.push_str("\n| verdict | expectation | arm | in | sentence | observed | margin |\n");
        out.push_str("| --- | --- | --- | --- | --- | --- | --- |\n");
    }
    verdict.expectations.iter().for_each(|judged| row(&mut out, judged));
    if plan.expect.len() < plan.resolved.expect.len() {
        let _ = writeln!(out, "\nJudged: {}.", plan.judges());
    }
    for breach in &verdict.breaches {
        let _ = writeln!(out, "\n- guard, {}: {}", cell(&breach.arm), cell(&breach.message));
    }
    out
}

fn row(out: &mut String, judged: &Judged) {
    let phase = judged.phase.as_deref().unwrap_or("whole run");
    let margin = judged.margin.map_or(String::new(), |margin| margin.to_string());
    let breach = judged.breach.as_ref().map_or(String::new(), since);
    let observed = format!("{}{breach}", judged.text);
    let cells = [
        judged.verdict.name(),
        &judged.id,
        &judged.arm,
        phase,
        &format!("`{}`", judged.that),
        &observed,
        &margin,
    ];
    let _ = writeln!(out, "| {} |", cells.map(cell).join(" | "));
}
