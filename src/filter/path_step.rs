//! Steps of the paths that expressions name: `.sessions["abc-123"].user`.

/// A step of a path.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum PathStep {
    /// To what a field of this name holds: `.name`.
    Field(String),
    /// To the element of a collection whose key is this text: `["a key"]`.
    Key(String),
    /// To the element of this number, or whose key is this number or name: `[12]`, `[OPEN]`.
    Word(String),
}

impl PathStep {
    /// The name of the field, if it is one.
    pub(crate) fn field_name(&self) -> Option<&str> {
        match self {
            PathStep::Field(name) => Some(name),
            _ => None,
        }
    }
}
