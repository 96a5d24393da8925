//! Arms that share a backend: which they are, and what they cannot have for themselves then.

use super::{Problems, escape, resolve};
use crate::experiment::file::{File, Sharing};
use crate::experiment::plan::{Action, ArmPlan, FaultPlan};
use crate::experiment::problem::Problem;
use testbed_core::hold::Hold;

/// Gives the arms of each group their host.
pub(super) fn check(
    file: &File,
    arms: &mut [ArmPlan],
    faults: &[FaultPlan],
    problems: &mut Problems,
) {
    let groups = match &file.share {
        None => return,
        Some(Sharing::Backend) => vec![(0..arms.len()).collect()],
        Some(Sharing::Groups(_)) => named(file, problems),
    };
    for group in &groups {
        one_backend(arms, group, problems);
        for (index, fault) in faults.iter().enumerate() {
            whole_group(arms, group, fault, &format!("/faults/{index}"), problems);
        }
    }
}

/// The arms of each named group, by index and in the order of the file.
fn named(file: &File, problems: &mut Problems) -> Vec<Vec<usize>> {
    let Some(Sharing::Groups(groups)) = &file.share else { return Vec::new() };
    let names: Vec<_> = file.arms.keys().map(String::as_str).collect();
    let (mut all, mut taken) = (Vec::new(), Vec::new());
    for (group, members) in groups {
        let mut indices = Vec::new();
        for (place, name) in members.iter().enumerate() {
            let at = format!("/share/groups/{}/{place}", escape(group));
            let Some(index) = resolve("arm", name, &names, at.clone(), problems) else { continue };
            if taken.contains(&index) {
                let message = format!("arm `{name}` is in a group already; it has one backend");
                problems.push(Problem::at_value(at, message).with_help("leave it out of one"));
            }
            taken.push(index);
            indices.push(index);
        }
        indices.sort_unstable();
        all.push(indices);
    }
    all
}

/// What is shared is one backend, with one set of settings.
fn one_backend(arms: &mut [ArmPlan], group: &[usize], problems: &mut Problems) {
    let Some((&host, others)) = group.split_first() else { return };
    for &index in others {
        let (first, arm) = (&arms[host], &arms[index]);
        if arm.backend != first.backend {
            let at = format!("/arms/{}", escape(&arm.name));
            let message = format!(
                "arms `{}` and `{}` share a backend, and describe two",
                first.name, arm.name
            );
            let help = "leave out their `backend:` and write one at the top of the file";
            problems.push(Problem::at_key(at, message).with_help(help));
        }
        arms[index].host = host;
    }
}

/// What is wrong with a shared backend is wrong for all who share it; and it can follow no law's
/// baseline, since each has another.
fn whole_group(
    arms: &[ArmPlan],
    group: &[usize],
    fault: &FaultPlan,
    at: &str,
    problems: &mut Problems,
) {
    let hit = group.iter().filter(|arm| fault.arms.contains(arm)).count();
    if matches!(fault.action, Action::Toxic(_) | Action::Down) || hit == 0 {
        return;
    }
    if hit < group.len() {
        let names: Vec<_> = group.iter().map(|arm| arms[*arm].name.as_str()).collect();
        let message = "this is wrong with a backend for some of those who share it";
        let help = format!("name all or none of {}", names.join(", "));
        problems.push(Problem::at_key(at, message).with_help(help));
    }
    if group.len() > 1 && matches!(fault.action, Action::Hold(Hold::Gradient { .. })) {
        let message = "a gradient is held against one law's baseline, and this backend is shared";
        problems.push(Problem::at_key(at, message).with_help("hold a latency or a utilisation"));
    }
}

#[cfg(test)]
mod tests {
    use crate::experiment::{Overrides, load};

    /// The hosts of three arms, or the first problem.
    fn hosts(share: &str, fault: &str) -> Result<Vec<usize>, String> {
        let arm = "{ controller: { velox: {} } }";
        let text = format!(
            "version: 1\nname: t\nshare: {share}\narms: {{ a: {arm}, b: {arm}, c: {arm} }}\n\
             backend: {{ servers: 1, service: {{ constant: 1ms }} }}\n\
             load: {{ closed: {{ clients: 1 }} }}\nphases: [ {{ name: p, for: 1s }} ]\n\
             faults: [ {{ name: f, {fault} }} ]\n"
        );
        let plan = load("t", &text, &Overrides::default()).map_err(|report| report.to_string())?;
        Ok(plan.arms.iter().map(|arm| arm.host).collect())
    }

    #[test]
    fn the_first_arm_of_a_group_has_the_backend_of_all() {
        let toxic = "arms: [a], toxic: { noop: {} }";
        for (share, expected) in [
            ("backend", [0, 0, 0]),
            ("{ groups: { x: [c, b] } }", [0, 1, 1]),
            ("{ groups: { x: [a, c], y: [b] } }", [0, 1, 0]),
        ] {
            assert_eq!(hosts(share, toxic).as_deref(), Ok(&expected[..]), "{share}");
        }
    }

    #[test]
    fn what_cannot_be_shared_is_refused() {
        for (share, fault, words) in [
            ("{ groups: { x: [a, d] } }", "toxic: { noop: {} }", "no arm `d`"),
            ("{ groups: { x: [a, b], y: [b] } }", "toxic: { noop: {} }", "in a group already"),
            ("backend", "arms: [a], backend: { freeze: {} }", "name all or none of a, b, c"),
            ("backend", "backend: { hold: { gradient: 0.7 } }", "this backend is shared"),
        ] {
            let report = hosts(share, fault).unwrap_err();
            assert!(report.contains(words), "{share}: {report}");
        }
        assert!(hosts("backend", "backend: { freeze: {} }").is_ok());
        assert!(hosts("{ groups: { x: [a, b] } }", "arms: [c], backend: { freeze: {} }").is_ok());
    }
}
