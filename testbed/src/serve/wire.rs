//! What server and client tell each other, as JSON.

use crate::experiment::file::Mode;
use crate::verdict::standing::Standing;
use crate::watch::prometheus::{ArmKind, ArmLabel};
use crate::watch::view::Snapshot;
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use testbed_core::time::{Nanos, Time};

/// The body of `POST /api/runs`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Order {
    /// The name of the experiment.
    pub experiment: String,
    /// Overrides the mode of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// Overrides the seed of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Changes to fields of the file, in order, each as `PATH=VALUE`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set: Vec<String>,
}

/// How far a run is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It runs.
    Running,
    /// It went through and was judged.
    Finished,
    /// It was stopped; what it had recorded is kept.
    Interrupted,
    /// Something broke.
    Broken,
}

/// What an arm does, in the words of its metrics.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Requests behind a controller.
    Calls,
    /// Downloads behind a limiter.
    Downloads,
}

/// A run at one moment.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct RunInfo {
    /// Its id, which is the name of its directory.
    pub id: String,
    /// The experiment, as `POST /api/runs` calls it.
    pub experiment: String,
    /// Virtual time or the real thing.
    pub mode: Mode,
    /// The seed of all chance.
    pub seed: u64,
    /// What each arm does, in file order.
    pub arms: IndexMap<String, Kind>,
    /// Run time that it is planned to last, in nanoseconds.
    pub length_ns: u64,
    /// Where it is recorded, on the server.
    pub run_dir: String,
    /// How far it is.
    pub state: State,
    /// Run time of the last message, in nanoseconds.
    pub t_ns: u64,
    /// The phase; empty before the first.
    pub phase: String,
    /// The faults that are on, in the order in which they came.
    pub faults: Vec<String>,
    /// Messages that are too old to be told any more.
    pub forgotten: u64,
    /// Readers of its messages that were too slow and are let go.
    pub readers_dropped: u64,
    /// The verdict, once there is one.
    pub verdict: Option<Value>,
    /// What broke, if something did.
    pub error: Option<String>,
}

/// A message about a run. The first is always [`Message::Run`], the last is [`Message::End`] or
/// [`Message::Dropped`].
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Message {
    /// The run as it is when somebody begins to read.
    Run(Box<RunInfo>),
    /// A phase began.
    Phase {
        /// Run time in nanoseconds.
        t_ns: u64,
        /// Its name.
        phase: String,
    },
    /// A fault was switched.
    Fault {
        /// Run time in nanoseconds.
        t_ns: u64,
        /// Its name.
        fault: String,
        /// On or off.
        on: bool,
    },
    /// The arms, sampled.
    States {
        /// Run time in nanoseconds.
        t_ns: u64,
        /// Each arm by its name.
        arms: Snapshot,
    },
    /// Who waits for a limiter, in each arm the oldest waits first.
    Waiting {
        /// Run time in nanoseconds.
        t_ns: u64,
        /// The oldest waits of each arm, by its name.
        arms: IndexMap<String, Vec<Oldest>>,
    },
    /// The regime of an arm is another than was told.
    Regime {
        /// Run time in nanoseconds.
        t_ns: u64,
        /// The arm's name.
        arm: String,
        /// The regime's name.
        regime: String,
    },
    /// How expectations stand.
    Standing {
        /// Run time in nanoseconds.
        t_ns: u64,
        /// Those that stand otherwise than was told, each with its place in the file, arm by arm.
        expectations: Vec<(usize, Standing)>,
    },
    /// How long requests have waited for admission.
    AdmissionWaits {
        /// Run time in nanoseconds.
        t_ns: u64,
        /// Of each arm with a controller, pairs of a share of all requests so far, 0 to 1, and the seconds that they did
        /// not exceed.
        arms: IndexMap<String, Vec<(f64, f64)>>,
    },
    /// The reader was too slow: what it has not read is forgotten.
    Dropped,
    /// The run is over.
    End(End),
}

/// A wait that goes on.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Oldest {
    /// Who waits, as waits.csv has it.
    pub waiter: String,
    /// Run time since the ask, in nanoseconds.
    pub age_ns: u64,
}

/// How a run ended.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct End {
    /// Any state but running.
    pub state: State,
    /// What `windtunnel run` exits with after such an end.
    pub exit_code: u8,
    /// The verdict, as `verdict.json` has it; none if something broke.
    pub verdict: Option<Value>,
    /// The verdict as text for people; empty if something broke.
    pub text: String,
    /// What broke.
    pub error: Option<String>,
}

impl RunInfo {
    /// The arms, as a view wants them.
    pub fn labels(&self) -> Vec<ArmLabel> {
        let label = |(name, kind): (&String, &Kind)| ArmLabel {
            name: name.clone(),
            kind: match kind {
                Kind::Calls => ArmKind::Calls,
                Kind::Downloads => ArmKind::Downloads,
            },
            // No view shows these.
            has_window: true,
            ceiling: None,
        };
        self.arms.iter().map(label).collect()
    }

    /// Whether nothing more will be told of it.
    pub fn is_over(&self) -> bool {
        self.state != State::Running
    }

    /// How long it is planned to last.
    pub fn length(&self) -> Nanos {
        Nanos::new(self.length_ns)
    }

