//! Words that messages share: suggestions for misspelt names, and quotes from the file.

/// Similarity, from 0 to 1, from which a name is worth suggesting.
const SIMILAR: f64 = 0.8;
/// Characters of a text that a message quotes.
const QUOTED: usize = 40;

/// The name most similar to `word`; the first of equals. `None` if none is similar enough.
pub fn closest<'n>(word: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let mut best: Option<(f64, &str)> = None;
    for name in names {
        let similarity = similarity(word, name);
        if similarity >= best.map_or(SIMILAR, |(best, _)| best.next_up()) {
            best = Some((similarity, name));
        }
    }
    best.map(|(_, name)| name)
}

/// Jaro-Winkler, which sees no likeness in short words such as `fr` and `for`; there one slip of
/// the finger is similar enough.
fn similarity(word: &str, name: &str) -> f64 {
    let one_slip = name.chars().count() > 2 && strsim::osa_distance(word, name) == 1;
    strsim::jaro_winkler(word, name).max(if one_slip { SIMILAR } else { 0.0 })
}

/// Words to put behind the misspelt `word`: ` (did you mean 'velox'?)` in backticks, or nothing.
pub fn did_you_mean<'n>(word: &str, names: impl IntoIterator<Item = &'n str>) -> String {
    closest(word, names).map_or_else(String::new, |name| format!(" (did you mean `{name}`?)"))
}

/// The text as a message quotes it: its first line, and of that no more than 40 characters.
pub fn short(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let mut quoted: String = line.chars().take(QUOTED).collect();
    if quoted.len() < text.trim_end().len() {
        quoted.push('…');
    }
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_similar_names_are_suggested() {
        let names = ["fixed", "velox", "gradient", "for", "in"];
        for (word, suggestion) in [
            ("veloxx", Some("velox")),
            ("gradeint", Some("gradient")),
            ("fix", Some("fixed")),
            ("fr", Some("for")),
            ("at", None),
            ("limiter", None),
            ("", None),
        ] {
            assert_eq!(closest(word, names), suggestion, "{word}");
        }
        assert_eq!(did_you_mean("veloxx", names), " (did you mean `velox`?)");
        assert_eq!(did_you_mean("limiter", names), "");
    }

    #[test]
    fn quotes_are_short() {
        for (text, quoted) in [("a b", "a b"), ("two\nlines", "two…"), ("one line\n", "one line")]
        {
            assert_eq!(short(text), quoted);
        }
        assert_eq!(short(&"é".repeat(50)), "é".repeat(40) + "…");
    }
}
