//! Requests to protocols, and their outcomes.

use super::dump_file::DumpFile;
use super::refusal::{Refusal, RefusalCode};
use super::{CollectOptions, CollectPlan, CollectSupervisor, TargetRuntime};

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

/// Does the runtime have what the options ask for? Error: `usage`, `not-supported-yet`.
pub(super) fn check_options(options: &CollectOptions, runtime: TargetRuntime) -> Result<(), Refusal> {
    let counts_unreachable =
        runtime == TargetRuntime::Hotspot || runtime == TargetRuntime::Node && options.take_histogram;
    let is_v8 = matches!(runtime, TargetRuntime::Node | TargetRuntime::Chromium);
    let given = [
        ("--histogram", options.take_histogram, !matches!(runtime, TargetRuntime::Chromium | TargetRuntime::Go)),
        ("--profile", options.profile_duration.is_some(), is_v8),
        ("--all", options.include_unreachable, counts_unreachable),
        ("--buffer", options.max_buffer_bytes.is_some(), runtime == TargetRuntime::Dotnet),
        ("--no-names", options.omit_method_names, runtime == TargetRuntime::Dotnet),
        ("--open-inspector", options.open_inspector, runtime == TargetRuntime::Node && options.inspector_url.is_none()),
        ("--target", options.inspector_target.is_some(), is_v8),
    ];
    if let (TargetRuntime::OpenJ9, Some(pid)) = (runtime, options.pid) {
        let text = format!("process {pid}: heapdump takes no dump from OpenJ9 yet");
        let command = if options.take_histogram { "GC.class_histogram" } else { "Dump.heap" };
        let hint = format!("jcmd {pid} {command} of its own JDK does, and heapdump reads what it writes");
        return Err(Refusal::new(RefusalCode::NotSupportedYet, text).with_hint(hint));
    }
    match given.iter().find(|(_, is_given, is_known)| *is_given && !is_known) {
        Some((option, ..)) => {
            let text = format!("{option} is not for {}", runtime.name());
            let refusal = Err(Refusal::new(RefusalCode::Usage, text));
            let hint = "take a dump: heapdump stats FILE is its histogram";
            if options.take_histogram { refusal.map_err(|refusal| refusal.with_hint(hint)) } else { refusal }
        }
        None => Ok(()),
    }
}
