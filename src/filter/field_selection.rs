//! Fields that rows show: `.id,.user.name`.

use super::fields::{FieldValues, read_field_values};
use super::path_step::PathStep;
use super::word_scanner::{MAX_FIELD_PATHS, WordScanner};
use super::{FilterError, FilterProblem};
use crate::dump::OpenDump;

/// Dotted paths of fields, in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldSelection {
    /// Each as it was written, and its steps.
    paths: Vec<(String, Vec<PathStep>)>,
}

impl FieldSelection {
    /// Reads paths with commas between them, each once. O(bytes).
    ///
    /// # Errors
    /// The fault, and where it is.
    pub fn parse(text: &str) -> Result<Self, FilterError> {
        let mut scanner = WordScanner::new(text);
        let mut paths: Vec<(String, Vec<PathStep>)> = Vec::new();
        loop {
            let at = scanner.skip_to_next_word();
            let Some(steps) = scanner.take_path()? else {
                return Err(scanner.error(at, "the path of a field is expected here, as .name or .user.name"));
            };
            let end = scanner.position;
            if paths.iter().all(|(_, known)| *known != steps) {
                if paths.len() == MAX_FIELD_PATHS {
                    return Err(scanner.error(at, format!("at most {MAX_FIELD_PATHS} fields are shown")));
                }
                paths.push((text[at..end].to_string(), steps));
            }
            if !scanner.take_sign(",") {
                break;
            }
        }
        let here = scanner.skip_to_next_word();
        match scanner.is_at_end() {
            true => Ok(FieldSelection { paths }),
            false => Err(scanner.error(here, "a comma or the end is expected here")),
        }
    }

    /// The paths as they were written.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.paths.iter().map(|(text, _)| text.as_str())
    }

    /// The steps of each path.
    pub(crate) fn steps(&self) -> impl Iterator<Item = &[PathStep]> {
        self.paths.iter().map(|(_, steps)| steps.as_slice())
    }

    /// Values of each path, of all objects. One pass over the values of the dump.
    pub(crate) fn read_values(&self, dump: &OpenDump) -> Result<Vec<FieldValues>, FilterProblem> {
        let paths: Vec<Vec<PathStep>> = self.steps().map(<[PathStep]>::to_vec).collect();
        dump.graph().map_or(Ok(Vec::new()), |graph| read_field_values(dump, graph, &paths))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_read() {
        let paths = |text: &str| FieldSelection::parse(text).map(|fields| fields.paths);
        let owned = |text: &str, names: &[&str]| {
            (text.to_string(), names.iter().map(|name| PathStep::Field(name.to_string())).collect())
        };
        assert_eq!(
            paths(" .id, .user.name,.id,.map.\"a, b\" "),
            Ok(vec![
                owned(".id", &["id"]),
                owned(".user.name", &["user", "name"]),
                owned(".map.\"a, b\"", &["map", "a, b"])
            ])
        );
        let steps = ["a", "b"].map(|name| PathStep::Field(name.into()));
        let [key, number, name] =
            [PathStep::Key("x \"]".into()), PathStep::Word("-12".into()), PathStep::Word("OPEN".into())];
        let [a, b] = steps;
        let text = ".a[\"x \"\"]\"][-12].b[OPEN]";
        assert_eq!(paths(text), Ok(vec![(text.into(), vec![a, key, number, b, name])]));
        for (wrong, at) in [
            ("", 0),
            ("id", 0),
            (".a,", 3),
            (".a .b", 3),
            (".a;", 2),
            (".", 1),
            (".a[", 3),
            (".a[]", 3),
            (".a[x y]", 4),
            ("[1]", 0),
        ] {
            assert_eq!(paths(wrong).expect_err(wrong).error_offset, at, "{wrong}");
        }
    }
}
