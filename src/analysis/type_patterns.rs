//! Choice of types: a substring, a whole name, a glob, or a regular expression; and names that were nearly typed.

use crate::graph::{HeapGraph, TypeSet};
use crate::regex::bounded_regex;

/// A pattern over type names.
#[derive(Debug, Clone)]
pub struct TypePattern {
    text: String,
    form: PatternForm,
    ignores_case: bool,
}

#[derive(Debug, Clone)]
enum PatternForm {
    /// The name contains the text.
    Substring,
    /// The name is this.
    Exact(String),
    /// The whole name matches, `*` for any text and `?` for any character.
    Glob(Vec<char>),
    /// The name has a match.
    Regex(Box<regex_lite::Regex>),
}

impl TypePattern {
    /// Reads a pattern: `/regex/` between slashes, a whole name behind `=`, a glob when it has `*` or `?`, else a substring.
    ///
    /// # Errors
    /// When the regular expression is none, in words.
    pub fn parse(text: &str) -> Result<Self, String> {
        let form = match text.strip_prefix('/').and_then(|rest| rest.strip_suffix('/')) {
            None if text.starts_with('=') => PatternForm::Exact(text[1..].to_string()),
            Some(regex) => PatternForm::Regex(Box::new(bounded_regex(regex)?)),
            None if text.contains(['*', '?']) => PatternForm::Glob(text.chars().collect()),
            None => PatternForm::Substring,
        };
        Ok(TypePattern { text: text.to_string(), form, ignores_case: false })
    }

    /// The same, for which capitals may be like small letters.
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    pub fn parse_with_case(text: &str, ignores_case: bool) -> Result<Self, String> {
        if !ignores_case {
            return Self::parse(text);
        }
        let is_regex = text.len() > 1 && text.starts_with('/') && text.ends_with('/');
        let form = match is_regex {
            true => Self::parse(&format!("/(?i){}", &text[1..]))?.form,
            false => Self::parse(&text.to_lowercase())?.form,
        };
        Ok(TypePattern { text: text.to_string(), form, ignores_case: true })
    }

    /// A pattern that of all types of a dump matches those of this name: the name itself where it is part of no other, else
    /// `=` and the name. O(types).
    pub fn for_exact_name(name: &str, graph: &HeapGraph) -> Self {
        let is_only = |pattern: &TypePattern| {
            let mut names = graph.types().ids().map(|type_id| graph.type_name(type_id));
            names.all(|other| pattern.matches(other) == (other == name))
        };
        let plain = Self::parse(name).ok().filter(|pattern| !name.is_empty() && is_only(pattern));
        let exact =
            || TypePattern { text: format!("={name}"), form: PatternForm::Exact(name.into()), ignores_case: false };
        plain.unwrap_or_else(exact)
    }

    /// Returns true if capitals are like small letters.
    pub fn ignores_case(&self) -> bool {
        self.ignores_case
    }

    /// The pattern as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Does a name match?
    pub fn matches(&self, name: &str) -> bool {
        match &self.form {
            PatternForm::Substring if self.ignores_case => name.to_lowercase().contains(&self.text.to_lowercase()),
            PatternForm::Substring => name.contains(&self.text),
            PatternForm::Exact(whole) if self.ignores_case => name.to_lowercase() == *whole,
            PatternForm::Exact(whole) => name == whole,
            PatternForm::Glob(pattern) if self.ignores_case => glob_matches(pattern, &name.to_lowercase()),
            PatternForm::Glob(pattern) => glob_matches(pattern, name),
            PatternForm::Regex(regex) => regex.is_match(name),
        }
    }

    /// The name that was probably meant where a plain pattern matches none. O(names).
    pub fn suggestion<'n>(&self, names: impl Iterator<Item = &'n str> + Clone) -> Option<&'n str> {
        let typed = match &self.form {
            PatternForm::Substring => &self.text,
            PatternForm::Exact(whole) => whole,
            PatternForm::Glob(_) | PatternForm::Regex(_) => return None,
        };
        if names.clone().any(|name| self.matches(name)) { None } else { nearest_name(typed, names) }
    }

    /// Reads `REST` or `PATTERN=REST`, as limits are written.
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    pub fn split_pattern_and_rest(text: &str) -> Result<(Option<Self>, &str), String> {
        match text.rsplit_once('=') {
            Some(("", _)) => Err("a pattern is expected before =".to_string()),
            Some((pattern, rest)) => Ok((Some(Self::parse(pattern)?), rest)),
            None => Ok((None, text)),
        }
    }

    /// The types whose names match any of the patterns. O(types x patterns).
    pub fn types_matching_any(patterns: &[TypePattern], graph: &HeapGraph) -> TypeSet {
        TypeSet::of(graph, |type_id| patterns.iter().any(|pattern| pattern.matches(graph.type_name(type_id))))
    }
}

