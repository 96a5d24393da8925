//! A proxy's faults as an engine shows them.

use super::error::EngineError;
use crate::control::{ActiveToxic, ProxyFaults};
use crate::toxic::{Stream, Toxic};
use serde_json::Value;
use std::collections::BTreeMap;

/// What an engine says that a proxy does.
#[derive(Clone, PartialEq, Debug)]
pub struct ProxyState {
    /// The proxy's name in its engine.
    pub name: String,
    /// Whether it is up.
    pub enabled: bool,
    /// Its toxics: those on requests first, and within a stream in the order in which data meets
    /// them.
    pub toxics: Vec<ToxicState>,
}

/// What an engine says of one toxic.
#[derive(Clone, PartialEq, Debug)]
pub struct ToxicState {
    /// Its name, one of a kind on its proxy.
    pub name: String,
    /// The name of its kind.
    pub kind: String,
    /// The direction that it acts on.
    pub stream: Stream,
    /// The share of links that it acts on, in the single precision of Toxiproxy's API.
    pub toxicity: f32,
    /// Its attributes in the units of Toxiproxy's API, to the nearest of them.
    pub attributes: BTreeMap<String, Value>,
}

impl ToxicState {
    /// What an engine is to say of this toxic.
    pub fn of(toxic: &Toxic) -> Self {
        Self {
            name: toxic.name().into_owned(),
            kind: toxic.kind.name().to_owned(),
            stream: toxic.stream,
            toxicity: toxic.toxicity.get() as f32,
            attributes: toxic.kind.to_api().into_iter().collect(),
        }
    }
}

impl ProxyState {
    /// What an engine is to say of a proxy of this name with these faults.
    pub fn of(name: &str, faults: &ProxyFaults) -> Self {
        let streams = [Stream::Upstream, Stream::Downstream].into_iter();
        let shown = |active: &ActiveToxic| ToxicState::of(&active.toxic);
        let toxics = streams.flat_map(|stream| faults.on(stream).map(shown)).collect();
        Self { name: name.to_owned(), enabled: faults.enabled(), toxics }
    }

    /// The toxic of this name.
    pub fn toxic(&self, name: &str) -> Option<&ToxicState> {
        self.toxics.iter().find(|toxic| toxic.name == name)
    }

    /// Wants it to be as it was set.
    ///
    /// # Errors
    /// [`EngineError::Differs`], with the first difference.
    pub fn require(&self, set: &Self) -> Result<(), EngineError> {
        match self.difference(set) {
            Some(difference) => Err(EngineError::Differs { proxy: self.name.clone(), difference }),
            None => Ok(()),
        }
    }

    fn difference(&self, set: &Self) -> Option<String> {
        let up = |enabled| if enabled { "up" } else { "down" };
        if self.enabled != set.enabled {
            return Some(format!("it is {}, not {}", up(self.enabled), up(set.enabled)));
        }
        let differing = |wanted: &ToxicState| difference(self.toxic(&wanted.name), wanted);
        let extra = |toxic: &&ToxicState| set.toxic(&toxic.name).is_none();
        let extra = || self.toxics.iter().find(extra).map(|toxic| format!("{toxic:?} is extra"));
        let order = || (self.toxics != set.toxics).then(|| "its toxics have another order".into());
        set.toxics.iter().find_map(differing).or_else(extra).or_else(order)
    }
}

fn difference(found: Option<&ToxicState>, set: &ToxicState) -> Option<String> {
    match found {
        None => Some(format!("toxic `{}` is missing", set.name)),
        Some(found) if found == set => None,
        Some(found) => Some(format!("it has {found:?}, not {set:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toxic::{Latency, Noop, ToxicKind};
    use testbed_core::quantity::Share;
    use testbed_core::time::{Nanos, Time};

    fn faults(change: impl FnOnce(&mut ProxyFaults)) -> ProxyState {
        let mut faults = ProxyFaults::default();
        let latency = Latency { latency: Nanos::from_millis(40), jitter: Nanos::ZERO };
        for stream in [Stream::Downstream, Stream::Upstream] {
            let kind = ToxicKind::Latency(latency.clone());
            faults.add(Time::ZERO, Toxic { stream, ..Toxic::new(kind) }).unwrap();
        }
        change(&mut faults);
        ProxyState::of("p", &faults)
    }

    #[test]
    fn toxics_on_requests_stand_first() {
        let names: Vec<_> = faults(|_| {}).toxics.into_iter().map(|toxic| toxic.name).collect();
        assert_eq!(names, ["latency_upstream", "latency_downstream"]);
    }

    #[test]
    fn every_difference_is_found_and_told() {
        let noop = || Toxic { name: Some("n".into()), ..Toxic::new(ToxicKind::Noop(Noop {})) };
        let update = |faults: &mut ProxyFaults, share, kind| {
            faults.update("latency_upstream", share, kind).unwrap();
        };
        let same = || faults(|_| {});
        let half = Share::new(0.5).unwrap();
        let latency = same().toxics[0].clone();
        let other = Latency { latency: Nanos::from_millis(41), jitter: Nanos::ZERO };
        let kind = || ToxicKind::Latency(Latency { latency: Nanos::from_millis(40), ..other });
        let mut turned = same();
        turned.toxics.reverse();
        for (found, says) in [
            (faults(|faults| faults.set_enabled(false)), "it is down, not up"),
            (faults(|faults| drop(faults.remove("latency_upstream"))), "is missing"),
            (faults(|faults| drop(faults.add(Time::ZERO, noop()))), "is extra"),
            (faults(|faults| update(faults, half, kind())), "toxicity: 0.5"),
            (faults(|f| update(f, Share::ALL, ToxicKind::Latency(other.clone()))), "41"),
            (turned, "another order"),
        ] {
            let error = found.require(&same()).unwrap_err().to_string();
            assert!(error.starts_with("proxy `p` ") && error.contains(says), "{error}");
        }
        assert_eq!(same().toxic("latency_upstream"), Some(&latency));
        assert_eq!(same().require(&same()), Ok(()));
    }
}
