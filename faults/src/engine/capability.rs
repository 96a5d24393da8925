//! What a Toxiproxy can do of what a toxic can say.

use super::error::EngineError;
use crate::toxic::{Toxic, ToxicKind};

/// The kinds that Toxiproxy 2.12 knows; what is new here it does not.
const KINDS: [&str; 8] =
    ["latency", "bandwidth", "slow_close", "timeout", "reset_peer", "slicer", "limit_data", "noop"];

/// Refuses a toxic that a Toxiproxy cannot do as it is written: of a kind that it does not know,
/// with an attribute that its API has no number for (a latency has whole milliseconds there), or
/// with a name that its paths cannot hold.
///
/// # Errors
/// [`EngineError::Unable`], with the reason.
pub fn check_toxiproxy(toxic: &Toxic) -> Result<(), EngineError> {
    let name = toxic.name();
    let kind = kind_refusal(toxic.kind.name()).or_else(|| attribute_refusal(&toxic.kind));
    match kind.or_else(|| name_refusal(&name)) {
        Some(reason) => Err(EngineError::Unable { toxic: name.into_owned(), reason }),
        None => Ok(()),
    }
}

fn kind_refusal(kind: &str) -> Option<String> {
    let known = || KINDS.join(", ");
    (!KINDS.contains(&kind)).then(|| format!("Toxiproxy has no `{kind}`, only {}", known()))
}

/// What would come back is what counts; that an attribute cannot be written is only the reason.
fn attribute_refusal(kind: &ToxicKind) -> Option<String> {
    if let Err(error) = kind.check() {
        return Some(error.to_string());
    }
    if ToxicKind::from_api(kind.name(), &kind.to_api()).as_ref() == Ok(kind) {
        return None;
    }
    let unnamed = || "something of it cannot be written".to_owned();
    let why = kind.check_api().err().map_or_else(unnamed, |error| error.to_string());
    Some(format!("{why} in Toxiproxy's API"))
}

/// Toxiproxy's router splits a path after it has decoded it, and takes dots for folders, so such a
/// toxic could be made there, but not changed or removed.
fn name_refusal(name: &str) -> Option<String> {
    let lost = name.is_empty() || name == "." || name == ".." || name.contains('/');
    lost.then(|| "Toxiproxy's paths cannot hold this name".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toxic::{Bandwidth, Latency, LimitData, LinkRate, Slicer};
    use testbed_core::limit::quantity::Bytes;
    use testbed_core::time::Nanos;

    fn refusal(toxic: &Toxic) -> String {
        check_toxiproxy(toxic).map_or_else(|error| error.to_string(), |()| "none".to_owned())
    }

    #[test]
    fn the_eight_kinds_of_toxiproxy_pass_and_another_does_not() {
        for kind in KINDS {
            assert_eq!(kind_refusal(kind), None);
        }
        let refused = kind_refusal("wave").unwrap();
        assert!(refused.starts_with("Toxiproxy has no `wave`, only latency, "), "{refused}");
    }

    #[test]
    fn what_the_api_cannot_write_is_refused_by_its_attribute() {
        let latency =
            |ns| ToxicKind::Latency(Latency { latency: Nanos::new(ns), jitter: Nanos::ZERO });
        let slicer = |ns| ToxicKind::Slicer(Slicer { delay: Nanos::new(ns), ..Slicer::default() });
        let rate = |bytes| ToxicKind::Bandwidth(Bandwidth { rate: LinkRate::new(bytes) });
        let limit = |bytes| ToxicKind::LimitData(LimitData { bytes: Bytes::new(bytes) });
        for (kind, says) in [
            (latency(2_000_000), "none"),
            (latency(2_500_000), "`latency` must be whole milliseconds in Toxiproxy's API"),
            (slicer(2_500_000), "none"),
            (slicer(2_500), "`delay` must be whole microseconds"),
            (rate(1_000), "none"),
            (rate(1_500), "`rate` must be a multiple of 1kB/s"),
            (limit(u64::MAX >> 1), "none"),
            (limit(u64::MAX), "`bytes` must be 2^63 - 1 at most"),
        ] {
            let refused = refusal(&Toxic::new(kind.clone()));
            assert!(refused.contains(says), "{kind:?}: {refused}");
        }
    }

    #[test]
    fn a_name_that_a_path_cannot_hold_is_refused() {
        for (name, fits) in
            [("a b%2F?#é", true), ("...", true), ("a/b", false), (".", false), ("..", false)]
        {
            let kind = ToxicKind::Latency(Latency::default());
            let refused = refusal(&Toxic { name: Some(name.into()), ..Toxic::new(kind) });
            assert_eq!(refused == "none", fits, "{name}: {refused}");
        }
    }
}
