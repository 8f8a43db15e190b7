//! Errors of answers with the command-line options that they are about.

use super::error::MIN_JUDGED;
use super::{AnswerError, GroupBy};

/// The way to get generations into a trace.
const GENERATIONS_HINT: &str =
    "; a .nettrace does when the keyword GCHeapSurvivalAndMovement (0x400000) was asked for as well: 0x1D80001";

const PACKAGES_HINT: &str =
    ": JavaScript has none; --by owner counts by type of the program, --by interval by time in a recording";

impl AnswerError {
    /// The error with the options that it is about, and what to do.
    pub fn advice(&self) -> String {
        match self {
            AnswerError::NotObjects => format!("{self}: use `heapdump breakdown`, or `stats`"),
            AnswerError::NoObjectsToChoose => format!("{self}; leave --where out"),
            AnswerError::NoObjectsToBeginAt(_) => format!("{self}; leave OBJID out"),
            AnswerError::NotAllocations => {
                "the dump holds objects: it has no processes with allocators; --domain chooses a section".into()
            }
            AnswerError::OneMemoryDump(_) | AnswerError::NoSuchMemoryDump(..) => format!("--dump: {self}"),
            AnswerError::NoSuchHeap(there) => {
                format!(
                    "no heap fits --dump, --process and --allocator (capitals matter); there are: {}",
                    there.join("; ")
                )
            }
            AnswerError::NoSuchPath(_) => format!("--below: {self}"),
            AnswerError::NoSuchSection(..) | AnswerError::AmbiguousSection(..) => format!("--domain: {self}"),
            AnswerError::OtherSection(..) => format!("{self}, which --domain asks for"),
            AnswerError::NoSuchObject(_) => format!("{self}; `heapdump list --ids` prints all ids"),
            AnswerError::AmbiguousObject(..) => format!("{self}; write it so, or say --domain"),
            AnswerError::NoSuchGroups(by, _) => {
                let hint = match by {
                    GroupBy::Generation => GENERATIONS_HINT,
                    GroupBy::Package | GroupBy::PackageLevels(_) => PACKAGES_HINT,
                    _ => "",
                };
                format!("--by {}: {self}{hint}", by.name())
            }
            AnswerError::TooMuchWork(what) => format!(
                "--retained=exact: {what}; -n N takes out the first N of an order by another column than retained, \
                 --retained alone gives the lower bound of all"
            ),
            AnswerError::SetTooLarge(_) => format!("{self}; fewer with --type"),
            AnswerError::TooFewDumps(_, MIN_JUDGED) => format!("--grows: {self}"),
            AnswerError::NoTimes => format!("--sort-by-time: {self}"),
            AnswerError::NoPages => format!("--detached: {self}"),
            AnswerError::PathsTooLong => format!("--paths: {self}; leave --paths out"),
            AnswerError::TooManyPairs(_) => format!("{self}; a smaller --depth tells fewer apart"),
            AnswerError::TooManyRows { with_earlier, .. } => {
                let fewer = if *with_earlier { ", or fewer with --dump, --process and --allocator" } else { "" };
                format!("{self}; show less with --depth, --min-percent or -n{fewer}")
            }
            _ => self.to_string(),
        }
    }
}
