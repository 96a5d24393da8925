//! What cannot work of how requests wait.

use super::{AdmissionFile, Check, ClientConfig, Problem};
use crate::digits::apart;
use testbed_core::control::Invalid;
use testbed_core::queue::{GiveUp, QueueDiscipline};

impl Check<'_> {
    /// Waits that nobody survives, and shares of a window that nobody has.
    pub(super) fn waits(&mut self, admission: &AdmissionFile, client: &ClientConfig) {
        let own = self.arm.admission.is_some();
        let at = if own { format!("{}/admission", self.at) } else { "/admission".to_owned() };
        if let QueueDiscipline::Codel(codel) = admission.queue {
            self.invalid(&format!("{at}/queue/codel"), codel.invalid().into_iter().collect());
        }
        if let Some(give_up) = admission.give_up {
            self.invalid(&format!("{at}/give_up"), give_up.invalid());
        }
        let max_wait = admission.max_wait.map(GiveUp::after);
        let wrong = max_wait.iter().flat_map(GiveUp::invalid);
        let wrong = wrong.map(|invalid| Invalid { field: "max_wait", ..invalid });
        self.invalid(&at, wrong.collect());
        if max_wait.is_some() && admission.give_up.is_some() {
            let message = "a queue has `max_wait` or `give_up`, not both";
            let help = "write the `max_wait` as `after:` of `give_up`";
            self.problems.push(Problem::at_key(format!("{at}/max_wait"), message).with_help(help));
        }
        self.partitions(&at, admission, client);
    }

    fn partitions(&mut self, at: &str, admission: &AdmissionFile, client: &ClientConfig) {
        let at = format!("{at}/partitions");
        let mut lacking =
            admission.partitions.keys().filter(|name| !client.classes.contains_key(*name));
        if let Some(name) = lacking.next().filter(|_| !self.is_unknown("client")) {
            let message = format!("arm `{}` has no class `{name}` to give a share to", self.name);
            let help = format!("write `client: {{ classes: {{ {name}: 1 }} }}`");
            self.problems.push(Problem::at_value(at.clone(), message).with_help(help));
        }
        let sum_percent =
            admission.partitions.values().map(|share| share.get()).sum::<f64>() * 100.0;
        // A billionth for what sums of decimal fractions are off.
        if sum_percent > 100.0 + 1e-7 {
            let [sum, whole] = apart(sum_percent, 100.0);
            let message = format!("the shares come to {sum}%; there are {whole}% of a window");
            let problem = Problem::at_value(at, message).with_help("give some class less");
            self.problems.push(problem);
        }
    }
}