/// A choice of types: those that match one of some patterns (all, where there is none) and none of others.
#[derive(Debug, Clone, Default)]
pub struct TypeChoice {
    /// One of these is to match, where there are any.
    pub wanted: Vec<TypePattern>,
    /// None of these may match.
    pub unwanted: Vec<TypePattern>,
}

impl From<TypePattern> for TypeChoice {
    fn from(pattern: TypePattern) -> Self {
        TypeChoice { wanted: vec![pattern], unwanted: Vec::new() }
    }
}

impl TypeChoice {
    /// Does a name match?
    pub fn matches(&self, name: &str) -> bool {
        (self.wanted.is_empty() || self.wanted.iter().any(|pattern| pattern.matches(name)))
            && !self.unwanted.iter().any(|pattern| pattern.matches(name))
    }

    /// The types whose names match. O(types x patterns).
    pub fn matching_types(&self, graph: &HeapGraph) -> TypeSet {
        TypeSet::of(graph, |type_id| self.matches(graph.type_name(type_id)))
    }

    /// `; did you mean NAME?` of the first pattern that matches no name but is nearly one; else nothing.
    pub fn did_you_mean<'n>(&self, names: impl Iterator<Item = &'n str> + Clone) -> String {
        did_you_mean(self.wanted.iter().find_map(|pattern| pattern.suggestion(names.clone())))
    }

    /// In words: the pattern as it was written, or `A or B but not C`.
    pub fn text(&self) -> String {
        let listed = |patterns: &[TypePattern]| patterns.iter().map(TypePattern::text).collect::<Vec<_>>().join(" or ");
        match (&self.wanted[..], &self.unwanted[..]) {
            (wanted, []) => listed(wanted),
            ([], unwanted) => format!("all but {}", listed(unwanted)),
            (wanted, unwanted) => format!("{} but not {}", listed(wanted), listed(unwanted)),
        }
    }

    /// Returns true if capitals are like small letters.
    pub fn ignores_case(&self) -> bool {
        self.wanted.iter().chain(&self.unwanted).any(TypePattern::ignores_case)
    }
}

/// `; did you mean NAME?`, for the end of a sentence.
pub fn did_you_mean(meant: Option<&str>) -> String {
    meant.map_or(String::new(), |name| format!("; did you mean {name}?"))
}

/// O(pattern x name): on a mismatch only the last `*` takes one character more.
fn glob_matches(pattern: &[char], name: &str) -> bool {
    let name: Vec<char> = name.chars().collect();
    let (mut p, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(&c) if c == '?' || c == name[n] => {
                p += 1;
                n += 1;
            }
            _ => match &mut star {
                Some((after, taken)) => {
                    *taken += 1;
                    p = *after + 1;
                    n = *taken;
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|&c| c == '*')
}

/// The word among `known`, in small letters, that was probably meant: one of another case, a longer or shorter form, or a typing
/// error away.
pub fn nearest_word<'w>(typed: &str, known: &[&'w str]) -> Option<&'w str> {
    let lower = typed.to_lowercase();
    let is_form = |word: &&&str| lower.len() > 2 && (lower.starts_with(**word) || word.starts_with(&lower));
    let most = (typed.chars().count() / 3).clamp(1, 3);
    nearest_within_edits(typed, known.iter().copied(), most).or_else(|| known.iter().find(is_form).copied())
}

/// The name that was probably meant: one of another case, or a typing error away; of a dotted one also what stands behind a dot or
/// a dollar sign. The first of those that are as near. O(names).
pub fn nearest_name<'n>(typed: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    nearest_within_edits(typed, names, (typed.chars().count() / 3).min(3))
}

fn nearest_within_edits<'n>(typed: &str, names: impl IntoIterator<Item = &'n str>, most: usize) -> Option<&'n str> {
    let typed = Some(typed.to_lowercase()).filter(|typed| !typed.is_empty())?;
    let of_name = |name: &'n str| {
        let lower = name.to_lowercase();
        let ends = lower.match_indices(['.', '$']).map(|(at, sign)| at + sign.len());
        let near = std::iter::once(0).chain(ends).filter_map(|start| edit_distance(&typed, &lower[start..], most));
        Some((near.min()?, name))
    };
    names.into_iter().filter_map(of_name).min_by_key(|(distance, _)| *distance).map(|(_, name)| name)
}

/// Characters to add, take out, replace or exchange with their neighbour, up to `most` of them. O(a x b), for words of nearly one
/// length.
fn edit_distance(a: &str, b: &str, most: usize) -> Option<usize> {
    if a.len().abs_diff(b.len()) > 4 * most {
        return None;
    }
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().abs_diff(b.len()) > most || a.len() > MAX_COMPARED_CHARS {
        return None;
    }
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            rows[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
                let least = replaced.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
                match i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                    true => least.min(rows[i - 2][j - 2] + 1),
                    false => least,
                }
            };
        }
    }
    Some(rows[a.len()][b.len()]).filter(|distance| *distance <= most)
}

