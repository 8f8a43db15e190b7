//! Requests to protocols, and their outcomes.

use super::dump_file::DumpFile;
use super::refusal::{Refusal, RefusalCode};
use super::{CollectObserver, CollectOptions, Plan};

/// A request that may be made, with what it needs.
pub(super) struct Request<'a> {
    pub(super) options: &'a CollectOptions,
    pub(super) file: DumpFile,
    pub(super) observer: &'a mut dyn CollectObserver,
}

/// The file of a dump, and why it is not whole where it is not.
pub(super) type Dumped = (DumpFile, Option<Refusal>);

impl Request<'_> {
    /// Says what is going to happen, and asks where that must be. Error: `declined`, or what speaks against it.
    pub(super) fn announce(&mut self, plan: Plan) -> Result<(), Refusal> {
        let may_go_on = self.observer.approve(&plan);
        match plan.risk {
            Some(risk) if !self.options.accept_risk => Err(risk),
            _ if may_go_on => Ok(()),
            _ => Err(Refusal::new(RefusalCode::Declined, "nothing was asked of the process")),
        }
    }

    pub(super) fn check_space(&self, expected: u64) -> Option<Refusal> {
        self.file.check_space(expected).err()
    }
}
