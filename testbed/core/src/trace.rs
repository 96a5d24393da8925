//! Traces: requests that were recorded somewhere, one row each, in the order in which they came.
//!
//! Files are not for this crate. An experiment names one ([`Trace`]); whoever reads the experiment reads it, too,
//! and puts its [`Rows`] in.

use crate::request::Class;
use crate::time::{Nanos, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A trace as an experiment names it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Trace {
    /// A CSV file in the experiment file's folder or below it, by its path from there. Its header has some of the
    /// columns arrival_s, service_s, body_bytes, class and arm.
    #[schemars(example = &"arrivals.csv")]
    pub file: String,
    /// Only the rows that have this in their column `arm`; all rows, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"double")]
    pub arm: Option<String>,
    /// What the file holds, as its SHA-256 in 64 hexadecimal digits. With another content the experiment is refused;
    /// with any, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = "^[0-9a-f]{64}$"),
        example = &"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")]
    pub sha256: Option<String>,
    /// What was read of the file.
    #[serde(skip)]
    pub rows: Arc<Rows>,
    /// The client's class for each of the names in [`Rows::class_names`]; see [`Trace::sort_classes`].
    #[serde(skip)]
    pub classes: Vec<Class>,
}

/// What a trace holds. Each column is either empty or has one cell a row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    /// When each request arrived, since the run's beginning; never before the one above.
    pub arrivals: Vec<Time>,
    services: Vec<Nanos>,
    /// Bytes in the body of each one's answer.
    pub bodies: Vec<u64>,
    /// The class of each, as an index into the names.
    pub classes: Vec<u8>,
    /// The names of the classes, in the order in which they come up.
    pub class_names: Vec<String>,
    mean_service: Nanos,
    median_service: Nanos,
}

impl Trace {
    /// Says which class of a client each of the trace's names is. No name means its first, which is all that a
    /// client without classes has.
    ///
    /// # Errors
    /// The first name that the client does not have.
    pub fn sort_classes<'c>(
        &mut self,
        names: impl Iterator<Item = &'c String> + Clone,
    ) -> Result<(), String> {
        let class = |name: &String| {
            let index = names.clone().position(|other| other == name);
            let unnamed = name.is_empty().then_some(0);
            index.or(unnamed).map(|index| Class(index as u8)).ok_or_else(|| name.clone())
        };
        self.classes = self.rows.class_names.iter().map(class).collect::<Result<_, _>>()?;
        Ok(())
    }

    /// The class of the row at `index`, if the trace and the client have classes.
    pub fn class(&self, index: usize) -> Option<Class> {
        let name = *self.rows.classes.get(index)?;
        self.classes.get(usize::from(name)).copied()
    }

    /// The service time of the n-th request from 0; after the last row they come again from the first.
    pub fn service(&self, n: u64) -> Nanos {
        let services = &self.rows.services;
        let index = n.checked_rem(services.len() as u64).unwrap_or(0);
        services.get(index as usize).copied().unwrap_or(Nanos::ZERO)
    }

    /// Bytes in the body of the answer to the n-th request from 0; after the last row they come again from the first.
    pub fn body(&self, n: u64) -> u64 {
        let bodies = &self.rows.bodies;
        let index = n.checked_rem(bodies.len() as u64).unwrap_or(0);
        bodies.get(index as usize).copied().unwrap_or(0)
    }
}

impl Rows {
    /// These rows with these service times.
    #[must_use]
    pub fn with_services(self, services: Vec<Nanos>) -> Self {
        let sum: u128 = services.iter().map(|service| u128::from(service.get())).sum();
        let mean = sum.checked_div(services.len() as u128).unwrap_or(0);
        let mut sorted = services.clone();
        sorted.sort_unstable();
        let median_service = sorted.get(sorted.len() / 2).copied().unwrap_or(Nanos::ZERO);
        Self { services, mean_service: Nanos::new(mean as u64), median_service, ..self }
    }

    /// How long a server worked on each.
    pub fn services(&self) -> &[Nanos] {
        &self.services
    }

    /// The mean service time; 0 if there are none.
    pub const fn mean_service(&self) -> Nanos {
        self.mean_service
    }

    /// The median service time, of an even number the greater of the two; 0 if there are none.
    pub const fn median_service(&self) -> Nanos {
        self.median_service
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(services_ms: &[u64], classes: &[u8], class_names: &[&str]) -> Trace {
        let rows = Rows {
            classes: classes.to_vec(),
            class_names: class_names.iter().map(|name| (*name).to_owned()).collect(),
            ..Rows::default()
        };
        let services = services_ms.iter().map(|ms| Nanos::from_millis(*ms)).collect();
        let rows = Arc::new(rows.with_services(services));
        Trace { file: "t.csv".into(), arm: None, sha256: None, rows, classes: Vec::new() }
    }

    #[test]
    fn service_times_come_in_order_and_then_again() {
        let recorded = trace(&[5, 1, 3], &[], &[]);
        let drawn: Vec<_> = (0..7).map(|n| recorded.service(n).get() / 1_000_000).collect();
        assert_eq!(drawn, [5, 1, 3, 5, 1, 3, 5]);
        assert_eq!(trace(&[], &[], &[]).service(3), Nanos::ZERO);
    }

    #[test]
    fn mean_and_median_are_those_of_the_rows() {
        for (services, mean, median) in [(&[][..], 0, 0), (&[4], 4, 4), (&[9, 1, 2], 4, 2)] {
            let rows = trace(services, &[], &[]).rows;
            let ms =
                [rows.mean_service(), rows.median_service()].map(|time| time.get() / 1_000_000);
            assert_eq!(ms, [mean, median], "{services:?}");
        }
    }

    #[test]
    fn a_class_is_found_by_its_name_wherever_the_client_has_it() {
        let mut recorded = trace(&[], &[0, 1, 0], &["gold", "tin"]);
        assert_eq!(recorded.class(1), None, "nobody has said which class is which");
        let client = ["tin".to_owned(), "gold".to_owned()];
        assert_eq!(recorded.sort_classes(client.iter()), Ok(()));
        let classes: Vec<_> = (0..4).map(|row| recorded.class(row)).collect();
        assert_eq!(classes, [Some(Class(1)), Some(Class(0)), Some(Class(1)), None]);
        assert_eq!(recorded.sort_classes(client[..1].iter()), Err("gold".to_owned()));
    }
}
