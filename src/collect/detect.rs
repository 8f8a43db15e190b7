//! Detection of a process's runtime, by the files that it has mapped.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;

use super::TargetRuntime;
use super::dotnet::find_diagnostic_socket;
use super::process::Process;
use super::refusal::{Refusal, RefusalCode};

/// Finds the runtime. Error: `no-runtime` with the name of what it is instead, `not-permitted`.
pub(super) fn detect_runtime(process: &Process) -> Result<TargetRuntime, Refusal> {
    let files = process.mapped_files()?;
    if let Some(runtime) = runtime_by_file_names(&files, &program_name(process)) {
        return Ok(runtime);
    }
    // A program in one file has its runtime inside.
    match find_diagnostic_socket(process)?.is_some() || has_dotnet_threads(process) {
        true => Ok(TargetRuntime::Dotnet),
        false => Err(no_runtime_refusal(process, &files)),
    }
}

/// Browsers have processes for everything: only the first of them answers.
pub(super) fn is_browser_helper(process: &Process, runtime: TargetRuntime) -> bool {
    let is_v8 = matches!(runtime, TargetRuntime::Node | TargetRuntime::Chromium);
    is_v8 && process.arguments().iter().any(|word| word.split(' ').any(|word| word.starts_with("--type=")))
}

/// .NET names threads of its own since version 5, with its diagnostics off too.
fn has_dotnet_threads(process: &Process) -> bool {
    let threads = std::fs::read_dir(process.proc_path("task")).into_iter().flatten().flatten();
    threads
        .into_iter()
        .any(|thread| std::fs::read_to_string(thread.path().join("comm")).is_ok_and(|name| name.starts_with(".NET ")))
}

fn file_names(files: &[String]) -> impl Iterator<Item = &str> {
    files.iter().filter_map(|file| file.rsplit('/').next())
}

/// By the names of mapped files, and of the program.
fn runtime_by_file_names(files: &[String], program: &str) -> Option<TargetRuntime> {
    let names = || file_names(files);
    let has = |wanted: &str| names().any(|name| name == wanted);
    let has_prefix = |start: &str| names().any(|name| name.starts_with(start));
    if has("libjvm.so") {
        return Some(TargetRuntime::Hotspot);
    }
    if names().any(|name| name.starts_with("libj9vm") && name.ends_with(".so")) {
        return Some(TargetRuntime::OpenJ9);
    }
    if has("libcoreclr.so") {
        return Some(TargetRuntime::Dotnet);
    }
    // `node-v20.1.0`; other programs are called `node-exporter`.
    let version = program.strip_prefix("node").map(|rest| rest.trim_start_matches(['-', 'v']));
    let has_version = version.is_some_and(|version| version.starts_with(|c: char| c.is_ascii_digit()));
    if ["node", "nodejs", "electron"].contains(&program) || has_version || has_prefix("libnode.so") {
        return Some(TargetRuntime::Node);
    }
    let is_browser = program.starts_with("chrom") && !program.contains("crashpad");
    (is_browser || program == "headless_shell").then_some(TargetRuntime::Chromium)
}

fn program_name(process: &Process) -> String {
    let program = process.executable_path().unwrap_or_default();
    let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
    name.strip_suffix(" (deleted)").map_or(name.clone(), String::from)
}

/// Makes sure, before a signal, that a process runs this runtime: others that catch it end, or write into their output. A
/// name is not enough here. Error: `no-runtime` where it is another, whatever the user says.
pub(super) fn check_runtime(process: &Process, runtime: TargetRuntime) -> Result<(), Refusal> {
    let files = process.mapped_files()?;
    let has = |start: &str| file_names(&files).any(|name| name.starts_with(start));
    let is_it = match runtime {
        TargetRuntime::Hotspot => file_names(&files).any(|name| name == "libjvm.so"),
        TargetRuntime::Node => has("libnode.so") || exports_node_api(process),
        _ => false,
    };
    if is_it {
        return Ok(());
    }
    let text = format!("process {} ({}) does not run {}: no signal is sent", process.pid, process.name, runtime.name());
    Err(Refusal::new(RefusalCode::NoRuntime, text).with_hint("heapdump collect --list shows what can be dumped"))
}

/// Is this function of Node.js in the program, for modules to call? It has been since version 0.10.
fn exports_node_api(process: &Process) -> bool {
    const NODE_SYMBOL: &[u8] = b"node_module_register";
    const CHUNK_BYTES: usize = 1 << 20;
    let Ok(mut file) = File::open(process.proc_path("exe")) else { return false };
    let mut bytes = Vec::with_capacity(CHUNK_BYTES + NODE_SYMBOL.len());
    loop {
        match (&mut file).take(CHUNK_BYTES as u64).read_to_end(&mut bytes) {
            Ok(1..) if memchr::memmem::find(&bytes, NODE_SYMBOL).is_some() => return true,
            Ok(1..) => drop(bytes.drain(..bytes.len().saturating_sub(NODE_SYMBOL.len()))),
            _ => return false,
        }
    }
}

