//! How large objects are and where their fields lie: classes, texts of their names, and sizes measured between neighbours.

pub(super) mod classes;
pub(super) mod measure;
pub(super) mod sizes;
pub(super) mod texts;
