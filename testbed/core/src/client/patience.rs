//! How long clients wait for an answer.

use crate::request::Arrival;
use crate::time::{Nanos, Time};

/// When clients give up: an attempt that takes too long, or the request with all its attempts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Patience {
    /// From an attempt's admission until it is given up.
    pub timeout: Option<Nanos>,
    /// From a request's first planned arrival until it is given up, whatever it is doing.
    pub deadline: Option<Nanos>,
}

impl Patience {
    /// When an attempt is given up that was admitted at `start`; never, if `None`.
    pub fn until(&self, arrival: &Arrival, start: Time) -> Option<Time> {
        let timeout = self.timeout.map(|timeout| start.after(timeout));
        Time::earliest([timeout, self.end(arrival)])
    }

    /// How long a client still waits whose attempt is admitted at `start`; as long as it takes, if `None`.
    pub fn left(&self, arrival: &Arrival, start: Time) -> Option<Nanos> {
        self.until(arrival, start).map(|until| until.since(start))
    }

    /// Whether it makes no sense any more to send an attempt of this request at `at`.
    pub fn is_over(&self, arrival: &Arrival, at: Time) -> bool {
        self.end(arrival).is_some_and(|end| end <= at)
    }

    fn end(&self, arrival: &Arrival) -> Option<Time> {
        self.deadline.map(|deadline| arrival.first.after(deadline))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attempt_ends_with_its_timeout_or_its_request_whichever_is_first() {
        let ms = |ms| Time::ZERO.after(Nanos::from_millis(ms));
        let length = |ms: Option<u64>| ms.map(Nanos::from_millis);
        let arrival = Arrival { first: ms(100), ..Arrival::new(0, 0, ms(400)) };
        // timeout, deadline, start -> given up at, whether it is over at its start
        for (timeout, deadline, start, until, over) in [
            (None, None, 500, None, false),
            (Some(200), None, 500, Some(700), false),
            (None, Some(1000), 500, Some(1100), false),
            (Some(200), Some(1000), 500, Some(700), false),
            (Some(200), Some(1000), 1000, Some(1100), false),
            (Some(200), Some(1000), 1100, Some(1100), true),
            (Some(200), None, 9000, Some(9200), false),
        ] {
            let patience = Patience { timeout: length(timeout), deadline: length(deadline) };
            assert_eq!(patience.until(&arrival, ms(start)), until.map(ms), "{patience:?} {start}");
            assert_eq!(patience.is_over(&arrival, ms(start)), over, "{patience:?} {start}");
        }
    }
}
