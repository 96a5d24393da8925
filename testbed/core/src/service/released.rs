//! What a backend hands back of a job.

use super::Harm;
use crate::request::Served;

/// A job that leaves the backend.
#[derive(Debug)]
pub struct Released<J> {
    /// What the caller gave in with it.
    pub job: J,
    /// HTTP status of the answer.
    pub status: u16,
    /// Bytes of its body.
    pub body: u64,
    /// Its age and how late it is.
    pub served: Served,
    /// What a rule does to the answer; it leaves at once and whole, if none.
    pub harm: Option<Box<Harm>>,
}

impl<J> Released<J> {
    /// The job, and all else without it.
    pub fn split(self) -> (J, Released<()>) {
        let Self { job, status, body, served, harm } = self;
        (job, Released { job: (), status, body, served, harm })
    }
}
