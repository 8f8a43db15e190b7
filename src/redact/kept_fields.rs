//! Fields whose values stay: numbers that say how much there is, and texts that programs write (`keep.txt`).

use rustc_hash::FxHashSet;

use crate::analysis::collections::CollectionRules;
use crate::analysis::type_patterns::TypePattern;

/// The fields that are known without being told, beside the sizes of known collections.
const KNOWN_KEPT_FIELDS: &str = include_str!("keep.txt");
/// The field with the characters of every text: not to be kept, for that would keep all texts.
const FIELD_OF_ALL_TEXTS: &str = "java.lang.String.value";

/// Fields, as `Class.field`, whose values stay.
#[derive(Debug, Clone, Default)]
pub struct KeptFields {
    exact_names: FxHashSet<String>,
    patterns: Vec<TypePattern>,
}

impl KeptFields {
    /// Those of `keep.txt`, and the sizes of the collections of Java and Android.
    pub fn known() -> Self {
        let lines = KNOWN_KEPT_FIELDS.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        let exact = lines.map(String::from).chain(CollectionRules::built_in().size_field_names());
        KeptFields { exact_names: exact.collect(), patterns: Vec::new() }
    }

    /// Adds the fields that a pattern means: a name, a glob or a `/regex/` over `Class.field`.
    ///
    /// # Errors
    /// When the pattern is none, or means the characters of all texts.
    pub fn add_pattern(&mut self, text: &str) -> Result<(), String> {
        let is_plain = !text.contains(['*', '?']) && !text.starts_with(['/', '=']);
        let pattern = TypePattern::parse(&if is_plain { format!("={text}") } else { text.to_string() })?;
        if pattern.matches(FIELD_OF_ALL_TEXTS) {
            return Err(format!(
                "\"{text}\" means the characters of all texts; name the fields that hold those to keep"
            ));
        }
        if is_plain && !text.contains('.') {
            return Err(format!("\"{text}\" is no Class.field"));
        }
        self.patterns.push(pattern);
        Ok(())
    }

    /// Returns true if the values of a field of a class stay.
    pub fn contains(&self, class: &str, field: &str) -> bool {
        if self.exact_names.is_empty() && self.patterns.is_empty() {
            return false;
        }
        let name = format!("{class}.{field}");
        self.exact_names.contains(&name) || self.patterns.iter().any(|pattern| pattern.matches(&name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_kept_and_values_are_not() {
        let known = KeptFields::known();
        for (class, field, is_kept) in [
            ("java.util.HashMap", "size", true),
            ("java.util.Vector", "elementCount", true),
            ("java.lang.Thread", "name", true),
            ("java.lang.String", "coder", true),
            ("java.lang.String", "value", false),
            ("java.lang.String", "hash", false),
            ("java.util.concurrent.atomic.AtomicInteger", "value", false),
            ("app.User", "size", false),
        ] {
            assert_eq!(known.contains(class, field), is_kept, "{class}.{field}");
        }
    }

    #[test]
    fn patterns_are_whole_names_or_globs() {
        let mut keep = KeptFields::default();
        keep.add_pattern("app.Order.state").expect("a name");
        keep.add_pattern("app.Item.*").expect("a glob");
        for (class, field, is_kept) in [
            ("app.Order", "state", true),
            ("app.Order", "stateOfUser", false),
            ("app.Item", "id", true),
            ("java.util.HashMap", "size", false),
        ] {
            assert_eq!(keep.contains(class, field), is_kept, "{class}.{field}");
        }
        for refused in ["java.lang.String.value", "*", "java.lang.*", "size", "/[/"] {
            assert!(keep.add_pattern(refused).is_err(), "{refused}");
        }
    }
}
