//! Suggestions for misspelled names.

/// The minimum similarity of a suggestion to the given word, from 0 to 1.
const SIMILAR: f64 = 0.5;

/// Returns the name that is most similar to `word`, if any name is similar enough.
pub fn closest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let rated =
        names.into_iter().map(|name| (strsim::normalized_damerau_levenshtein(word, name), name));
    let best = rated.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (best.0 >= SIMILAR).then_some(best.1)
}

/// Adds a suggestion to serde's message about an unknown key or value, which lists the known ones.
pub fn with_suggestion(message: &str) -> String {
    let mut names = message.split('`').skip(1).step_by(2);
    let is_list = message.starts_with("unknown ");
    let found = names.next().filter(|_| is_list).and_then(|word| closest(word, names));
    match found {
        Some(name) => format!("{message}; did you mean `{name}`?"),
        None => message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similar_names_are_suggested() {
        let names = ["web", "web-2", "training"];
        assert_eq!(closest("wbe", names), Some("web"));
        assert_eq!(closest("trainign", names), Some("training"));
        assert_eq!(closest("database", names), None);
        assert_eq!(closest("web", []), None);
        let says = |word| format!("unknown field `{word}`, expected one of `weight`, `max`, `min`");
        assert!(with_suggestion(&says("wieght")).ends_with("`min`; did you mean `weight`?"));
        assert_eq!(with_suggestion(&says("colour")), says("colour"));
        assert_eq!(
            with_suggestion("invalid `wieght`, not `weight`"),
            "invalid `wieght`, not `weight`"
        );
    }
}
