//! What the schema cannot see of arms: what belongs together, what does not fit, what would spin
//! and what would hang.

mod waiting;

use super::{Problems, escape};
use crate::experiment::file::{AdmissionFile, ArmFile, File};
use crate::experiment::plan::{Action, ArmPlan, Calls, Downloads, FaultPlan, Work};
use crate::experiment::problem::Problem;
use testbed_core::client::ClientConfig;
use testbed_core::control::{ControllerConfig, Invalid};
use testbed_core::limit::{Level, LimiterConfig};
use testbed_core::load::LoadConfig;
use testbed_core::service::{HttpFault, ServiceConfig};
use testbed_core::time::Nanos;

/// The most arms in a file: each is a label value and, live, a backend and a proxy.
const MAX_ARMS: usize = 64;

/// One arm under the check.
struct Check<'a> {
    file: &'a File,
    name: &'a str,
    arm: &'a ArmFile,
    /// Its JSON pointer.
    at: String,
    problems: &'a mut Problems,
}

/// Resolves the arms of a file.
/// `None` stands for one that cannot be.
pub(super) fn check(file: &File, problems: &mut Problems) -> Vec<Option<ArmPlan>> {
    if file.arms.is_empty() || file.arms.len() > MAX_ARMS {
        let message = format!("there are {} arms; write 1 to {MAX_ARMS}", file.arms.len());
        problems.push(Problem::at_key("/arms", message));
    }
    let mut plans = Vec::new();
    for (index, (name, arm)) in file.arms.iter().enumerate() {
        let at = format!("/arms/{}", escape(name));
        plans.push(Check { file, name, arm, at, problems }.plan(index));
    }
    plans
}

