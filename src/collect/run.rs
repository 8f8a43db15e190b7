//! From the options to the dump: what the process is, whether it may be asked, and the file.

use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

use chrono::{DateTime, Utc};

use super::detect::detect;
use super::dump_file::DumpFile;
use super::lock::ProcessLock;
use super::process::Process;
use super::refusal::{Refusal, RefusalCode};
use super::request::DumpRequest;
use super::{CollectOptions, CollectSupervisor, Collected, TargetRuntime, dotnet, hotspot, inspector};

/// Takes a dump of a process. What there is of it, and why there is none, is in the answer.
///
/// Time: the runtime's, which stands still meanwhile; memory is constant.
pub fn collect(options: &CollectOptions, observer: &mut dyn CollectSupervisor) -> Collected {
    let started = Instant::now();
    let mut collected = Collected { pid: options.pid, ..Collected::default() };
    collected.refusal = run(options, observer, &mut collected).err();
    if collected.refusal.as_ref().is_some_and(|refusal| refusal.code != RefusalCode::Incomplete) {
        // There is no dump of that name.
        collected.file = None;
    }
    collected.complete = collected.refusal.is_none();
    collected.duration_ms = started.elapsed().as_millis() as u64;
    collected
}

fn run(
    options: &CollectOptions,
    observer: &mut dyn CollectSupervisor,
    collected: &mut Collected,
) -> Result<(), Refusal> {
    let process = options.pid.map(Process::open).transpose()?;
    let process = process.as_ref();
    let runtime = match process {
        Some(process) => {
            process.check_permitted()?;
            if process.state()?.is_stopped() {
                return Err(process.stopped_refusal());
            }
            options.runtime.map_or_else(|| detect(process), Ok)?
        }
        None => options.runtime.unwrap_or(TargetRuntime::Node),
    };
    (collected.runtime, collected.format) = (Some(runtime), Some(runtime.format().0));
    check_options(options, runtime)?;
    if let (TargetRuntime::OpenJ9, Some(pid)) = (runtime, options.pid) {
        let text = format!("process {pid}: heapdump takes no dump from OpenJ9 yet");
        let hint = format!("jcmd {pid} Dump.heap does, and heapdump reads what it writes");
        return Err(Refusal::new(RefusalCode::NotSupportedYet, text).with_hint(hint));
    }
    let path = options.output.clone().unwrap_or_else(|| default_file_name(options.pid, runtime));
    let _lock = process.map(ProcessLock::acquire).transpose()?;
    let file = DumpFile::create(&path, options.replace_existing)?.with_limit(options.max_bytes);
    let name = file.name();
    let request = DumpRequest { options, file, observer };
    let (file, incomplete) = match (runtime, process) {
        (TargetRuntime::Hotspot, Some(process)) => hotspot::dump(process, request, collected),
        (TargetRuntime::Dotnet, Some(process)) => dotnet::dump(process, request, collected),
        (TargetRuntime::Node | TargetRuntime::Chromium, _) => inspector::dump(process, runtime, request, collected),
        _ => Err(Refusal::new(RefusalCode::NoTarget, format!("--url is of inspectors, not of {}", runtime.name()))),
    }?;
    collected.bytes = file.written_bytes;
    match incomplete {
        None => {
            collected.file = Some(name);
            file.finish()
        }
        Some(refusal) if options.whole_only => Err(refusal),
        Some(mut refusal) => {
            let kept = file.keep_incomplete()?;
            collected.file = kept.as_deref().map(|path: &Path| path.display().to_string());
            if let Some(file) = &collected.file {
                refusal.text += &format!("; kept as {file}");
            }
            Err(refusal)
        }
    }
}

fn check_options(options: &CollectOptions, runtime: TargetRuntime) -> Result<(), Refusal> {
    let is_v8 = matches!(runtime, TargetRuntime::Node | TargetRuntime::Chromium);
    let given = [
        ("--all", options.include_unreachable, runtime == TargetRuntime::Hotspot),
        ("--buffer", options.max_buffer_bytes.is_some(), runtime == TargetRuntime::Dotnet),
        ("--no-names", options.no_names, runtime == TargetRuntime::Dotnet),
        ("--open-inspector", options.open_inspector, runtime == TargetRuntime::Node && options.url.is_none()),
        ("--target", options.target.is_some(), is_v8),
    ];
    match given.iter().find(|(_, is_given, is_known)| *is_given && !is_known) {
        Some((option, ..)) => {
            let text = format!("{option} is not for {}", runtime.name());
            Err(Refusal::new(RefusalCode::Usage, text))
        }
        None => Ok(()),
    }
}

/// The name of a dump that is given none: `heap-PID-YYYYMMDD-HHMMSS.EXT`, in UTC.
pub fn default_file_name(pid: Option<u32>, runtime: TargetRuntime) -> PathBuf {
    let (_, extension) = runtime.format();
    let pid = pid.map_or(String::new(), |pid| format!("{pid}-"));
    let now = DateTime::<Utc>::from(SystemTime::now()).format("%Y%m%d-%H%M%S");
    PathBuf::from(format!("heap-{pid}{now}.{extension}"))
}

#[cfg(test)]
mod tests {
    use super::{TargetRuntime, default_file_name};

    #[test]
    fn names_say_process_and_time() {
        let name = default_file_name(Some(4711), TargetRuntime::Hotspot).display().to_string();
        let (before, time) = name.split_at("heap-4711-".len());
        assert_eq!((before, time.len(), &time[8..9], &time[15..]), ("heap-4711-", 21, "-", ".hprof"));
    }
}
