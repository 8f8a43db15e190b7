//! Sizes of objects and places of their fields: classes, texts of their names, and sizes measured between neighbours.

pub(super) mod classes;
pub(super) mod measured_distances;
pub(super) mod sizes;
pub(crate) mod texts;
