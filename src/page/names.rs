//! Names of a dump as the page shows them: made harmless, cut where they are very long, and told apart by meaning.

use std::collections::HashMap;

use crate::answers::type_words;
use crate::escape::escape_controls;
use crate::names::fit_name;

const MAX_NAME_CHARACTERS: usize = 400;

/// Controls, marks of direction and characters without width as `\u{..}`; a very long name is cut in its middle.
pub(super) fn escaped_name(name: &str) -> String {
    let harmless = escape_controls(name);
    let length = harmless.chars().count();
    if length <= MAX_NAME_CHARACTERS {
        return harmless.into_owned();
    }
    let half = MAX_NAME_CHARACTERS / 2;
    let first: String = harmless.chars().take(half).collect();
    let last: String = harmless.chars().skip(length - half).collect();
    format!("{first} …({} more)… {last}", length - 2 * half)
}

/// Every name once; rows have its number.
#[derive(Debug, Default)]
pub(super) struct NameTable {
    numbers: HashMap<String, u32>,
    names: Vec<String>,
}

impl NameTable {
    /// The number of a name, as it is shown; a new name gets the next one.
    pub(super) fn intern(&mut self, name: &str) -> u32 {
        let name = escaped_name(name);
        let next = self.names.len() as u32;
        *self.numbers.entry(name).or_insert_with_key(|name| {
            self.names.push(name.clone());
            next
        })
    }

    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    pub(super) fn into_names(self) -> Vec<String> {
        self.names
    }
}

/// Where the simple name of a type ends.
const CLASS_NAME_ENDS: [char; 4] = ['[', '<', '`', '('];

/// A type's name in parts: the namespace, which is dimmed, and the class, with words for what is of a runtime's inside.
/// Assemblies are left out, namespaces inside of generic arguments too.
pub(super) fn namespace_and_class(name: &str) -> (String, String) {
    let name = without_assemblies(&type_words(name));
    let end = name.find(CLASS_NAME_ENDS).unwrap_or(name.len());
    // Behind a blank stands what an object says of itself.
    let (kind, rest) = name[..end].find(' ').map_or((name.as_str(), ""), |at| name.split_at(at));
    let class = fit_name(kind, 0);
    let simple = class.split(CLASS_NAME_ENDS).next().unwrap_or_default();
    let namespace = kind[..end.min(kind.len())].strip_suffix(simple).unwrap_or_default();
    (namespace.to_string(), format!("{class}{rest}"))
}

/// The bytes of the namespace where that is all before the last dot.
pub(super) fn plain_namespace_bytes(name: &str) -> usize {
    let end = name.find(CLASS_NAME_ENDS).unwrap_or(name.len());
    name[..end].rfind('.').map_or(0, |at| at + 1)
}

/// `, mscorlib, Version=4.0.0.0, Culture=neutral, PublicKeyToken=b77a5c561934e089` goes.
fn without_assemblies(name: &str) -> String {
    let mut kept = String::new();
    let mut rest = name;
    while let Some(at) = rest.find(", ") {
        let (before, after) = rest.split_at(at);
        kept.push_str(before);
        let end = after[2..].find(['[', ']']).map_or(after.len(), |end| end + 2);
        let assembly = &after[..end];
        if !assembly.contains("Version=") && !assembly.contains("PublicKeyToken=") {
            kept.push_str(", ");
            rest = &after[2..];
            continue;
        }
        rest = &after[end..];
    }
    kept + rest
}

/// Whose a type is, or that it is plain data: by this the map colours boxes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TypeCategory {
    /// A type of the application.
    Application,
    /// A type of the runtime or a library.
    Library,
    /// Texts and arrays of numbers.
    PlainData,
}

/// Names of types whose objects are texts or arrays of numbers, in the languages of the formats, with bars between them.
const PLAIN_DATA_TYPES: &str = "System.String|System.Byte|System.SByte|System.Char|System.Boolean|System.Int16|System.UInt16|System.Int32|\
     System.UInt32|System.Int64|System.UInt64|System.Single|System.Double|System.Decimal|java.lang.String|byte|\
     char|short|int|long|float|double|boolean|String|Byte|Char|(string)|(concatenated string)|(sliced string)|\
     (number)|primitive array|string|object[]|system / ArrayBufferContents";

impl TypeCategory {
    /// Of a type's name; whether it is a library's is the libraries' to say.
    pub(super) fn of(name: &str, is_library: bool) -> Self {
        let element = name.trim_end_matches(['[', ']', ',', '*']);
        match PLAIN_DATA_TYPES.split('|').any(|plain| plain == element) {
            true => TypeCategory::PlainData,
            false if is_library => TypeCategory::Library,
            false => TypeCategory::Application,
        }
    }

    /// The letter in the page's data.
    pub(super) fn letter(self) -> char {
        match self {
            TypeCategory::Application => 'a',
            TypeCategory::Library => 'l',
            TypeCategory::PlainData => 'd',
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn namespaces_are_told_from_classes() {
        let split = |name: &str| namespace_and_class(name);
        assert_eq!(split("a.b.C"), ("a.b.".into(), "C".into()));
        assert_eq!(split("C"), (String::new(), "C".into()));
        assert_eq!(split("a.List<b.c.D, e.F>[]"), ("a.".into(), "List<D, F>[]".into()));
        let full = "a.List`1[[b.C, core, Version=4.0.0.0, Culture=neutral, PublicKeyToken=b77a]]";
        assert_eq!(split(full), ("a.".into(), "List`1[[C]]".into()));
        assert_eq!(split("a.D<x, y>"), ("a.".into(), "D<x, y>".into()));
        assert_eq!(split("class zoo.Zoo"), (String::new(), "class zoo.Zoo".into()));
        assert_eq!(split("java.lang.String \"a.B\""), ("java.lang.".into(), "String \"a.B\"".into()));
    }

    #[test]
    fn names_are_harmless_and_not_endless() {
        assert_eq!(escaped_name("a\u{202e}b\u{1b}"), "a\\u{202e}b\\u{1b}");
        let long = escaped_name(&"x".repeat(1000));
        assert!(long.contains("…(600 more)…") && long.chars().count() < 430, "{long}");
    }

    #[test]
    fn plain_values_are_told_from_types() {
        assert_eq!(TypeCategory::of("System.Byte[]", true), TypeCategory::PlainData);
        assert_eq!(TypeCategory::of("java.util.HashMap", true), TypeCategory::Library);
        assert_eq!(TypeCategory::of("app.Cache", false), TypeCategory::Application);
    }
}
