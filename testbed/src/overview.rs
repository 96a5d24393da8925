//! `windtunnel plan`: what a run will do and what it will cost, before it is made.

mod demand;
mod row;

use crate::experiment::plan::{Action, FaultPlan, Plan};
use demand::Demand;
use row::{Band, Scale};
use testbed_core::hold::Hold;

/// Columns that a name may take.
const NAME: usize = 26;
/// The fewest columns that are drawn to.
const NARROW: usize = 40;
/// The most columns that are drawn to.
const WIDE: usize = 200;

/// The time line of a plan, `columns` wide (40 to 200): phases, faults, what each arm offers, what its
/// backend can do, what the run costs, and how much is judged. ASCII but for the names.
pub fn text(plan: &Plan, columns: usize) -> String {
    let scale = scale(plan, columns);
    let (name, mode, seed) = (&plan.name, plan.mode.name(), plan.seed);
    let mut out = format!("{name}: {} ({mode}, seed {seed})\n\n", plan.length());
    out += &scale.axis();
    out += "phases\n";
    for phase in &plan.phases {
        let band = Band::new(phase.begin, phase.end, &phase.end.since(phase.begin).to_string());
        out += &scale.row(&phase.name, &[band], '=');
    }
    if !plan.faults.is_empty() {
        out += "faults\n";
    }
    for fault in &plan.faults {
        let band = Band::new(fault.begin, fault.end, &action_text(plan, fault));
        out += &scale.row(&fault.name, &[band], '#');
    }
    let demands: Vec<_> = (0..plan.arms.len()).map(|arm| Demand::of(plan, arm)).collect();
    for (arm, demand) in plan.arms.iter().zip(&demands) {
        out += &format!("{} ({} {})\n", arm.name, arm.work.law().0, arm.work.law().1);
        out += &scale.row("offered", &demand.offered, ' ');
        out += &scale.row("capacity", &demand.capacity, ' ');
    }
    out + "\n" + &demand::cost(plan, &demands) + &format!("judges {}\n", plan.judges())
}

fn scale(plan: &Plan, columns: usize) -> Scale {
    let phases = plan.phases.iter().map(|phase| phase.name.as_str());
    let names = phases.chain(plan.faults.iter().map(|fault| fault.name.as_str()));
    let longest = names.chain(["capacity"]).map(|name| name.chars().count()).max().unwrap_or(0);
    Scale::new(longest.min(NAME), columns.clamp(NARROW, WIDE), plan.length())
}

/// What a fault does, and to whom if not to all.
fn action_text(plan: &Plan, fault: &FaultPlan) -> String {
    let what = match &fault.action {
        Action::Http(http) => http.name().to_owned(),
        Action::Hold(Hold::Gradient { gradient, .. }) => format!("gradient {gradient}"),
        Action::Hold(Hold::Latency(latency)) => format!("latency {latency}"),
        Action::Hold(Hold::Scale(scale)) => format!("scale {scale}"),
        Action::Hold(Hold::Utilisation { share, .. }) => format!("utilisation {share}"),
        Action::Servers(servers) => format!("servers {servers}"),
        Action::Freeze => "freeze".to_owned(),
        Action::SlowStart(_) => "slow_start".to_owned(),
        Action::Toxic(toxic) => toxic.kind.name().to_owned(),
        Action::Down => "proxy down".to_owned(),
    };
    if fault.arms.len() == plan.arms.len() {
        return what;
    }
    let arms = fault.arms.iter().filter_map(|arm| plan.arms.get(*arm));
    format!("{what} on {}", arms.map(|arm| arm.name.as_str()).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests;
