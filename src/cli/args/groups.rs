//! What objects are grouped by, as it is typed.

use crate::answers::GroupBy;

/// The groups that every dump of objects may have.
pub(crate) const GROUPS: &[(&str, GroupBy)] = GroupBy::ALL;
