//! Objects by their numbers in a dominator tree.

/// An object by its number in one dominator tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DominatorNode(pub(super) u32);

impl DominatorNode {
    /// The virtual root above all strong roots: no object.
    pub const ROOT: DominatorNode = DominatorNode(0);

    pub(in crate::analysis) fn new(number: usize) -> Self {
        DominatorNode(number as u32)
    }

    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}
