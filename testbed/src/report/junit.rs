//! The verdict as JUnit XML, which CI systems read. A warning is a success with a word about it; what is
//! inconclusive is an error, since a skipped test would look as good as none.

use super::since;
use crate::experiment::plan::Plan;
use crate::verdict::{Class, Judged, Verdict};
use quick_xml::Writer;
use quick_xml::events::BytesText;
use std::io;

/// The verdict as JUnit XML: one suite, a case for each expectation of an arm, and one for the guards.
///
/// # Errors
/// Never of itself: it writes to memory.
pub fn junit(plan: &Plan, verdict: &Verdict) -> io::Result<Vec<u8>> {
    let mut writer = Writer::new_with_indent(Vec::new(), b' ', 2);
    let count = |class: Class| {
        let of_class = |judged: &&Judged| judged.verdict == class;
        verdict.expectations.iter().filter(of_class).count()
    };
    let cut_short = verdict.ended.is_some() || plan.judges_nothing();
    let guards = usize::from(cut_short || !verdict.breaches.is_empty());
    let seed = plan.seed.to_string();
    writer
        .create_element("testsuite")
        .with_attribute(("name", plan.name.as_str()))
        .with_attribute(("tests", (verdict.expectations.len() + 1).to_string().as_str()))
        .with_attribute(("failures", count(Class::Fail).to_string().as_str()))
        .with_attribute(("errors", (count(Class::Inconclusive) + guards).to_string().as_str()))
        .write_inner_content(|writer| {
            properties(writer, &[("mode", plan.mode.name()), ("seed", &seed)])?;
            verdict.expectations.iter().try_for_each(|judged| expectation(writer, plan, judged))?;
            machine(writer, plan, verdict)
        })?;
    let mut xml = writer.into_inner();
    xml.push(b'\n');
    Ok(xml)
}

fn properties(writer: &mut Writer<Vec<u8>>, all: &[(&str, &str)]) -> io::Result<()> {
    writer.create_element("properties").write_inner_content(|writer| {
        for (name, value) in all {
            let property = writer.create_element("property").with_attribute(("name", *name));
            property.with_attribute(("value", *value)).write_empty()?;
        }
        Ok(())
    })?;
    Ok(())
}

fn expectation(writer: &mut Writer<Vec<u8>>, plan: &Plan, judged: &Judged) -> io::Result<()> {
    let what = match judged.verdict {
        Class::Fail => Some("failure"),
        Class::Inconclusive | Class::Error => Some("error"),
        Class::Pass | Class::Warn => None,
    };
    let name = judged
        .phase
        .as_ref()
        .map_or_else(|| judged.id.clone(), |phase| format!("{} in {phase}", judged.id));
    let breach = judged.breach.as_ref().map_or(String::new(), since);
    let said = format!("{} = {}{breach}", judged.measure, judged.text);
    case(
        writer,
        (&class_name(plan, &judged.arm), &name),
        what.map(|what| (what, said.as_str())),
        &judged.that,
    )
}

/// The guards as one case: whether anything was judged, the run went to its end, and the machine did what was asked.
fn machine(writer: &mut Writer<Vec<u8>>, plan: &Plan, verdict: &Verdict) -> io::Result<()> {
    let breaches = verdict.breaches.iter();
    let breaches = breaches.map(|breach| format!("{}: {}", breach.arm, breach.message));
    let ended = verdict.ended.iter();
    let ended = ended.map(|ended| format!("{} of {}: {}", ended.by, ended.arm, ended.that));
    let nothing = plan.judges_nothing().then(|| format!("judged {}", plan.judges()));
    let said = nothing.into_iter().chain(ended).chain(breaches).collect::<Vec<_>>().join("; ");
    let wrong = (!said.is_empty()).then_some(("error", said.as_str()));
    case(
        writer,
        (&plan.name, "guards"),
        wrong,
        "something was judged, the run went to its end, and the machine did what was asked",
    )
}

fn class_name(plan: &Plan, arm: &str) -> String {
    format!("{}.{arm}", plan.name)
}

/// A case: its class and name, what is wrong with it, and what is said of it anyway.
fn case(
    writer: &mut Writer<Vec<u8>>,
    (class, name): (&str, &str),
    wrong: Option<(&str, &str)>,
    out: &str,
) -> io::Result<()> {
    let case = writer.create_element("testcase").with_attribute(("classname", class));
    case.with_attribute(("name", name)).write_inner_content(|writer| {
        if let Some((what, message)) = wrong {
            writer.create_element(what).with_attribute(("message", message)).write_empty()?;
        }
        writer.create_element("system-out").write_text_content(BytesText::new(out))?;
        Ok(())
    })?;
    Ok(())
}
