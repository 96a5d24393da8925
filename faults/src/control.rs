//! What a proxy does at a moment: its toxics, and whether it is up.

use crate::toxic::{Stream, Toxic, ToxicKind};
use testbed_core::quantity::Share;
use testbed_core::rng::{Rng, Streams};
use testbed_core::time::Time;
use thiserror::Error;

/// Names one toxic for as long as its proxy's faults exist; never used again for another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ToxicId(u64);

/// A toxic on a proxy.
#[derive(Clone, PartialEq, Debug)]
pub struct ActiveToxic {
    /// Which toxic this is, whatever becomes of its attributes.
    pub id: ToxicId,
    /// How often it was changed.
    pub version: u64,
    /// When it was added to the proxy, on the clock of whoever drives its links. What goes by a
    /// schedule counts from here, so that all links agree.
    pub added: Time,
    /// What it is now.
    pub toxic: Toxic,
}

/// Why a change of a proxy's toxics was refused; nothing has changed then.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum FaultError {
    /// There is a toxic of this name, in either direction.
    #[error("toxic `{0}` already exists")]
    Exists(String),
    /// There is no toxic of this name.
    #[error("toxic `{0}` not found")]
    NotFound(String),
}

/// The faults of one proxy. Live and virtual proxies share this type and its rules: names are one
/// of a kind over both directions, and toxics survive while the proxy is down.
#[derive(Clone, PartialEq, Debug)]
pub struct ProxyFaults {
    enabled: bool,
    toxics: Vec<ActiveToxic>,
    next_id: u64,
}

impl Default for ProxyFaults {
    /// Up, without toxics.
    fn default() -> Self {
        Self { enabled: true, toxics: Vec::new(), next_id: 0 }
    }
}

impl ProxyFaults {
    /// Whether the proxy is up. When down it listens no more, its connections are closed, and new
    /// ones are refused.
    pub const fn enabled(&self) -> bool {
        self.enabled
    }

    /// Takes the proxy up or down.
    pub const fn set_enabled(&mut self, enabled: bool) {
        self.enabled = enabled;
    }

    /// All toxics, in order of addition.
    pub fn toxics(&self) -> &[ActiveToxic] {
        &self.toxics
    }

    /// The toxics of one direction, in order of addition.
    pub fn on(&self, stream: Stream) -> impl Iterator<Item = &ActiveToxic> {
        self.toxics.iter().filter(move |active| active.toxic.stream == stream)
    }

    /// The toxic with this id, if it is still there.
    pub fn find(&self, id: ToxicId) -> Option<&ActiveToxic> {
        self.toxics.iter().find(|active| active.id == id)
    }

    /// Adds a toxic behind the others at `now`.
    ///
    /// # Errors
    /// [`FaultError::Exists`] if its name is taken.
    pub fn add(&mut self, now: Time, toxic: Toxic) -> Result<ToxicId, FaultError> {
        let name = toxic.name();
        if self.position(&name).is_some() {
            return Err(FaultError::Exists(name.into_owned()));
        }
        let id = ToxicId(self.next_id);
        self.next_id += 1;
        self.toxics.push(ActiveToxic { id, version: 0, added: now, toxic });
        Ok(id)
    }

    /// Changes what a toxic does. It keeps its name, direction and place; toxicity is drawn again
    /// on every link.
    ///
    /// # Errors
    /// [`FaultError::NotFound`] if there is none of this name.
    pub fn update(
        &mut self,
        name: &str,
        toxicity: Share,
        kind: ToxicKind,
    ) -> Result<(), FaultError> {
        let at = self.existing(name)?;
        let active = &mut self.toxics[at];
        active.version += 1;
        // Fixed first: a default name follows the kind, and this toxic is to keep its own.
        active.toxic.name = Some(name.to_owned());
        active.toxic.toxicity = toxicity;
        active.toxic.kind = kind;
        Ok(())
    }

    /// Takes a toxic away.
    ///
    /// # Errors
    /// [`FaultError::NotFound`] if there is none of this name.
    pub fn remove(&mut self, name: &str) -> Result<Toxic, FaultError> {
        let at = self.existing(name)?;
        Ok(self.toxics.remove(at).toxic)
    }

    /// Makes these the faults of `other`, which may go by another clock: a toxic that is new here
    /// was added at `now`, and one that is here already keeps its time. Whether anything changed.
    pub fn follow(&mut self, now: Time, other: &Self) -> bool {
        let mut new = other.clone();
        for active in &mut new.toxics {
            active.added = self.find(active.id).map_or(now, |own| own.added);
        }
        let changed = *self != new;
        *self = new;
        changed
    }

    /// Takes every toxic away.
    pub fn clear(&mut self) {
        self.toxics.clear();
    }

    /// Heals everything: no toxics, and up.
    pub fn reset(&mut self) {
        self.clear();
        self.set_enabled(true);
    }

