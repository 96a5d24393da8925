//! Saying things to whoever may listen: a reader that has gone away is no reason to fail.

use std::io::{self, Write};

/// Writes to standard output.
///
/// # Errors
/// When it cannot be written for another reason than that nobody reads it.
pub fn out(text: &str) -> io::Result<()> {
    unless_deaf(io::stdout().write_all(text.as_bytes()).and_then(|()| io::stdout().flush()))
}

/// Writes a line to standard error. There is nobody to tell if that fails.
pub fn err(text: &str) {
    let line = format!("{}\n", text.trim_end());
    let _ = io::stderr().write_all(line.as_bytes());
}

/// Takes a broken pipe for success.
///
/// # Errors
/// Every other failure.
pub fn unless_deaf(written: io::Result<()>) -> io::Result<()> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}
