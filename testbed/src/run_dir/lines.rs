//! The files of a run, line by line; of a run that was killed, whatever is there.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

/// A line that is longer is none of ours, and not read as one.
const LONGEST_LINE: u64 = 1 << 20;

/// Hands every line of a file to `each`, which says whether it could be read; how many could not. A
/// file that is not there has none.
///
/// # Errors
/// The first of `each`, or what `unread` makes of the system's answer.
pub(crate) fn lines<E>(
    path: &Path,
    unread: impl Fn(io::Error) -> E,
    mut each: impl FnMut(&str) -> Result<bool, E>,
) -> Result<u64, E> {
    let mut file = match File::open(path) {
        Ok(file) => BufReader::new(file),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(unread(error)),
    };
    let (mut line, mut left_out) = (Vec::new(), 0);
    loop {
        line.clear();
        let taken = (&mut file).take(LONGEST_LINE).read_until(b'\n', &mut line);
        if taken.map_err(&unread)? == 0 {
            return Ok(left_out);
        }
        // A killed run may have left half a line, whose last number would be wrong.
        let text = line.strip_suffix(b"\n").and_then(|line| str::from_utf8(line).ok());
        let read = text.map(&mut each).transpose()?.unwrap_or(false);
        left_out += u64::from(!read);
    }
}
