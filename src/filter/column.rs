//! The columns of objects that expressions name.

/// What the values of a column are, and so what they can be compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueKind {
    Text,
    Number,
    /// A number of bytes, of which there are shares too.
    Bytes,
    YesNo,
    Id,
}

/// A column, that is what an expression can ask of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FilterColumn {
    Type,
    Package,
    Module,
    Section,
    Generation,
    /// The class that a class object stands for.
    Class,
    Shallow,
    References,
    Id,
    Reachable,
    /// A root record that holds strongly names it.
    Root,
    RootKind,
    Retained,
    /// Objects that it dominates, itself among them.
    Dominated,
    /// Levels below the roots of the dominator tree.
    Depth,
    Dominator,
    DominatorType,
    Referrers,
    /// Elements of an array, or UTF-16 units of a text.
    Length,
}

impl FilterColumn {
    /// All columns, each with the word for it and what its values are.
    const NAMES_AND_KINDS: [(&'static str, FilterColumn, ValueKind); 19] = [
        ("type", FilterColumn::Type, ValueKind::Text),
        ("package", FilterColumn::Package, ValueKind::Text),
        ("module", FilterColumn::Module, ValueKind::Text),
        ("domain", FilterColumn::Section, ValueKind::Text),
        ("generation", FilterColumn::Generation, ValueKind::Text),
        ("class", FilterColumn::Class, ValueKind::Text),
        ("shallow", FilterColumn::Shallow, ValueKind::Bytes),
        ("references", FilterColumn::References, ValueKind::Number),
        ("id", FilterColumn::Id, ValueKind::Id),
        ("reachable", FilterColumn::Reachable, ValueKind::YesNo),
        ("root", FilterColumn::Root, ValueKind::YesNo),
        ("root_kind", FilterColumn::RootKind, ValueKind::Text),
        ("retained", FilterColumn::Retained, ValueKind::Bytes),
        ("dominated", FilterColumn::Dominated, ValueKind::Number),
        ("depth", FilterColumn::Depth, ValueKind::Number),
        ("dominator", FilterColumn::Dominator, ValueKind::Id),
        ("dominator_type", FilterColumn::DominatorType, ValueKind::Text),
        ("referrers", FilterColumn::Referrers, ValueKind::Number),
        ("length", FilterColumn::Length, ValueKind::Number),
    ];

    pub(crate) fn names() -> [&'static str; 19] {
        Self::NAMES_AND_KINDS.map(|(name, ..)| name)
    }

    pub(crate) fn of_name(name: &str) -> Option<Self> {
        Self::NAMES_AND_KINDS.iter().find(|(known, ..)| *known == name).map(|(_, column, _)| *column)
    }

    pub(crate) fn name(self) -> &'static str {
        Self::NAMES_AND_KINDS.iter().find(|(_, column, _)| *column == self).map_or("", |(name, ..)| name)
    }

    pub(super) fn value_kind(self) -> ValueKind {
        Self::NAMES_AND_KINDS.iter().find(|(_, column, _)| *column == self).map_or(ValueKind::Text, |(.., kind)| *kind)
    }
}
