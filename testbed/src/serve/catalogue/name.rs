//! Names of experiments: what of a path may come over the network.

use std::path::Path;

/// Bytes that a name may have.
const LONGEST: usize = 200;
const EXTENSION: &str = ".yaml";

/// The path of a file in the folder of experiments, without its extension. No part of it is empty
/// or begins with a dot, so it leads nowhere else unless by a link.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Name(String);

impl Name {
    /// What was asked for, if it is a name; `.yaml` at its end is no part of it.
    pub(super) fn parse(asked: &str) -> Option<Self> {
        let name = asked.strip_suffix(EXTENSION).unwrap_or(asked);
        let valid = name.len() <= LONGEST && name.split('/').all(is_part);
        valid.then(|| Self(name.to_owned()))
    }

    /// The name of a file, if it can have one.
    pub(super) fn of(root: &Path, file: &Path) -> Option<Self> {
        let below = file.strip_prefix(root).ok()?.to_str()?;
        below.ends_with(EXTENSION).then(|| Self::parse(below))?
    }

    /// The same without the first part, if that is `folder` and something follows it.
    pub(super) fn below(&self, folder: &str) -> Option<Self> {
        let (first, rest) = self.0.split_once('/')?;
        (first == folder).then(|| Self(rest.to_owned()))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// The path of its file in the folder.
    pub(super) fn file(&self) -> String {
        format!("{}{EXTENSION}", self.0)
    }
}

fn is_part(part: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    !part.is_empty() && !part.starts_with('.') && part.bytes().all(allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_relative_path_of_plain_parts() {
        let long = "a".repeat(LONGEST);
        for (asked, name) in [
            ("stall/overload-recovery", Some("stall/overload-recovery")),
            ("stall/overload-recovery.yaml", Some("stall/overload-recovery")),
            ("a.b_c-1", Some("a.b_c-1")),
            (&long, Some(&*long)),
            (&format!("{long}a"), None),
            ("", None),
            (".yaml", None),
            (".hidden", None),
            ("..", None),
            ("../x", None),
            ("x/../y", None),
            ("x/./y", None),
            ("./x", None),
            ("/etc/passwd", None),
            ("x//y", None),
            ("x/", None),
            ("%2e%2e/x", None),
            ("x\\y", None),
            ("C:x", None),
            ("x\0", None),
            ("x\n", None),
            ("näme", None),
            ("x y", None),
        ] {
            assert_eq!(Name::parse(asked).as_ref().map(Name::as_str), name, "{asked:?}");
        }
    }

    #[test]
    fn only_files_of_the_kind_have_a_name() {
        let root = Path::new("/here");
        for (file, name) in [
            ("/here/a/b.yaml", Some("a/b")),
            ("/here/a/b.yml", None),
            ("/here/.a/b.yaml", None),
            ("/else/b.yaml", None),
        ] {
            let found = Name::of(root, Path::new(file));
            assert_eq!(found.as_ref().map(Name::as_str), name, "{file}");
        }
    }
}
