//! Requests to protocols, and their outcomes.

use super::dump_file::DumpFile;
use super::refusal::{Refusal, RefusalCode};
use super::{CollectOptions, CollectPlan, CollectSupervisor};

/// A request that may be made, with what it needs.
pub(super) struct DumpRequest<'a> {
    pub(super) options: &'a CollectOptions,
    pub(super) file: DumpFile,
    pub(super) supervisor: &'a mut dyn CollectSupervisor,
}

/// The file of a dump, and why it is not whole where it is not.
pub(super) type DumpOutcome = (DumpFile, Option<Refusal>);

impl DumpRequest<'_> {
    /// Says what is going to happen, and asks where that must be. Error: `declined`, or what speaks against it.
    pub(super) fn seek_approval(&mut self, plan: CollectPlan) -> Result<(), Refusal> {
        let may_go_on = self.supervisor.approve(&plan);
        match plan.risk {
            Some(risk) if !self.options.accept_risk => Err(risk),
            _ if may_go_on => Ok(()),
            _ => Err(Refusal::new(RefusalCode::Declined, "no dump was asked of the process")),
        }
    }

    pub(super) fn space_refusal(&self, expected: u64) -> Option<Refusal> {
        self.file.check_space(expected).err()
    }
}
