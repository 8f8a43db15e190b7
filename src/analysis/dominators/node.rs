//! Objects by their numbers in a dominator tree.

/// An object by its number in one dominator tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DomNode(pub(super) u32);

impl DomNode {
    /// The virtual root above all strong roots: no object.
    pub const ROOT: DomNode = DomNode(0);

    pub(in crate::analysis) fn new(number: usize) -> Self {
        DomNode(number as u32)
    }

    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}
