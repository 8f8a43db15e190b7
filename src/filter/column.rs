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
pub(crate) enum FilterColumn {
    Type,
    Package,
    Module,
    Section,
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

impl FilterColumn {
    const ALL: [(&'static str, FilterColumn, ValueKind); 19] = [
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
