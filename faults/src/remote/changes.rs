//! From the faults that a proxy has to those that it is to have, in single writes.

use crate::control::{ActiveToxic, ProxyFaults, ToxicId};
use crate::engine::{ProxyState, ToxicState};
use crate::toxic::{Stream, Toxic};

/// One write, which Toxiproxy does as a whole.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Change {
    Up,
    Down,
    /// Takes the toxic of this name away.
    Remove(String),
    /// Gives a toxic other attributes and toxicity.
    Update(Toxic),
    /// Adds a toxic behind the others.
    Add(Toxic),
}

/// The writes from `old` to `new`. Down comes first and up last, so that no connection meets faults
/// in between. A toxic that Toxiproxy cannot update, for its kind is another, is made anew; so are
/// those behind it, to keep their order.
pub(super) fn changes(old: &ProxyFaults, new: &ProxyFaults) -> Vec<Change> {
    let kept = kept(old, new);
    let gone = old.toxics().iter().filter(|active| !kept.contains(&active.id));
    let removed = gone.map(|active| Change::Remove(active.toxic.name().into_owned()));
    let written = new.toxics().iter().filter_map(|active| match old.find(active.id) {
        Some(before) if !kept.contains(&active.id) || before == active => {
            (!kept.contains(&active.id)).then(|| Change::Add(active.toxic.clone()))
        }
        Some(_) => Some(Change::Update(active.toxic.clone())),
        None => Some(Change::Add(active.toxic.clone())),
    });
    let (was_up, is_up) = (old.enabled(), new.enabled());
    let down = (was_up && !is_up).then_some(Change::Down);
    let up = (!was_up && is_up).then_some(Change::Up);
    down.into_iter().chain(removed).chain(written).chain(up).collect()
}

/// The toxics that stay where they are: the first of `new`, up to one that is not as it was.
fn kept(old: &ProxyFaults, new: &ProxyFaults) -> Vec<ToxicId> {
    let stays = |active: &&ActiveToxic| {
        old.find(active.id).is_some_and(|before| is_same(&before.toxic, &active.toxic))
    };
    new.toxics().iter().take_while(stays).map(|active| active.id).collect()
}

/// Whether Toxiproxy can make one of the other by an update.
fn is_same(a: &Toxic, b: &Toxic) -> bool {
    a.name() == b.name() && a.stream == b.stream && a.kind.name() == b.kind.name()
}

impl Change {
    /// What a proxy is after this write, if it was `state` before.
    pub(super) fn apply(&self, state: &mut ProxyState) {
        match self {
            Self::Up => state.enabled = true,
            Self::Down => state.enabled = false,
            Self::Remove(name) => state.toxics.retain(|toxic| toxic.name != *name),
            Self::Update(toxic) => update(state, ToxicState::of(toxic)),
            Self::Add(toxic) => add(state, ToxicState::of(toxic)),
        }
    }
}

fn update(state: &mut ProxyState, new: ToxicState) {
    let same = |toxic: &&mut ToxicState| toxic.name == new.name;
    if let Some(toxic) = state.toxics.iter_mut().find(same) {
        *toxic = new;
    }
}

