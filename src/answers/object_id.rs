//! Object ids as users type them.

use std::fmt;
use std::str::FromStr;

use super::{AnswerError, ScopeOptions};
use crate::graph::{HeapGraph, Lookup, NodeId, SectionId};

/// An object id as it was typed: `7c79f`, `0x0007C79F`, `2#7c79f`. Case, leading zeros and `0x` do not matter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectId {
    text: String,
    /// From 1.
    section: Option<usize>,
    id: u64,
}

/// A text is not an object id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotAnObjectId(pub String);

impl fmt::Display for NotAnObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\" is not an object id (hexadecimal, as the dump writes it)", self.0)
    }
}

impl std::error::Error for NotAnObjectId {}

impl FromStr for ObjectId {
    type Err = NotAnObjectId;

    fn from_str(text: &str) -> Result<Self, NotAnObjectId> {
        let (section, digits) = match text.split_once('#') {
            Some((number, digits)) => (number.parse().ok(), digits),
            None => (None, text),
        };
        let digits = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")).unwrap_or(digits);
        let is_valid = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        let id = is_valid.then(|| u64::from_str_radix(digits, 16).ok()).flatten();
        match id {
            Some(id) if section.is_some() || !text.contains('#') => Ok(ObjectId { text: text.into(), section, id }),
            _ => Err(NotAnObjectId(text.into())),
        }
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl ObjectId {
    /// Finds the object, in the section of the scope if that names one. O(sections).
    ///
    /// # Errors
    /// When there is no such object, or several sections have one.
    pub fn find(&self, graph: &HeapGraph, scope: &ScopeOptions) -> Result<NodeId, AnswerError> {
        let section = match self.section {
            Some(number) if (1..=graph.sections().len()).contains(&number) => Some(SectionId::new(number - 1)),
            Some(_) => return Err(AnswerError::NoSuchSectionOfObject(self.text.clone(), graph.sections().len())),
            None => None,
        };
        let asked = scope.resolve(graph)?.section();
        if let (Some(section), Some(asked)) = (section, asked)
            && section != asked
        {
            return Err(AnswerError::OtherSection(self.text.clone(), asked.number()));
        }
        let section = section.or(asked);
        let shown = graph.id_style().format(self.id);
        match graph.find(section, self.id) {
            Lookup::One(node) => Ok(node),
            Lookup::None => match (section, graph.find(None, self.id)) {
                (Some(section), Lookup::One(node)) => {
                    Err(AnswerError::NoSuchObjectInSection(shown, section.number(), graph.display_id(node)))
                }
                _ => Err(AnswerError::NoSuchObject(shown)),
            },
            Lookup::Several(found) => {
                let ids = found.iter().map(|&(_, node)| graph.display_id(node)).collect();
                Err(AnswerError::AmbiguousObject(shown, ids))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ObjectId;

    #[test]
    fn ids_in_every_form() {
        let parse = |text: &str| text.parse::<ObjectId>().map(|id| (id.section, id.id)).ok();
        assert_eq!(parse("7c79f"), Some((None, 0x7c79f)));
        assert_eq!(parse("0X0007C79F"), Some((None, 0x7c79f)));
        assert_eq!(parse("2#0x10"), Some((Some(2), 16)));
        for wrong in ["", "0x", "x#10", "#10", "10000000000000000", "7c79g", "+1"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