impl Check<'_> {
    fn plan(mut self, index: usize) -> Option<ArmPlan> {
        let name = self.name;
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
        {
            let problem = Problem::at_key(&self.at, format!("`{name}` cannot name an arm"));
            let help = "use letters, digits, dots, dashes and underscores";
            self.problems.push(problem.with_help(help));
        }
        let backend = self.backend();
        let work = match (&self.arm.controller, &self.arm.limiter) {
            (Some(controller), None) => {
                self.calls(controller).map(|calls| Work::Calls(Box::new(calls)))
            }
            (None, Some(limiter)) => {
                self.downloads(limiter).map(|plan| Work::Downloads(Box::new(plan)))
            }
            (some, _) => self.one_of_two(some.is_some()),
        };
        Some(ArmPlan { name: name.to_owned(), backend: backend?, host: index, work: work? })
    }

    fn backend(&mut self) -> Option<ServiceConfig> {
        let own = self.arm.backend.clone();
        let at = if own.is_some() { format!("{}/backend", self.at) } else { "/backend".to_owned() };
        let Some(backend) = own.or_else(|| self.file.backend.clone()) else {
            self.missing("backend");
            return None;
        };
        for (below, invalid) in backend.invalid() {
            self.invalid(&format!("{at}/{below}"), vec![invalid]);
        }
        Some(backend)
    }

    /// Whether the arm has a field that could not be read.
    fn is_lost(&self, field: &str) -> bool {
        self.problems.lost.covers(&format!("{}/{field}", self.at))
    }

    /// Whether a block of the arm, or the common one, could not be read: what it says is not known.
    fn is_unknown(&self, block: &str) -> bool {
        self.is_lost(block) || self.problems.lost.covers(&format!("/{block}"))
    }

    fn problem(&mut self, message: String, help: &str) {
        self.problems.push(Problem::at_key(&self.at, message).with_help(help));
    }

    fn one_of_two(&mut self, both: bool) -> Option<Work> {
        if self.is_lost("controller") || self.is_lost("limiter") {
            self.client();
            return None;
        }
        let what = if both { "both a controller and a limiter" } else { "neither" };
        let message = format!("arm `{}` has {what}", self.name);
        let help = "write `controller:` for requests behind a window, or `limiter:` for downloads \
                    behind a rate limit";
        self.problem(message, help);
        None
    }

    fn missing(&mut self, what: &str) {
        let message = format!("arm `{}` has no {what}", self.name);
        let help = format!("write `{what}:` here, or once for all arms at the top of the file");
        self.problem(message, &help);
    }

    /// Something that this kind of arm has no use for.
    fn useless(&mut self, is_there: bool, what: &str, of: &str, instead: &str) {
        if is_there {
            let at = format!("{}/{what}", self.at);
            let problem = Problem::at_key(at, format!("an arm with a {of} has no `{what}:`"));
            self.problems.push(problem.with_help(format!("its load is `{instead}:`")));
        }
    }

    fn invalid(&mut self, at: &str, invalid: Vec<Invalid>) {
        for Invalid { field, message } in invalid {
            self.problems.push(Problem::at_value(format!("{at}/{field}"), message));
        }
    }

    fn calls(&mut self, controller: &ControllerConfig) -> Option<Calls> {
        let at = format!("{}/controller/{}", self.at, controller.name());
        self.invalid(&at, controller.invalid());
        self.useless(self.arm.download.is_some(), "download", "controller", "load");
        let load = self.load();
        let admission = self.arm.admission.clone();
        let admission = admission.unwrap_or_else(|| self.file.admission.clone());
        let client = self.client();
        let mut load = load?;
        self.classes(&mut load, &client);
        self.crowded(&load, &admission);
        self.waits(&admission, &client);
        Some(Calls { controller: controller.clone(), load, admission, client })
    }

    fn load(&mut self) -> Option<LoadConfig> {
        let own = self.arm.load.clone();
        let at = if own.is_some() { format!("{}/load", self.at) } else { "/load".to_owned() };
        let Some(load) = own.or_else(|| self.file.load.clone()) else {
            self.missing("load");
            return None;
        };
        for (below, invalid) in load.invalid() {
            self.invalid(&format!("{at}/{below}"), vec![invalid]);
        }
        Some(load)
    }

    fn client(&mut self) -> ClientConfig {
        let own = self.arm.client.clone();
        let at = if own.is_some() { format!("{}/client", self.at) } else { "/client".to_owned() };
        let client = own.unwrap_or_else(|| self.file.client.clone());
        self.invalid(&at, client.invalid());
        client
    }

    /// The classes of a trace are those of the client.
    fn classes(&mut self, load: &mut LoadConfig, client: &ClientConfig) {
        if self.is_unknown("client") {
            return;
        }
        let Some(("open/trace", trace)) = load.trace_mut() else { return };
        if let Err(name) = trace.sort_classes(client.classes.keys()) {
            let own = self.arm.load.is_some();
            let at = if own { self.at.as_str() } else { "" };
            let message = format!("arm `{}` has no class `{name}`, which the trace has", self.name);
            let help = format!(
                "write `client: {{ classes: {{ {name}: 1 }} }}`, or leave out the column `class`"
            );
            let at = format!("{at}/load/open/trace/file");
            self.problems.push(Problem::at_value(at, message).with_help(help));
        }
    }

    /// Clients or an input that do not fit into the queue would be rejected at the start.
    fn crowded(&mut self, load: &LoadConfig, admission: &AdmissionFile) {
        let (at_once, what) = match load {
            LoadConfig::Closed(closed) => (u64::from(closed.clients), "clients"),
            LoadConfig::Input(input) => (input.requests, "requests of input"),
            LoadConfig::Open(_) => return,
        };
        if self.is_unknown("admission") {
            return;
        }
        if at_once > u64::from(admission.max_waiting) {
            let message =
                format!("{at_once} {what} do not fit into max_waiting {}", admission.max_waiting);
            let help = format!("write `admission: {{ max_waiting: {at_once} }}`, or less load");
            self.problem(message, &help);
        }
    }

    fn downloads(&mut self, limiter: &LimiterConfig) -> Option<Downloads> {
        let at = format!("{}/limiter/{}", self.at, limiter.name());
        self.invalid(&at, limiter.invalid());
        self.useless(self.arm.load.is_some(), "load", "limiter", "download");
        self.useless(self.arm.admission.is_some(), "admission", "limiter", "download");
        self.useless(self.arm.client.is_some(), "client", "limiter", "download");
        let own = self.arm.download.is_some();
        let load = self.arm.download.clone().or_else(|| self.file.download.clone());
        let Some(load) = load else {
            self.missing("download");
            return None;
        };
        let at = if own { format!("{}/download", self.at) } else { "/download".to_owned() };
        self.invalid(&at, load.invalid());
        let plan = Downloads { limiter: limiter.clone(), load };
        self.hanging(&plan);
        Some(plan)
    }

    /// Chunks that no bucket can ever hold: their transfers hang, and so may others behind them.
    fn hanging(&mut self, Downloads { limiter, load }: &Downloads) {
        let hangs = |task: &u32| limiter.hangs(load.chunk.largest(*task));
        let tasks: Vec<_> = (0..load.tasks).filter(|task| hangs(task).is_some()).collect();
        let Some(level) = tasks.first().and_then(hangs) else { return };
        if self.arm.may_hang {
            return;
        }
        let largest = tasks.iter().map(|task| load.chunk.largest(*task)).max().unwrap_or(0);
        let capacity = capacity(limiter, level);
        let message = format!(
            "arm `{}` asks for chunks of {largest} B, and the {} bucket holds {capacity} B: {} of \
             its {} tasks would wait for ever ({})",
            self.name,
            level.name(),
            tasks.len(),
            load.tasks,
            some_of(&tasks)
        );
        let help = "give the bucket a larger `capacity:`, or smaller chunks; if that is the \
                    experiment's question, write `may_hang: true` in the arm";
        self.problem(message, help);
    }
}