    /// Takes in what a message says.
    pub fn note(&mut self, message: &Message) {
        match message {
            Message::Run(_) | Message::Dropped => {}
            Message::Phase { t_ns, phase } => {
                self.t_ns = *t_ns;
                self.phase.clone_from(phase);
            }
            Message::Fault { t_ns, fault, on } => {
                self.t_ns = *t_ns;
                self.faults.retain(|other| other != fault);
                if *on {
                    self.faults.push(fault.clone());
                }
            }
            Message::States { t_ns, .. }
            | Message::Waiting { t_ns, .. }
            | Message::Regime { t_ns, .. }
            | Message::Standing { t_ns, .. }
            | Message::AdmissionWaits { t_ns, .. } => self.t_ns = *t_ns,
            Message::End(end) => {
                self.state = end.state;
                self.verdict.clone_from(&end.verdict);
                self.error.clone_from(&end.error);
            }
        }
    }
}

impl From<ArmKind> for Kind {
    fn from(kind: ArmKind) -> Self {
        match kind {
            ArmKind::Calls => Self::Calls,
            ArmKind::Downloads => Self::Downloads,
        }
    }
}

impl Message {
    /// Its name, as the field `event` and the event stream have it.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Run(_) => "run",
            Self::Phase { .. } => "phase",
            Self::Fault { .. } => "fault",
            Self::States { .. } => "states",
            Self::Waiting { .. } => "waiting",
            Self::Regime { .. } => "regime",
            Self::Standing { .. } => "standing",
            Self::AdmissionWaits { .. } => "admission_waits",
            Self::Dropped => "dropped",
            Self::End(_) => "end",
        }
    }

    /// A server-sent event with the message as JSON.
    pub fn frame(&self) -> String {
        let json = serde_json::to_string(self).expect("keys are text and no number is refused");
        format!("event: {}\ndata: {json}\n\n", self.name())
    }
}

/// The instant that a message tells as `t_ns`.
pub fn at(t_ns: u64) -> Time {
    Time::from_nanos(t_ns)
}

#[cfg(test)]
pub(super) fn example() -> RunInfo {
    RunInfo {
        id: "then-calm-01".into(),
        experiment: "calm".into(),
        mode: Mode::Virtual,
        seed: 1,
        arms: IndexMap::from([("a".to_owned(), Kind::Calls)]),
        length_ns: 1_000_000_000,
        run_dir: "runs/then-calm-01".into(),
        state: State::Running,
        t_ns: 0,
        phase: String::new(),
        faults: Vec::new(),
        forgotten: 0,
        readers_dropped: 0,
        verdict: None,
        error: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::standing::Stand;

    #[test]
    fn a_message_is_an_event_with_its_name_in_both_places() {
        let fault = Message::Fault { t_ns: 5, fault: "storm".into(), on: true };
        let text = "event: fault\ndata: {\"event\":\"fault\",\"t_ns\":5,\"fault\":\"storm\",\"on\":true}\n\n";
        assert_eq!(fault.frame(), text);
        let end = End {
            state: State::Broken,
            exit_code: 1,
            verdict: None,
            text: "two\nlines".into(),
            error: Some("no room".into()),
        };
        let phase = Message::Phase { t_ns: 1, phase: "calm".into() };
        let states = Message::States { t_ns: 2, arms: Snapshot::new() };
        let run = Message::Run(Box::new(example()));
        let waiting = Message::Waiting {
            t_ns: 3,
            arms: IndexMap::from([(
                "a".to_owned(),
                vec![Oldest { waiter: "task0/seg0".into(), age_ns: 4 }],
            )]),
        };
        let regime = Message::Regime { t_ns: 4, arm: "a".into(), regime: "stall".into() };
        let standing = Standing {
            id: "low".into(),
            arm: "a".into(),
            phase: None,
            that: "max(controller.window) < 5".into(),
            stand: Stand::Holds,
            text: "2, expected < 5".into(),
        };
        let expectations = vec![(3, standing)];
        let standing = Message::Standing { t_ns: 5, expectations };
        let arms = IndexMap::from([("a".to_owned(), vec![(0.0, 0.0), (1.0, 0.25)])]);
        let waits = Message::AdmissionWaits { t_ns: 6, arms };
        let told = [regime, standing, waits];
        for message in told.into_iter().chain([
            run,
            phase,
            fault,
            states,
            waiting,
            Message::Dropped,
            Message::End(end),
        ]) {
            let frame = message.frame();
            let lines: Vec<_> = frame.lines().collect();
            let [name, data, ""] = lines[..] else { panic!("{frame}") };
            assert_eq!(name, format!("event: {}", message.name()));
            let data: Message = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
            assert_eq!(data, message);
        }
    }

    #[test]
    fn a_run_takes_in_what_is_told_of_it() {
        let mut info = example();
        for (message, t_ns, phase, faults) in [
            (Message::Phase { t_ns: 1, phase: "calm".into() }, 1, "calm", &[][..]),
            (Message::Fault { t_ns: 2, fault: "a".into(), on: true }, 2, "calm", &["a"]),
            (Message::Fault { t_ns: 3, fault: "b".into(), on: true }, 3, "calm", &["a", "b"]),
            (Message::Fault { t_ns: 4, fault: "a".into(), on: false }, 4, "calm", &["b"]),
            (Message::States { t_ns: 5, arms: Snapshot::new() }, 5, "calm", &["b"]),
            (Message::Dropped, 5, "calm", &["b"]),
        ] {
            info.note(&message);
            let seen = (info.t_ns, &*info.phase, &*info.faults);
            assert_eq!(
                seen,
                (t_ns, phase, &*faults.iter().map(|&f| f.to_owned()).collect::<Vec<_>>())
            );
        }
        let (state, verdict) = (State::Finished, Some(Value::from("pass")));
        let text = String::new();
        info.note(&Message::End(End { state, exit_code: 0, verdict, text, error: None }));
        assert_eq!((info.state, info.verdict), (State::Finished, Some("pass".into())));
    }
}
