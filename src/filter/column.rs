//! The columns of objects that expressions name.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueKind {
    Text,
    Number,
    /// A number of bytes, of which there are shares too.
    Bytes,
    YesNo,
    Id,
}

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
    const ALL: [(&'static str, Column, ValueKind); 19] = [
        ("type", Column::Type, ValueKind::Text),
        ("package", Column::Package, ValueKind::Text),
        ("module", Column::Module, ValueKind::Text),
        ("domain", Column::Domain, ValueKind::Text),
        ("generation", Column::Generation, ValueKind::Text),
        ("class", Column::Class, ValueKind::Text),
        ("shallow", Column::Shallow, ValueKind::Bytes),
        ("references", Column::References, ValueKind::Number),
        ("id", Column::Id, ValueKind::Id),
        ("reachable", Column::Reachable, ValueKind::YesNo),
        ("root", Column::Root, ValueKind::YesNo),
        ("root_kind", Column::RootKind, ValueKind::Text),
        ("retained", Column::Retained, ValueKind::Bytes),
        ("dominated", Column::Dominated, ValueKind::Number),
        ("depth", Column::Depth, ValueKind::Number),
        ("dominator", Column::Dominator, ValueKind::Id),
        ("dominator_type", Column::DominatorType, ValueKind::Text),
        ("referrers", Column::Referrers, ValueKind::Number),
        ("length", Column::Length, ValueKind::Number),
    ];

    pub(crate) fn names() -> [&'static str; 19] {
        Self::ALL.map(|(name, ..)| name)
    }

    pub(crate) fn of_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, ..)| *known == name).map(|(_, column, _)| *column)
    }

    pub(crate) fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, column, _)| *column == self).map_or("", |(name, ..)| name)
    }

    pub(super) fn kind(self) -> ValueKind {
        Self::ALL.iter().find(|(_, column, _)| *column == self).map_or(ValueKind::Text, |(.., kind)| *kind)
    }
}
