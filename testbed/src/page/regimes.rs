//! The regimes of a run as spans: what each arm looked like, and from when until when.

use serde::Serialize;

/// Spans that are shown; an arm whose regime changes more often is shown as far as they reach.
const SPANS_MAX: usize = 1000;
/// Of what is well there is nothing to show.
const HEALTHY: &str = "healthy";

/// An arm that was not healthy for a while, in seconds of run time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct RegimeSpan {
    arm: String,
    regime: String,
    from_s: f64,
    /// None while it goes on.
    pub(super) to_s: Option<f64>,
}

/// The regime of `arm` is another from `t` on.
pub(super) fn change(spans: &mut Vec<RegimeSpan>, arm: &str, regime: &str, t: f64) {
    let open = spans.iter_mut().rev().find(|span| span.arm == arm && span.to_s.is_none());
    if let Some(span) = open {
        span.to_s = Some(t);
    }
    if regime != HEALTHY && spans.len() < SPANS_MAX {
        let (arm, regime) = (arm.to_owned(), regime.to_owned());
        spans.push(RegimeSpan { arm, regime, from_s: t, to_s: None });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_lasts_until_the_next_regime_of_its_arm() {
        let mut spans = Vec::new();
        for (arm, regime, t) in [
            ("a", "collapse", 1.0),
            ("b", "stall", 2.0),
            ("a", "stall", 3.0),
            ("a", "healthy", 4.0),
            ("a", "healthy", 5.0),
        ] {
            change(&mut spans, arm, regime, t);
        }
        let shown: Vec<_> = spans.iter().map(|s| (&*s.arm, &*s.regime, s.from_s, s.to_s)).collect();
        assert_eq!(
            shown,
            [
                ("a", "collapse", 1.0, Some(3.0)),
                ("b", "stall", 2.0, None),
                ("a", "stall", 3.0, Some(4.0)),
            ]
        );
    }

    #[test]
    fn however_often_it_changes_the_spans_are_bounded_and_the_last_one_ends() {
        let mut spans = Vec::new();
        for t in 0..3000_u32 {
            let regime = if t % 2 == 0 { "stall" } else { "healthy" };
            change(&mut spans, "a", regime, f64::from(t));
        }
        assert_eq!(spans.len(), SPANS_MAX);
        assert!(spans.iter().all(|span| span.to_s.is_some()));
    }
}