fn capacity(limiter: &LimiterConfig, level: Level) -> u64 {
    let bucket = limiter.levels().and_then(|levels| levels.bucket(level));
    bucket.map_or(0, |bucket| bucket.capacity())
}

/// The first few of a list of tasks, in words.
fn some_of(tasks: &[u32]) -> String {
    let names: Vec<_> = tasks.iter().take(5).map(|task| format!("task{task}")).collect();
    let more = if tasks.len() > names.len() { ", ..." } else { "" };
    format!("{}{more}", names.join(", "))
}

/// Clients that do not think and are answered at once would ask again without time passing.
pub(super) fn spinning(
    faults: &[(usize, FaultPlan)],
    arms: &[Option<ArmPlan>],
    problems: &mut Problems,
) {
    let restless = |arm: &ArmPlan| match arm.calls().map(|calls| &calls.load) {
        Some(LoadConfig::Closed(closed)) => closed.think.is_none(),
        _ => false,
    };
    for arm in arms.iter().flatten().filter(|arm| restless(arm)) {
        if arm.backend.service.mean() == Nanos::ZERO {
            let at = format!("/arms/{}", escape(&arm.name));
            let message =
                format!("clients of arm `{}` do not think, and service takes 0s", arm.name);
            let help = "give the backend a service time, or the clients a `think:`";
            problems.push(Problem::at_key(at, message).with_help(help));
        }
        if arm.calls().is_some_and(|calls| calls.controller.refuses_at_once()) {
            let at = format!("/arms/{}", escape(&arm.name));
            let message = format!("clients of arm `{}` do not think when refused", arm.name);
            let help = "they would ask again for ever in no time; give them a `think:`, or write \
                        `on_excess: wait`";
            problems.push(Problem::at_key(at, message).with_help(help));
        }
    }
    for (index, fault) in faults {
        let Action::Http(HttpFault::Reject(reject)) = &fault.action else { continue };
        let at_once = reject.after == Nanos::ZERO && reject.which.calls.is_none();
        if at_once && fault.arms.iter().filter_map(|arm| arms.get(*arm)?.as_ref()).any(restless) {
            let at = format!("/faults/{index}/backend/reject/after");
            let message = "clients that do not think, rejected after 0s, would spin";
            let help = "give the rejection an `after:`, or the clients a `think:`";
            problems.push(Problem::at_value(at, message).with_help(help));
        }
    }
}