/// Behind those of its stream; those on requests stand first.
fn add(state: &mut ProxyState, new: ToxicState) {
    let is_up = |toxic: &ToxicState| toxic.stream == Stream::Upstream;
    let place = if is_up(&new) {
        state.toxics.iter().filter(|toxic| is_up(toxic)).count()
    } else {
        state.toxics.len()
    };
    state.toxics.insert(place, new);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toxic::{Latency, Noop, Timeout, ToxicKind};
    use proptest::prelude::*;
    use testbed_core::quantity::Share;
    use testbed_core::time::{Nanos, Time};

    fn latency(ms: u64) -> ToxicKind {
        ToxicKind::Latency(Latency { latency: Nanos::from_millis(ms), jitter: Nanos::ZERO })
    }

    fn named(name: &str, kind: ToxicKind) -> Toxic {
        Toxic { name: Some(name.to_owned()), ..Toxic::new(kind) }
    }

    /// `a`, `b` and `c`, each a latency of 1 ms.
    fn three() -> ProxyFaults {
        let mut faults = ProxyFaults::default();
        for name in ["a", "b", "c"] {
            faults.add(Time::ZERO, named(name, latency(1))).unwrap();
        }
        faults
    }

    fn told(new: impl FnOnce(&mut ProxyFaults)) -> Vec<String> {
        let (old, mut faults) = (three(), three());
        new(&mut faults);
        let tell = |change: &Change| match change {
            Change::Up | Change::Down => format!("{change:?}"),
            Change::Remove(name) => format!("-{name}"),
            Change::Update(toxic) => format!("~{}", toxic.name()),
            Change::Add(toxic) => format!("+{}", toxic.name()),
        };
        changes(&old, &faults).iter().map(tell).collect()
    }

    #[test]
    fn only_what_is_different_is_written() {
        let update = |faults: &mut ProxyFaults, name, kind| {
            faults.update(name, Share::ALL, kind).unwrap();
        };
        assert!(told(|_| {}).is_empty());
        assert_eq!(told(|faults| faults.set_enabled(false)), ["Down"]);
        assert_eq!(told(|faults| drop(faults.remove("b"))), ["-b"]);
        assert_eq!(told(|faults| update(faults, "b", latency(2))), ["~b"]);
        // The same again is a wish that toxicity be drawn anew.
        assert_eq!(told(|faults| update(faults, "b", latency(1))), ["~b"]);
        assert_eq!(told(|faults| drop(faults.add(Time::ZERO, named("d", latency(1))))), ["+d"]);
        assert_eq!(told(ProxyFaults::clear), ["-a", "-b", "-c"]);
    }

    #[test]
    fn the_same_name_anew_is_another_toxic() {
        let anew = |faults: &mut ProxyFaults| {
            faults.remove("a").unwrap();
            faults.add(Time::ZERO, named("a", latency(1))).unwrap();
        };
        assert_eq!(told(anew), ["-a", "+a"]);
    }

    #[test]
    fn a_toxic_of_another_kind_is_made_anew_with_those_behind_it() {
        let noop = |faults: &mut ProxyFaults| {
            faults.update("b", Share::ALL, ToxicKind::Noop(Noop {})).unwrap();
        };
        assert_eq!(told(noop), ["-b", "-c", "+b", "+c"]);
    }

    #[test]
    fn down_comes_first_and_up_last() {
        let mut down = three();
        down.set_enabled(false);
        let mut up = down.clone();
        up.reset();
        assert_eq!(changes(&down, &up).last(), Some(&Change::Up));
        assert_eq!(changes(&up, &down).first(), Some(&Change::Down));
    }

    /// One random operation on faults.
    fn operate(faults: &mut ProxyFaults, (operation, name, kind, up): (u8, u8, u8, bool)) {
        let name = format!("t{name}");
        let timeout = Timeout { timeout: Nanos::from_millis(1) };
        let kind = [latency(1), latency(2), ToxicKind::Timeout(timeout)][usize::from(kind)].clone();
        let stream = if up { Stream::Upstream } else { Stream::Downstream };
        // What is refused changes nothing, which is an operation as good as any.
        match operation {
            0 => drop(faults.add(Time::ZERO, Toxic { stream, ..named(&name, kind) })),
            1 => drop(faults.update(&name, Share::ALL, kind)),
            2 => drop(faults.remove(&name)),
            _ => faults.set_enabled(up),
        }
    }

    proptest! {
        #[test]
        fn the_writes_lead_from_any_faults_to_any(
            before in prop::collection::vec((0..4_u8, 0..4_u8, 0..3_u8, any::<bool>()), 0..12),
            after in prop::collection::vec((0..4_u8, 0..4_u8, 0..3_u8, any::<bool>()), 0..12),
        ) {
            let mut old = ProxyFaults::default();
            before.into_iter().for_each(|operation| operate(&mut old, operation));
            let mut new = old.clone();
            after.into_iter().for_each(|operation| operate(&mut new, operation));
            let mut state = ProxyState::of("p", &old);
            changes(&old, &new).iter().for_each(|change| change.apply(&mut state));
            prop_assert_eq!(state, ProxyState::of("p", &new));
        }
    }
}
