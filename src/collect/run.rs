//! From the options to the dump: what the process is, whether it may be asked, and the file.

use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

use chrono::{DateTime, Utc};

use super::detect::detect_runtime;
use super::dump_file::DumpFile;
use super::inspector::InspectorSession;
use super::process::Process;
use super::process_lock::ProcessLock;
use super::refusal::{Refusal, RefusalCode};
use super::request::{DumpRequest, check_options};
use super::{CollectOptions, CollectSupervisor, Collected, TargetRuntime, dotnet, hotspot, inspector, pprof};

/// In names of files of a series, of which two may be of one second.
const SERIES_TIME_FORM: &str = "%Y%m%d-%H%M%S%.3f";

/// Takes a dump of a process. What there is of it, and why there is none, is in the answer.
///
/// Time: the runtime's, which stands still meanwhile; memory is constant.
pub fn collect(options: &CollectOptions, observer: &mut dyn CollectSupervisor) -> Collected {
    let process = options.pid.map(Process::open).transpose();
    match process {
        Ok(process) => collect_from_process(process.as_ref(), options, None, observer),
        Err(refusal) => collect_with(options, |_| Err(refusal)),
    }
}

/// The same of a process that is known; none with an address. An inspector's session is left open where there is a place for
/// it, and used where one is open.
pub(super) fn collect_from_process(
    process: Option<&Process>,
    options: &CollectOptions,
    session: Option<&mut Option<InspectorSession>>,
    observer: &mut dyn CollectSupervisor,
) -> Collected {
    collect_with(options, |collected| run_collection(process, options, session, observer, collected))
}

/// The answer around a run: its times, and the refusal where it fails.
fn collect_with(options: &CollectOptions, run: impl FnOnce(&mut Collected) -> Result<(), Refusal>) -> Collected {
    let started = Instant::now();
    let now = DateTime::<Utc>::from(SystemTime::now());
    let taken_at = now.format("%Y-%m-%dT%H:%M:%S%.3fZ").to_string();
    let mut collected = Collected { pid: options.pid, taken_at, ..Collected::default() };
    collected.refusal = run(&mut collected).err();
    if collected.refusal.as_ref().is_some_and(|refusal| refusal.code != RefusalCode::Incomplete) {
        // There is no dump of that name.
        (collected.file, collected.path) = (None, None);
    }
    collected.complete = collected.refusal.is_none();
    collected.duration_ms = started.elapsed().as_millis() as u64;
    collected
}