fn no_runtime_refusal(process: &Process, files: &[String]) -> Refusal {
    let has = |part: &str| files.iter().any(|file| file.rsplit('/').next().is_some_and(|name| name.starts_with(part)));
    let program = program_name(process);
    let other = if has("libmonosgen") || program.starts_with("mono") {
        " but Mono"
    } else if has("libpython") || program.starts_with("python") {
        " but Python"
    } else if is_go_program(process) {
        " but Go"
    } else {
        ""
    };
    let (pid, name) = (process.pid, &process.name);
    let text = format!("process {pid} ({name}) runs no .NET, Java or Node that heapdump knows{other}");
    let go = "where it serves profiles: heapdump collect http://HOST:PORT/debug/pprof/heap";
    let hint = if other == " but Go" { go } else { "heapdump collect --list shows what can be dumped" };
    Refusal::new(RefusalCode::NoRuntime, text).with_hint(hint)
}

/// Go's linker writes a section of its own into each program.
fn is_go_program(process: &Process) -> bool {
    let names = || -> Option<Vec<u8>> {
        const MAX_SECTION_NAMES_BYTES: usize = 64 << 10;
        let file = File::open(process.proc_path("exe")).ok()?;
        let mut header = [0u8; 64];
        (&file).read_exact(&mut header).ok()?;
        let is_elf64 = header.starts_with(b"\x7fELF\x02\x01");
        let short = |at: usize| u64::from(u16::from_le_bytes([header[at], header[at + 1]]));
        let sections = u64::from_le_bytes(header[0x28..0x30].try_into().ok()?);
        let mut section = [0u8; 64];
        let at = sections.checked_add(short(0x3a) * short(0x3e)).filter(|_| is_elf64)?;
        file.read_exact_at(&mut section, at).ok()?;
        let long = |at: usize| section[at..at + 8].try_into().map(u64::from_le_bytes).ok();
        let mut names = vec![0; (long(0x20)? as usize).min(MAX_SECTION_NAMES_BYTES)];
        file.read_exact_at(&mut names, long(0x18)?).ok()?;
        Some(names)
    };
    names().is_some_and(|names| memchr::memmem::find(&names, b".go.buildinfo").is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runtimes_are_known_by_their_libraries() {
        let found = |files: &[&str], program| {
            runtime_by_file_names(&files.iter().map(|file| file.to_string()).collect::<Vec<_>>(), program)
        };
        let cases = [
            ("/usr/lib/jvm/lib/server/libjvm.so", "java", Some(TargetRuntime::Hotspot)),
            ("/opt/jvm/lib/default/libj9vm29.so", "java", Some(TargetRuntime::OpenJ9)),
            ("/usr/share/dotnet/libcoreclr.so", "dotnet", Some(TargetRuntime::Dotnet)),
            ("/usr/bin/node", "node", Some(TargetRuntime::Node)),
            ("/opt/node-v20.1.0", "node-v20.1.0", Some(TargetRuntime::Node)),
            ("/opt/node18", "node18", Some(TargetRuntime::Node)),
            ("/usr/bin/node-exporter", "node-exporter", None),
            ("/usr/bin/nodetool", "nodetool", None),
            ("/usr/lib/libnode.so.108", "mytool", Some(TargetRuntime::Node)),
            ("/usr/lib/chromium/chromium", "chromium", Some(TargetRuntime::Chromium)),
            ("/usr/lib/chromium/chrome_crashpad_handler", "chrome_crashpad_handler", None),
            ("/usr/bin/sleep", "sleep", None),
            ("/home/me/libjvm.so.txt", "cat", None),
        ];
        for (file, program, runtime) in cases {
            assert_eq!(found(&[file, "/lib/libc.so.6"], program), runtime, "{file}");
        }
    }

    #[test]
    fn this_program_is_no_runtime() {
        let process = Process::open(std::process::id()).expect("this process");
        let refusal = detect_runtime(&process).expect_err("Rust");
        assert_eq!(refusal.code, RefusalCode::NoRuntime);
        assert!(refusal.text.ends_with("heapdump knows"), "{}", refusal.text);
        assert!(!is_go_program(&process));
        for runtime in [TargetRuntime::Hotspot, TargetRuntime::Dotnet] {
            assert_eq!(check_runtime(&process, runtime).expect_err("Rust").code, RefusalCode::NoRuntime);
        }
    }
}
