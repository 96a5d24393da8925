//! Observers see every event and change nothing.

use crate::event::Event;
use crate::time::Time;

/// Something that watches. It is given events in order and has no way to answer, so a run with
/// and without it is the same run.
pub trait Observer {
    /// An event happened at `now`. Instants never decrease.
    fn on_event(&mut self, now: Time, event: &Event<'_>);
}

impl Observer for () {
    fn on_event(&mut self, _: Time, _: &Event<'_>) {}
}

impl<A: Observer> Observer for Option<A> {
    fn on_event(&mut self, now: Time, event: &Event<'_>) {
        if let Some(observer) = self {
            observer.on_event(now, event);
        }
    }
}

impl<A: Observer + ?Sized> Observer for &mut A {
    fn on_event(&mut self, now: Time, event: &Event<'_>) {
        (**self).on_event(now, event);
    }
}

/// Tuples compose: each member sees each event, in order.
macro_rules! compose {
    ($($Member:ident $index:tt),+) => {
        impl<$($Member: Observer),+> Observer for ($($Member,)+) {
            fn on_event(&mut self, now: Time, event: &Event<'_>) {
                $(self.$index.on_event(now, event);)+
            }
        }
    };
}

compose!(A 0, B 1);
compose!(A 0, B 1, C 2);
compose!(A 0, B 1, C 2, D 3);
compose!(A 0, B 1, C 2, D 3, E 4);