fn run_collection(
    process: Option<&Process>,
    options: &CollectOptions,
    mut session: Option<&mut Option<InspectorSession>>,
    observer: &mut dyn CollectSupervisor,
    collected: &mut Collected,
) -> Result<(), Refusal> {
    let runtime = find_runtime(process, options)?;
    (collected.runtime, collected.format) = (Some(runtime), Some(options.format_and_extension(runtime).0));
    check_options(options, runtime)?;
    let path = match (&options.output_folder, &options.output) {
        (Some(folder), _) => folder.join(file_name_with_time(options, runtime, SERIES_TIME_FORM)),
        (None, Some(output)) => output.clone(),
        (None, None) if options.take_histogram => PathBuf::from("-"),
        (None, None) => default_file_name(options, runtime),
    };
    // An open session has it: the end of another one would make V8 forget the ids of objects.
    let is_locked = matches!(session, Some(Some(_)));
    let lock = process.filter(|_| !is_locked).map(ProcessLock::acquire).transpose()?;
    let file = DumpFile::create(&path, options.replace_existing)?.with_limit(options.max_dump_bytes);
    let name = file.display_name();
    let request = DumpRequest { options, file, supervisor: observer };
    let (file, incomplete) = match (runtime, process) {
        (TargetRuntime::Hotspot, Some(process)) => hotspot::dump(process, request, collected),
        (TargetRuntime::Dotnet, Some(process)) if options.take_histogram => {
            dotnet::take_histogram(process, request, collected)
        }
        (TargetRuntime::Dotnet, Some(process)) => dotnet::dump(process, request, collected),
        (TargetRuntime::Node | TargetRuntime::Chromium, _) => {
            inspector::dump(process, runtime, request, session.as_deref_mut(), collected)
        }
        (TargetRuntime::Go, None) => pprof::dump(request),
        (TargetRuntime::Go, Some(_)) => Err(go_process_refusal()),
        _ => Err(Refusal::new(RefusalCode::NoTarget, format!("--url is of inspectors, not of {}", runtime.name()))),
    }?;
    if let (Some(Some(session)), Some(lock)) = (session, lock) {
        session.hold_lock(lock);
    }
    collected.bytes = file.written_bytes;
    match incomplete {
        None => {
            (collected.file, collected.path) = (Some(name), Some(path));
            file.finish()
        }
        Some(refusal) if options.discard_incomplete => Err(refusal),
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

/// May what the options ask for be taken of a process? To be said before it is waited for: nothing is asked of the process but who
/// answers at the ports of Node.js. Error: what `collect` would say, as far as it is known.
pub(super) fn check_can_collect(process: &Process, options: &CollectOptions) -> Result<(), Refusal> {
    let runtime = find_runtime(Some(process), options)?;
    check_options(options, runtime)?;
    if let Some(folder) = &options.output_folder {
        DumpFile::create(&folder.join(file_name_with_time(options, runtime, SERIES_TIME_FORM)), false)?;
    }
    match runtime {
        TargetRuntime::Hotspot => hotspot::check_can_dump(process, options),
        TargetRuntime::Dotnet => dotnet::check_can_dump(process, options),
        TargetRuntime::Node | TargetRuntime::Chromium => inspector::check_can_dump(process, runtime, options),
        TargetRuntime::Go => Err(go_process_refusal()),
        TargetRuntime::OpenJ9 => Ok(()),
    }
}

/// The runtime of a process that may be asked, or of what is behind the address.
pub(super) fn find_runtime(process: Option<&Process>, options: &CollectOptions) -> Result<TargetRuntime, Refusal> {
    let Some(process) = process else {
        let is_profile = options.inspector_url.as_deref().is_some_and(pprof::is_profile_url);
        return Ok(options.runtime.unwrap_or(if is_profile { TargetRuntime::Go } else { TargetRuntime::Node }));
    };
    process.check_permitted()?;
    if process.state()?.is_stopped() {
        return Err(process.stopped_refusal());
    }
    options.runtime.map_or_else(|| detect_runtime(process), Ok)
}

fn go_process_refusal() -> Refusal {
    let text = "of Go name the address of its profile: heapdump collect http://HOST:PORT/debug/pprof/heap";
    Refusal::new(RefusalCode::NoTarget, text)
}

impl CollectOptions {
    /// The name of the format that is taken, and how its files' names end.
    fn format_and_extension(&self, runtime: TargetRuntime) -> (&'static str, &'static str) {
        match (runtime, self.profile_duration) {
            (TargetRuntime::Node, _) if self.take_histogram => ("memory-infra", "json"),
            (TargetRuntime::Dotnet, _) if self.take_histogram => ("sos-dumpheap", "txt"),
            _ if self.take_histogram => ("jvm-histogram", "txt"),
            (_, Some(_)) => ("heapprofile", "heapprofile"),
            (_, None) => runtime.format_and_extension(),
        }
    }
}

/// The name of a dump that is given none: `heap-PID-YYYYMMDD-HHMMSS.EXT`, in UTC.
pub fn default_file_name(options: &CollectOptions, runtime: TargetRuntime) -> PathBuf {
    file_name_with_time(options, runtime, "%Y%m%d-%H%M%S")
}

/// The same with the time in this form.
fn file_name_with_time(options: &CollectOptions, runtime: TargetRuntime, form: &str) -> PathBuf {
    let (_, extension) = options.format_and_extension(runtime);
    let pid = options.pid.map_or(String::new(), |pid| format!("{pid}-"));
    let now = DateTime::<Utc>::from(SystemTime::now()).format(form);
    PathBuf::from(format!("heap-{pid}{now}.{extension}"))
}

#[cfg(test)]
mod tests {
    use super::{CollectOptions, TargetRuntime, default_file_name};

    #[test]
    fn names_say_process_and_time() {
        let name =
            default_file_name(&CollectOptions { pid: Some(4711), ..CollectOptions::default() }, TargetRuntime::Hotspot)
                .display()
                .to_string();
        let (before, time) = name.split_at("heap-4711-".len());
        assert_eq!((before, time.len(), &time[8..9], &time[15..]), ("heap-4711-", 21, "-", ".hprof"));
    }
}
