//! Requests to protocols, and their outcomes.

use std::time::Duration;

use super::dump_file::DumpFile;
use super::refusal::{Refusal, RefusalCode};
use super::watch::Watch;
use super::{CollectOptions, CollectProblem, Observer, Plan};

/// A request that may be made, with what it needs.
pub(super) struct Request<'a> {
    pub(super) options: &'a CollectOptions,
    pub(super) file: DumpFile,
    pub(super) observer: &'a mut dyn Observer,
}

/// Outcome of a protocol.
pub(super) struct Outcome {
    pub(super) file: DumpFile,
    pub(super) complete: Result<(), Refusal>,
    pub(super) objects: Option<u64>,
    pub(super) lost_events: u64,
    pub(super) pause: Option<Duration>,
    pub(super) rss_before: u64,
    pub(super) rss_peak: u64,
    pub(super) problems: Vec<CollectProblem>,
}

impl Outcome {
    /// A whole dump of whose process `watch` knows the memory.
    pub(super) fn whole(file: DumpFile, watch: &Watch<'_>) -> Self {
        Outcome {
            file,
            complete: Ok(()),
            objects: None,
            lost_events: 0,
            pause: None,
            rss_before: watch.rss_before,
            rss_peak: watch.rss_peak,
            problems: Vec::new(),
        }
    }
}

impl Request<'_> {
    /// Says what is going to happen, and asks where that must be.
    ///
    /// # Errors
    /// `declined`, or what speaks against it.
    pub(super) fn announce(&mut self, plan: Plan) -> Result<(), Refusal> {
        let may_go_on = self.observer.before(&plan);
        match plan.risk {
            Some(risk) if !self.options.yes => Err(risk),
            _ if may_go_on => Ok(()),
            _ => Err(Refusal::new(RefusalCode::Declined, "nothing was asked of the process")),
        }
    }

    /// Is there room for the dump?
    pub(super) fn check_space(&self, expected: u64) -> Option<Refusal> {
        self.file.check_space(expected).err()
    }
}
