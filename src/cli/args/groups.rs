//! What objects are grouped by, as it is typed.

use clap::ValueEnum;

use crate::answers::GroupBy;

/// What to group by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum By {
    Type,
    Package,
    Domain,
    Module,
    Generation,
}

impl From<By> for GroupBy {
    fn from(by: By) -> Self {
        match by {
            By::Type => GroupBy::Type,
            By::Package => GroupBy::Package,
            By::Domain => GroupBy::Section,
            By::Module => GroupBy::Module,
            By::Generation => GroupBy::Generation,
        }
    }
}
