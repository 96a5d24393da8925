//! A number, held against where it must lie.

use super::{Finding, Judge};
use crate::verdict::Class;
use crate::verdict::evaluate::{Observed, Range, Scope, Unknown, evaluate, value};
use crate::verdict::grammar::{
    Bound, Claim, Comparison, Expression, Limit, Measure, What, Writing,
};
use crate::verdict::oracle;
use crate::verdict::units::dimension;
use testbed_core::vitals::Unit;

/// Stands in place of a number, since JSON has none for it.
const INFINITE: &str = "infinite (in an exact FIFO queue it is 0s)";

/// Where a number must lie, as far as that is known in numbers.
pub(super) enum Against {
    Bound(Bound),
    Open(Comparison, Range),
}

impl Judge<'_> {
    pub(super) fn claim(&self, scope: Scope, claim: &Claim) -> Finding {
        let unit = self.unit(scope, &claim.left);
        let measure = claim.left.to_string();
        let against = match self.against(scope, &claim.limit) {
            Ok(against) => against,
            Err(Unknown(why)) => return Finding::nothing(measure, claim.limit.to_string(), why),
        };
        let limit = against.text(None);
        let expected = |writing| format!("expected {}", against.expected(&claim.limit, writing));
        let seen = match self.seen(scope, &claim.left) {
            Ok(seen) => seen,
            Err(Unknown(why)) => {
                let text = format!("{why}, {}", expected(Writing::usual(unit)));
                return Finding { text, ..Finding::nothing(measure, limit, why) };
            }
        };
        let holds = against.holds(seen.range);
        let observed = seen.range.value().filter(|value| value.is_finite());
        let writing = against.writing(unit, observed);
        let shown = seen.remark.clone().or_else(|| observed.map(|value| writing.text(value)));
        let breach = self.breach(scope, claim, &against).filter(|_| !holds);
        Finding {
            class: if holds { Class::Pass } else { Class::Fail },
            measure,
            margin: observed.and_then(|value| against.margin(value)),
            observed,
            remark: seen.remark,
            breach,
            text: format!("{}, {}", shown.unwrap_or_default(), expected(writing)),
            limit,
        }
    }

    /// The unit in which values of `expression` are shown.
    fn unit(&self, scope: Scope, expression: &Expression) -> Unit {
        let unit_of = |arm: Option<&str>, series: &str| {
            let arm = self.evidence.scope(scope, arm.map(str::to_owned).as_ref()).arm;
            oracle::find(series, &self.plan.arms[arm].work).map(|(unit, _)| unit)
        };
        let dimension = dimension(expression, &unit_of).ok().flatten();
        dimension.map_or(Unit::Ratio, |dimension| dimension.unit())
    }

    fn against(&self, scope: Scope, limit: &Limit) -> Result<Against, Unknown> {
        let number = |expression| value(&self.evidence, scope, expression);
        match limit {
            Limit::Compare(comparison, limit) => {
                let range = number(limit)?;
                Ok(match range.value() {
                    Some(limit) => Against::Bound(Bound::Compare(*comparison, limit)),
                    None => Against::Open(*comparison, range),
                })
            }
            Limit::Within { centre, tolerance } => {
                let unknown = || Unknown(format!("`{centre}` or `{tolerance}` is no one number"));
                let [centre, tolerance] = [number(centre)?.value(), number(tolerance)?.value()];
                let (centre, tolerance) = centre.zip(tolerance).ok_or_else(unknown)?;
                Ok(Against::Bound(Bound::Within { centre, tolerance }))
            }
        }
    }

    fn seen(&self, scope: Scope, left: &Expression) -> Result<Seen, Unknown> {
        if let Some(What::Measure(measure)) = left.operand().map(|operand| &operand.what) {
            let arm = left.operand().and_then(|operand| operand.arm.as_ref());
            return self.observed(self.evidence.scope(scope, arm), measure, left);
        }
        let range = value(&self.evidence, scope, left)?;
        let open = || match range.high {
            f64::INFINITY => format!("more than {}", range.low),
            high => format!("from {} to {high}", range.low),
        };
        Ok(Seen { remark: range.value().is_none().then(open), range })
    }

    fn observed(
        &self,
        scope: Scope,
        measure: &Measure,
        left: &Expression,
    ) -> Result<Seen, Unknown> {
        let observed = evaluate(&self.evidence, scope, measure);
        let remark = match observed {
            Observed::NotWithin(seconds) => Some(format!("not within {seconds}s")),
            Observed::Infinite => Some(INFINITE.to_owned()),
            Observed::Value(_) | Observed::Nothing => None,
        };
        let nothing = || Unknown(format!("nothing was recorded for {left}"));
        observed.range().map(|range| Seen { range, remark }).ok_or_else(nothing)
    }
}

/// What was observed.
struct Seen {
    range: Range,
    /// What there is to say of it in place of a number.
    remark: Option<String>,
}

impl Against {
    fn holds(&self, range: Range) -> bool {
        match (self, range.value()) {
            (Self::Bound(bound), Some(value)) => bound.holds(value),
            (Self::Bound(Bound::Compare(comparison, limit)), None) => {
                range.compares(*comparison, Range::exactly(*limit))
            }
            (Self::Bound(Bound::Within { .. }), None) => false,
            (Self::Open(comparison, limit), _) => range.compares(*comparison, *limit),
        }
    }

    /// The bound, if it is known.
    pub(super) const fn bound(&self) -> Option<&Bound> {
        match self {
            Self::Bound(bound) => Some(bound),
            Self::Open(..) => None,
        }
    }

    fn margin(&self, value: f64) -> Option<f64> {
        Some(self.bound()?.margin(value)).filter(|margin| margin.is_finite())
    }

    /// How values of `unit` are written beside what was observed.
    fn writing(&self, unit: Unit, observed: Option<f64>) -> Writing {
        let both = self.bound().zip(observed);
        both.map_or_else(
            || Writing::usual(unit),
            |(bound, value)| Writing::beside(unit, value, bound),
        )
    }

    /// As people read it; behind it the words of `limit`, if it was computed.
    fn expected(&self, limit: &Limit, writing: Writing) -> String {
        let numbers = self.text(Some(writing));
        let computed = limit.expressions().iter().any(|side| side.number().is_none());
        if computed { format!("{numbers} ({limit})") } else { numbers }
    }

    /// In base units, or as people read it.
    fn text(&self, writing: Option<Writing>) -> String {
        match (self, writing) {
            (Self::Bound(bound), None) => bound.to_string(),
            (Self::Bound(bound), Some(writing)) => bound.written(writing),
            (Self::Open(comparison, limit), _) => {
                format!("{comparison} more than {}", limit.low)
            }
        }
    }
}
