//! Object ids as users type them.

use std::fmt;
use std::str::FromStr;

use super::{AnswerError, ScopeOptions};
use crate::graph::{HeapGraph, IdStyle, Lookup, NodeId, SectionId};

/// An object id as it was typed: `7c79f`, `0x0007C79F`, `2#7c79f`. Case, leading zeros and `0x` do not matter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectId {
    text: String,
    /// From 1.
    section: Option<usize>,
    /// Without the section.
    digits: String,
}

/// A text is not an object id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is not an object id (as the dump writes it: hexadecimal, of a V8 snapshot @ and decimal)")]
pub struct NotAnObjectId(pub String);

impl FromStr for ObjectId {
    type Err = NotAnObjectId;

    fn from_str(text: &str) -> Result<Self, NotAnObjectId> {
        let (section, digits) = match text.split_once('#') {
            Some((number, digits)) => (number.parse().ok(), digits),
            None => (None, text),
        };
        // Which of both it is shows with the dump: `1234` may be either.
        let is_id = [IdStyle::Prefixed, IdStyle::Decimal].iter().any(|style| style.parse(digits).is_some());
        if is_id && (section.is_some() || !text.contains('#')) {
            Ok(ObjectId { text: text.into(), section, digits: digits.into() })
        } else {
            Err(NotAnObjectId(text.into()))
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
    /// If there is no such object, or several sections have one.
    pub fn find(&self, graph: &HeapGraph, scope: &ScopeOptions) -> Result<NodeId, AnswerError> {
        let section = match self.section {
            Some(number) if (1..=graph.sections().len()).contains(&number) => Some(SectionId::new(number - 1)),
            Some(_) => return Err(AnswerError::NoSuchSectionOfObject(self.text.clone(), graph.sections().len())),
            None => None,
        };
        let asked = scope.section(graph)?;
        if let (Some(section), Some(asked)) = (section, asked)
            && section != asked
        {
            return Err(AnswerError::OtherSection(self.text.clone(), asked.number()));
        }
        let section = section.or(asked);
        let Some(id) = graph.id_style().parse(&self.digits) else {
            return Err(AnswerError::NoSuchObject(self.text.clone()));
        };
        let shown = graph.id_style().format(id);
        match graph.find(section, id) {
            Lookup::One(node) => Ok(node),
            Lookup::None => match (section, graph.find(None, id)) {
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
    use super::{IdStyle, ObjectId};

    #[test]
    fn ids_in_every_form() {
        let parse =
            |text: &str| text.parse::<ObjectId>().map(|id| (id.section, IdStyle::Prefixed.parse(&id.digits))).ok();
        assert_eq!(parse("7c79f"), Some((None, Some(0x7c79f))));
        assert_eq!(parse("0X0007C79F"), Some((None, Some(0x7c79f))));
        let typed = |text: &str| text.parse::<ObjectId>().ok().and_then(|id| IdStyle::Decimal.parse(&id.digits));
        assert_eq!((typed("@1234"), typed("01234"), typed("7c79f")), (Some(1234), Some(1234), None));
        assert_eq!(parse("@1234"), Some((None, None)));
        assert_eq!(parse("2#0x10"), Some((Some(2), Some(16))));
        for wrong in ["", "0x", "x#10", "#10", "100000000000000000000", "7c79g", "+1", "@", "@7c", "@0x10"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