    fn existing(&self, name: &str) -> Result<usize, FaultError> {
        self.position(name).ok_or_else(|| FaultError::NotFound(name.to_owned()))
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.toxics.iter().position(|active| active.toxic.name() == name)
    }
}

/// The chance of one link of a proxy. Connections count from 0; live and virtual proxies draw the
/// same numbers.
pub fn link_rng(streams: &Streams, proxy: &str, connection: u64, stream: Stream) -> Rng {
    streams.stream(&format!("faults/{proxy}/{connection}/{}", stream.name()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toxic::{Latency, Noop};

    fn noop(name: &str, stream: Stream) -> Toxic {
        let kind = ToxicKind::Noop(Noop {});
        Toxic { name: Some(name.to_owned()), stream, ..Toxic::new(kind) }
    }

    fn names(faults: &ProxyFaults) -> Vec<String> {
        faults.toxics().iter().map(|active| active.toxic.name().into_owned()).collect()
    }

    #[test]
    fn a_name_is_one_of_a_kind_over_both_directions() {
        let mut faults = ProxyFaults::default();
        faults.add(Time::ZERO, noop("a", Stream::Upstream)).unwrap();
        let again = faults.add(Time::ZERO, noop("a", Stream::Downstream));
        assert_eq!(again, Err(FaultError::Exists("a".into())));
        assert_eq!(names(&faults), ["a"]);
    }

    #[test]
    fn a_toxic_without_a_name_is_called_after_kind_and_stream() {
        let mut faults = ProxyFaults::default();
        faults.add(Time::ZERO, Toxic::new(ToxicKind::Noop(Noop {}))).unwrap();
        assert_eq!(names(&faults), ["noop_downstream"]);
    }

    #[test]
    fn an_update_keeps_name_id_and_place() {
        let mut faults = ProxyFaults::default();
        let id = faults.add(Time::ZERO, Toxic::new(ToxicKind::Noop(Noop {}))).unwrap();
        faults.add(Time::ZERO, noop("second", Stream::Downstream)).unwrap();
        let kind = ToxicKind::Latency(Latency::default());
        faults.update("noop_downstream", Share::ALL, kind.clone()).unwrap();
        assert_eq!(names(&faults), ["noop_downstream", "second"]);
        let active = faults.find(id).unwrap();
        assert_eq!((active.version, &active.toxic.kind), (1, &kind));
    }

    #[test]
    fn what_is_not_there_cannot_be_changed() {
        let mut faults = ProxyFaults::default();
        let missing = || FaultError::NotFound("a".into());
        let update = faults.update("a", Share::ALL, ToxicKind::Noop(Noop {}));
        assert_eq!(update, Err(missing()));
        assert_eq!(faults.remove("a"), Err(missing()));
    }

    #[test]
    fn an_id_is_never_used_again() {
        let mut faults = ProxyFaults::default();
        let first = faults.add(Time::ZERO, noop("a", Stream::Downstream)).unwrap();
        faults.reset();
        assert_ne!(faults.add(Time::ZERO, noop("a", Stream::Downstream)).unwrap(), first);
    }

    #[test]
    fn who_follows_takes_the_times_of_its_own_clock_and_keeps_them() {
        let (mut theirs, mut own) = (ProxyFaults::default(), ProxyFaults::default());
        let added = |faults: &ProxyFaults| -> Vec<u64> {
            faults.toxics().iter().map(|active| active.added.as_nanos()).collect()
        };
        theirs.add(Time::from_nanos(1000), noop("a", Stream::Downstream)).unwrap();
        assert!(own.follow(Time::from_nanos(7), &theirs));
        assert!(!own.follow(Time::from_nanos(8), &theirs));
        theirs.add(Time::from_nanos(1002), noop("b", Stream::Downstream)).unwrap();
        theirs.update("a", Share::ALL, ToxicKind::Noop(Noop {})).unwrap();
        assert!(own.follow(Time::from_nanos(9), &theirs));
        assert_eq!((names(&own), added(&own)), (names(&theirs), vec![7, 9]));
        theirs.remove("a").unwrap();
        theirs.add(Time::from_nanos(1003), noop("a", Stream::Downstream)).unwrap();
        assert!(own.follow(Time::from_nanos(10), &theirs));
        assert_eq!((names(&own), added(&own)), (names(&theirs), vec![9, 10]));
    }

    #[test]
    fn toxics_survive_down_and_a_reset_heals_both() {
        let mut faults = ProxyFaults::default();
        faults.add(Time::ZERO, noop("a", Stream::Downstream)).unwrap();
        faults.set_enabled(false);
        assert_eq!(names(&faults), ["a"]);
        faults.reset();
        assert!(faults.enabled() && faults.toxics().is_empty());
    }
}
