//! What the schema cannot see of the measures of a sweep.

use super::expect::{Asked, phase, unreadable};
use super::{Problems, Scene, escape, resolve};
use crate::experiment::plan::Measured;
use crate::experiment::sweep::MeasureFile;
use crate::verdict::grammar;

/// Resolves the measures of a sweep; nothing if there is none.
pub(super) fn check(scene: &Scene<'_>, problems: &mut Problems) -> Vec<Measured> {
    let Some(sweep) = &scene.file.sweep else { return Vec::new() };
    let measure = |(name, file): (&String, &MeasureFile)| measure(scene, name, file, problems);
    sweep.measures.iter().filter_map(measure).collect()
}

fn measure(
    scene: &Scene<'_>,
    name: &str,
    file: &MeasureFile,
    problems: &mut Problems,
) -> Option<Measured> {
    let at = format!("/sweep/measures/{}", escape(name));
    let of = format!("{at}/of");
    let wrong = |error| problems.push(unreadable(of.clone(), error));
    let expression = grammar::expression(&file.of).map_err(wrong).ok();
    let names: Vec<_> = scene.file.arms.keys().map(String::as_str).collect();
    let arm = match file.arm.as_deref() {
        Some(arm) => resolve("arm", arm, &names, format!("{at}/arm"), problems),
        None => Some(0),
    };
    let phase = phase(file.phase.as_deref(), scene.phases, &at, problems);
    let (expression, arm, phase) = (expression?, arm?, phase?);
    let asked = Asked::new(scene, &file.of, of).of_any_law();
    let asked = asked.expression(&expression, scene.arms.get(arm)?.as_ref()?);
    let unit = asked.map_err(|problem| problems.push(problem)).ok()?;
    let (name, better) = (name.to_owned(), file.better.into());
    Some(Measured { name, arm, phase, expression, unit, better })
}
