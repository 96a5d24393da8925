//! `windtunnel init`: a first experiment file, with comments, to be changed.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

/// The file that is written: valid, and its expectations come true.
pub const STARTER: &str = include_str!("../schema/starter.yaml");

/// Writes [`STARTER`] to a new file.
///
/// # Errors
/// If there is something at `path` already, which is left as it is, or it cannot be written.
pub fn init(path: &Path) -> io::Result<()> {
    File::create_new(path)?.write_all(STARTER.as_bytes())
}