/// Names that are longer are not compared.
const MAX_COMPARED_CHARS: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_takes_bounded_memory() {
        for text in ["(a*)*".repeat(6_000), format!("({}){{1000}}", "(a)".repeat(40)), "a?".repeat(100_000)] {
            assert!(TypePattern::parse(&format!("/{text}/")).is_err(), "{}", &text[..20]);
        }
        assert!(TypePattern::parse(r"/^([a-z]+\.){3,20}(Foo|Bar){0,5}[0-9a-f]{36}$/").is_ok());
    }

    #[test]
    fn the_four_kinds_of_pattern() {
        let matches = |pattern: &str, name: &str| TypePattern::parse(pattern).unwrap().matches(name);
        assert!(matches("Int32[", "System.Int32[,]"));
        assert!(!matches("int32", "System.Int32"));
        assert!(matches("System.*[]", "System.Byte[]"));
        assert!(!matches("System.*[]", "System.Byte[].X"));
        assert!(matches("*a?c*", "xxabcabd"));
        assert!(!matches("a?", "a"));
        assert!(matches("/^java\\.util\\..*Entry/", "java.util.Hashtable$Entry[]"));
        assert!(TypePattern::parse("/(/").is_err());
        assert!(matches("/", "a/b"));
        assert!(matches("=L$Mail", "L$Mail") && matches("=a*", "a*"));
        assert!(!matches("=L$Mail", "L$Mailer") && !matches("=L$Mail", "=L$Mail") && !matches("=a*", "ab"));
    }

    /// By the definition, over all names and all choices of up to two patterns on either side.
    #[test]
    fn several_patterns_are_one_choice() {
        let patterns: Vec<TypePattern> = ["a", "*b", "/^c/"].map(|text| TypePattern::parse(text).unwrap()).into();
        for wanted in 0..8usize {
            for unwanted in 0..8usize {
                let of = |set: usize| -> Vec<TypePattern> {
                    (0..3).filter(|at| set & (1 << at) > 0).map(|at| patterns[at].clone()).collect()
                };
                let choice = TypeChoice { wanted: of(wanted), unwanted: of(unwanted) };
                for name in ["", "a", "b", "c", "ab", "ca", "cb", "bc", "x"] {
                    let bits = [name.contains('a'), name.ends_with('b'), name.starts_with('c')];
                    let bits: usize = (0..3).filter(|&at| bits[at]).map(|at| 1 << at).sum();
                    let expected = (wanted == 0 || wanted & bits > 0) && unwanted & bits == 0;
                    assert_eq!(choice.matches(name), expected, "{} of {name}", choice.text());
                }
            }
        }
        let choice = TypeChoice { wanted: patterns[..2].to_vec(), unwanted: patterns[2..].to_vec() };
        assert_eq!(choice.text(), "a or *b but not /^c/");
        assert_eq!(TypeChoice { wanted: Vec::new(), ..choice }.text(), "all but /^c/");
    }

    #[test]
    fn capitals_are_like_small_letters_on_request() {
        let matches = |pattern: &str, name: &str| TypePattern::parse_with_case(pattern, true).unwrap().matches(name);
        assert!(matches("SeSSion", "a session of ÄÖ") && matches("äö", "a session of ÄÖ"));
        assert!(matches("*OF ä?", "a session of ÄÖ") && !matches("A?", "a session"));
        assert!(matches("/^A SES/", "a session") && !matches("/^SES/", "a session"));
        assert!(matches("=A SESSION of äö", "a session of ÄÖ") && !matches("=A SESSION", "a session of ÄÖ"));
        assert!(TypePattern::parse_with_case("/(/", true).is_err());
    }

    #[test]
    fn near_words_are_found() {
        let known = ["retained", "shallow", "type", "references", "root", "root_kind"];
        for (typed, meant) in [
            ("retined", Some("retained")),
            ("Type", Some("type")),
            ("shalow", Some("shallow")),
            ("rteained", Some("retained")),
            ("retained_bytes", Some("retained")),
            ("refs", None),
            ("ref", Some("references")),
            ("elephant", None),
        ] {
            assert_eq!(nearest_word(typed, &known), meant, "{typed}");
        }
    }

    #[test]
    fn near_names_are_found_behind_dots_too() {
        let known = ["app.Big$Session", "app.Bag", "java.lang.String", "java.lang.String[]", "äö.Ü"];
        for (typed, meant) in [
            ("Big$Sesion", Some("app.Big$Session")),
            ("session", Some("app.Big$Session")),
            ("app.Bug", Some("app.Bag")),
            ("Strnig", Some("java.lang.String")),
            ("java.lang.Strng[]", Some("java.lang.String[]")),
            ("ü", Some("äö.Ü")),
            ("Elephant", None),
            ("", None),
        ] {
            assert_eq!(nearest_name(typed, known), meant, "{typed}");
        }
    }
}
