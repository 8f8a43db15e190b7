//! The columns of objects that expressions name.

/// Type of a column's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Number,
    /// A number of bytes, of which there are shares too.
    Bytes,
    YesNo,
    Id,
}

/// A column of objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Column {
    Type,
    Package,
    Module,
    Domain,
    Generation,
    Class,
    Shallow,
    References,
    Id,
    Reachable,
    Root,
    RootKind,
    Retained,
    Dominated,
    Depth,
    Dominator,
    DominatorType,
    Referrers,
    Length,
}

impl Column {
    /// All of them, each with the word for it and its kind.
    const ALL: [(&'static str, Column, Kind); 19] = [
        ("type", Column::Type, Kind::Text),
        ("package", Column::Package, Kind::Text),
        ("module", Column::Module, Kind::Text),
        ("domain", Column::Domain, Kind::Text),
        ("generation", Column::Generation, Kind::Text),
        ("class", Column::Class, Kind::Text),
        ("shallow", Column::Shallow, Kind::Bytes),
        ("references", Column::References, Kind::Number),
        ("id", Column::Id, Kind::Id),
        ("reachable", Column::Reachable, Kind::YesNo),
        ("root", Column::Root, Kind::YesNo),
        ("root_kind", Column::RootKind, Kind::Text),
        ("retained", Column::Retained, Kind::Bytes),
        ("dominated", Column::Dominated, Kind::Number),
        ("depth", Column::Depth, Kind::Number),
        ("dominator", Column::Dominator, Kind::Id),
        ("dominator_type", Column::DominatorType, Kind::Text),
        ("referrers", Column::Referrers, Kind::Number),
        ("length", Column::Length, Kind::Number),
    ];

    /// The words for all of them.
    pub(crate) fn names() -> [&'static str; 19] {
        Self::ALL.map(|(name, ..)| name)
    }

    pub(crate) fn of_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, ..)| *known == name).map(|(_, column, _)| *column)
    }

    pub(crate) fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, column, _)| *column == self).map_or("", |(name, ..)| name)
    }

    pub(super) fn kind(self) -> Kind {
        Self::ALL.iter().find(|(_, column, _)| *column == self).map_or(Kind::Text, |(.., kind)| *kind)
    }
}
