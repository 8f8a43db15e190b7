//! Shapes of leaks that have a name: what they are called, and what to do.

use std::sync::OnceLock;

use crate::analysis::type_patterns::TypePattern;

/// A shape that is known.
#[derive(Debug, Default)]
pub(super) struct LeakShape {
    /// Stable, for programs.
    pub(super) name: &'static str,
    element_types: Vec<TypePattern>,
    path_types: Vec<TypePattern>,
    collection_types: Vec<TypePattern>,
    path_reference_names: Vec<&'static str>,
    words: Vec<&'static str>,
    /// Behind the sentence.
    pub(super) clause: &'static str,
    /// The advice.
    pub(super) advice: &'static str,
    /// Address of a page that has the fact: tests want one of each shape.
    source: &'static str,
}

fn known_shapes() -> &'static [LeakShape] {
    static SHAPES: OnceLock<Vec<LeakShape>> = OnceLock::new();
    SHAPES.get_or_init(|| {
        let mut shapes: Vec<LeakShape> = Vec::new();
        for line in include_str!("shapes.txt").lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
            let Some((key, rest)) = line.strip_prefix("  ").map(|line| line.split_once(' ').unwrap_or((line, "")))
            else {
                shapes.push(LeakShape { name: line, ..LeakShape::default() });
                continue;
            };
            let Some(shape) = shapes.last_mut() else { continue };
            let patterns = || -> Vec<TypePattern> {
                let names = rest.split_whitespace().map(|name| match name.contains('*') {
                    true => name.to_string(),
                    false => format!("={name}"),
                });
                names.filter_map(|name| TypePattern::parse(&name).ok()).collect()
            };
            match key {
                "element" => shape.element_types = patterns(),
                "type" => shape.path_types = patterns(),
                "collection" => shape.collection_types = patterns(),
                "reference" => shape.path_reference_names = rest.split_whitespace().collect(),
                "word" => shape.words = rest.split_whitespace().collect(),
                "says" => shape.clause = rest,
                "do" => shape.advice = rest,
                "source" => shape.source = rest,
                other => debug_assert!(false, "shapes.txt: {other}"),
            }
        }
        shapes
    })
}

impl LeakShape {
    /// The shape of a name: of what is known by its state.
    pub(super) fn named(name: &str) -> Option<&'static LeakShape> {
        known_shapes().iter().find(|shape| shape.name == name)
    }
}

/// The first shape that fits: the type of what is kept, that of the collection that has it, types and names of references on the
/// way to it.
pub(super) fn shape_of(
    element: &str,
    collection: &str,
    path_types: &[String],
    path_references: &[String],
) -> Option<&'static LeakShape> {
    known_shapes().iter().find(|shape| {
        let has_word = |name: &String| {
            let name = name.to_ascii_lowercase();
            shape.words.iter().any(|word| name.contains(word))
        };
        let is_one = |patterns: &[TypePattern], name: &str| patterns.iter().any(|pattern| pattern.matches(name));
        (shape.element_types.is_empty() || is_one(&shape.element_types, element))
            && (shape.collection_types.is_empty() || is_one(&shape.collection_types, collection))
            && (shape.path_types.is_empty() || path_types.iter().any(|name| is_one(&shape.path_types, name)))
            && (shape.words.is_empty()
                || has_word(&element.to_string())
                || path_types.iter().chain(path_references).any(has_word))
            && (shape.path_reference_names.is_empty()
                || path_references.iter().any(|name| shape.path_reference_names.contains(&name.as_str())))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lists every shape.
    const DOCUMENT: &str = include_str!("../../../docs/leaks.md");

    #[test]
    fn every_shape_says_something_and_where_that_stands() {
        let mut names = std::collections::HashSet::new();
        for shape in known_shapes() {
            assert!(names.insert(shape.name), "{} twice", shape.name);
            assert!(!shape.clause.is_empty() && !shape.advice.is_empty(), "{}", shape.name);
            assert!(shape.source.starts_with("https://"), "{}", shape.name);
            let asks = [&shape.element_types, &shape.path_types, &shape.collection_types].map(Vec::len);
            let asks = asks.iter().sum::<usize>() + shape.path_reference_names.len();
            assert!(asks > 0, "{} fits everything", shape.name);
            assert!(
                DOCUMENT.contains(&format!("\n| `{}` | ", shape.name)),
                "docs/leaks.md does not have {}",
                shape.name
            );
        }
        assert!(names.len() > 20);
    }

    #[test]
    fn the_first_shape_that_fits_is_taken() {
        let path_types = ["L$Mailer".to_string(), "java.util.concurrent.ThreadPoolExecutor".to_string()];
        let way = |reference: &str| vec!["pool".to_string(), reference.to_string()];
        let name = |element, path_types: &[String], way: Vec<String>| {
            shape_of(element, "java.util.LinkedList", path_types, &way).map(|shape| shape.name)
        };
        assert_eq!(name("L$Mail", &path_types, way("workQueue")), Some("pool-queue"));
        assert_eq!(name("L$Mail", &path_types, way("workers")), None);
        assert_eq!(
            name("org.apache.catalina.session.StandardSession", &path_types, way("workQueue")),
            Some("tomcat-sessions")
        );
        let copied = |element, way: &str| {
            let collection = "java.util.concurrent.CopyOnWriteArrayList";
            shape_of(element, collection, &["L$Hub".into()], &[way.into()]).map(|shape| shape.name)
        };
        assert_eq!(copied("L$Price", "prices"), None);
        assert_eq!(
            (copied("L$PriceListener", "all"), copied("L$Panel", "observers")),
            (Some("cow-listeners"), Some("cow-listeners"))
        );
    }
}
