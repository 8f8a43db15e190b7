//! The program for Windows, under Wine: it gives the answers of this one, and what files, pipes and consoles do there is heeded.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::common::cmd::{Ran, finish, heapdump, project};
use crate::common::fixtures;
use crate::common::live::not_installed;
use crate::common::pty::Pty;
use crate::common::synth::wide_dump;

const TARGET: &str = "x86_64-pc-windows-gnu";
const COMPILER: &str = "x86_64-w64-mingw32-gcc";
const GAME: &str = "fixtures/xna_cf/pair_after.txt";
const PATIENCE: Duration = Duration::from_secs(60);
/// What the system says of a program that Ctrl-C ended, as far as an exit code of Linux goes.
const CONTROL_C: i32 = 0xC000_013A_u32 as u8 as i32;
/// Wine before 8.17 has no library of this name, which programs of Rust ask for random bytes.
const RANDOM: &[u8] = b"#include <windows.h>\nBOOLEAN NTAPI SystemFunction036(PVOID, ULONG);\n\
    __declspec(dllexport) BOOL ProcessPrng(BYTE *bytes, SIZE_T count) { return SystemFunction036(bytes, count); }\n";

/// Wine, and the program for Windows.
struct Windows {
    wine: PathBuf,
    program: PathBuf,
}

fn in_path(name: &str) -> Option<PathBuf> {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&paths).map(|path| path.join(name)).find(|path| path.is_file())
}

fn succeeds(mut command: Command, input: &[u8]) {
    let mut child = command.stdin(Stdio::piped()).spawn().expect("started");
    child.stdin.take().expect("piped").write_all(input).expect("written");
    assert!(child.wait().expect("ends").success(), "{command:?}");
}

/// Builds the program, once; what is missing for that is said.
fn windows() -> Option<&'static Windows> {
    static WINDOWS: OnceLock<Option<Windows>> = OnceLock::new();
    WINDOWS.get_or_init(build).as_ref()
}

fn build() -> Option<Windows> {
    // Where Debian has it, which is in nobody's PATH.
    let own = Some(PathBuf::from("/usr/lib/wine/wine64")).filter(|wine| wine.is_file());
    let Some(wine) = own.or_else(|| in_path("wine64")).or_else(|| in_path("wine")) else {
        not_installed("wine64");
        return None;
    };
    if in_path(COMPILER).is_none() {
        not_installed("gcc-mingw-w64-x86-64");
        return None;
    }
    let library = Command::new("rustc").args(["--print", "target-libdir", "--target", TARGET]).output().expect("rustc");
    if !Path::new(String::from_utf8_lossy(&library.stdout).trim()).is_dir() {
        not_installed(TARGET);
        return None;
    }
    let target = Path::new(env!("CARGO_BIN_EXE_heapdump")).ancestors().nth(2).expect("a folder");
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    // Unoptimised: the build takes longer than all that is asked of it.
    cargo.args(["build", "--quiet", "--locked", "--target", TARGET, "--bin", "heapdump"]);
    cargo.args(["--config", "profile.dev.opt-level=0", "--config", "profile.dev.debug=false"]);
    cargo.current_dir(project("")).arg("--target-dir").arg(target).env("CARGO_INCREMENTAL", "0");
    succeeds(cargo, b"");
    let folder = target.join(TARGET).join("debug");
    let mut compiler = Command::new(COMPILER);
    compiler.args(["-shared", "-x", "c", "-", "-ladvapi32", "-o"]).arg(folder.join("bcryptprimitives.dll"));
    succeeds(compiler, RANDOM);
    let windows = Windows { wine, program: folder.join("heapdump.exe") };
    // The first run sets Windows up, in a folder of ours.
    fs::create_dir_all(project("target/live")).expect("a folder");
    windows.run(&project(""), &["--version"]).expect_code(0);
    Some(windows)
}

impl Windows {
    /// The program in a folder, which the system calls `Z:` and the path of Linux.
    fn command(&self, folder: &Path, args: &[&str]) -> Command {
        self.any_command(folder, [self.program.display().to_string().as_str()].iter().chain(args))
    }

    /// As the command line of Windows names it.
    fn named_program(&self) -> String {
        format!("Z:{}", self.program.display()).replace('/', "\\")
    }

    fn any_command<'a>(&self, folder: &Path, words: impl Iterator<Item = &'a &'a str>) -> Command {
        let mut command = Command::new(&self.wine);
        command.args(words).current_dir(folder).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.env_remove("HEAPDUMP_FILE").env_remove("NO_COLOR").env_remove("DISPLAY").env("LC_ALL", "C.UTF-8");
        command.env("WINEPREFIX", project("target/live/wine")).env("WINEDEBUG", "-all");
        command
    }

    fn run(&self, folder: &Path, args: &[&str]) -> Ran {
        finish(self.command(folder, args))
    }

    /// Runs the program here and there: exit code, standard output and standard error are the same. Gives the output.
    fn same(&self, folder: &Path, args: &[&str]) -> Ran {
        let (there, mut here) = (self.run(folder, args), heapdump(args));
        here.current_dir(folder);
        let here = finish(here);
        assert_eq!((there.code, &there.stdout, &there.stderr), (here.code, &here.stdout, &here.stderr), "{args:?}");
        there
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("readable").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// A folder with blanks and umlauts that has a dump of such a name.
fn folder() -> (tempfile::TempDir, PathBuf, &'static str) {
    let around = tempfile::tempdir().expect("a folder");
    let folder = around.path().join("Größe und Übersicht");
    fs::create_dir(&folder).expect("made");
    fs::copy(project(GAME), folder.join("von gestern ä.txt")).expect("copied");
    (around, folder, "von gestern ä.txt")
}

#[test]
#[ignore = "builds for Windows: .ci/run runs it where that and Wine can be had"]
fn answers_are_those_of_this_system() {
    let Some(windows) = windows() else { return };
    let here = project("");
    let mut formats = Vec::new();
    for fixture in fixtures::all() {
        if formats.contains(&fixture.format) {
            continue;
        }
        let path = fixture.path.strip_prefix(&here).expect("below").display().to_string();
        let options = fixture.arguments();
        let mut args = vec!["stats", "-f", "json", path.as_str()];
        args.extend(options.iter().map(String::as_str));
        windows.same(&here, &args);
        formats.push(fixture.format);
    }
    assert!(formats.len() >= 8, "{formats:?}");
    for line in ["info", "leaks", "list", "breakdown --pretty", "roots --type Bubble --color always"] {
        let args: Vec<&str> = line.split(' ').chain([GAME]).collect();
        windows.same(&here, &args).expect_code(0);
    }
    for (line, code) in [("stats --type nothing", 1), ("roots ffff", 2), ("stats --no-such-option", 2)] {
        let args: Vec<&str> = line.split(' ').chain([GAME]).collect();
        assert_eq!(windows.run(&here, &args).code, code, "{line}");
    }
    let refused = windows.run(&here, &["collect", "4", "-o", "x"]).expect_code(2);
    assert!(refused.stderr.contains("[not-supported-here]"), "{}", refused.stderr);
    let limited = windows.run(&here, &["stats", "--max-memory", "1KiB", GAME]).expect_code(2);
    assert!(limited.stderr.contains("--max-memory allows 1.0 KiB"), "{}", limited.stderr);
}

#[test]
#[ignore = "builds for Windows: .ci/run runs it where that and Wine can be had"]
fn files_are_whole_or_as_they_were() {
    let Some(windows) = windows() else { return };
    let (_around, folder, dump) = folder();
    let read = |name: &str| fs::read(folder.join(name)).expect("readable");
    let before = windows.same(&folder, &["stats", dump]).stdout;
    let index = format!("{dump}.hdx");
    windows.run(&folder, &["index", dump]).expect_code(0);
    for asked in [dump, &index] {
        assert_eq!(windows.run(&folder, &["stats", asked]).expect_code(0).stdout, before);
    }
    windows.run(&folder, &["index", "--check", dump]).expect_code(0);
    let mut here = heapdump(&["report", dump, "-o", "here ß.html"]);
    here.current_dir(&folder);
    finish(here).expect_code(0);
    windows.run(&folder, &["report", dump, "-o", "there ß.html"]).expect_code(0);
    assert_eq!(read("here ß.html").len(), read("there ß.html").len());
    windows.run(&folder, &["export", "--to", "parquet", dump, "-o", "tables"]).expect_code(0);
    assert!(names(&folder.join("tables")).iter().any(|name| name == "types"));
    let all = names(&folder);
    // A device is no file of that name; a name is that of a file in any case, and a folder with either stroke.
    windows.run(&folder, &["report", dump, "-o", "NUL"]).expect_code(0);
    for (output, why) in [("VON GESTERN Ä.TXT", "is an input"), ("new\\", "is a folder"), ("new/", "is a folder")] {
        let ran = windows.run(&folder, &["report", dump, "-o", output]).expect_code(2);
        assert!(ran.stderr.contains(why), "{}", ran.stderr);
    }
    fs::hard_link(folder.join(dump), folder.join("other name")).expect("linked");
    let ran = windows.run(&folder, &["report", dump, "-o", "other name"]).expect_code(2);
    assert!(ran.stderr.contains("is an input"), "{}", ran.stderr);
    fs::remove_file(folder.join("other name")).expect("removed");
    // So is standard input.
    fs::copy(folder.join(dump), folder.join("in.txt")).expect("copied");
    let line = format!("{} export --to folded - -o in.txt < in.txt", windows.named_program());
    let ran = finish(windows.any_command(&folder, ["cmd", "/c", &line].iter()));
    assert!(ran.stderr.contains("in.txt is an input (standard input)"), "{}", ran.stderr);
    fs::remove_file(folder.join("in.txt")).expect("removed");
    assert_eq!((names(&folder), read(dump)), (all.clone(), fs::read(project(GAME)).expect("readable")));
    // One run has the index mapped, and waits for somebody who reads what it writes.
    let mut reader = windows.command(&folder, &["list", "-f", "json", dump]).spawn().expect("started");
    let mut first = [0];
    std::io::Read::read_exact(reader.stdout.as_mut().expect("piped"), &mut first).expect("it has begun");
    windows.run(&folder, &["index", dump]).expect_code(0);
    assert_eq!(windows.run(&folder, &["stats", dump]).expect_code(0).stdout, before);
    let output = reader.wait_with_output().expect("ends");
    assert!(output.status.success() && output.stdout.len() > 100_000, "{output:?}");
    windows.run(&folder, &["index", dump]).expect_code(0);
    assert_eq!(names(&folder), all);
}

#[test]
#[ignore = "builds for Windows: .ci/run runs it where that and Wine can be had"]
fn a_pipe_that_nobody_reads_ends_it_quietly() {
    let Some(windows) = windows() else { return };
    let mut child = windows.command(&project(""), &["list", "--ids", GAME]).spawn().expect("started");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("ends");
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
    // A pipe of the system's own.
    let program = windows.named_program();
    let line = format!("{program} list -q -f json {GAME} | {program} --version");
    let ran = finish(windows.any_command(&project(""), ["cmd", "/c", &line].iter())).expect_code(0);
    assert!(ran.stdout.starts_with("heapdump ") && ran.stderr.is_empty(), "{}{}", ran.stdout, ran.stderr);
    let mut command = windows.command(&project(""), &["stats", "-q"]);
    command.stdin(fs::File::open(project(GAME)).expect("readable"));
    assert_eq!(finish(command).expect_code(0).stdout, windows.run(&project(""), &["stats", "-q", GAME]).stdout);
}

/// Waits until something is so, while what is drawn is read.
fn until(pty: &mut Pty, what: &str, mut is_so: impl FnMut(&mut Pty) -> bool) {
    let begun = Instant::now();
    while !is_so(pty) {
        assert!(begun.elapsed() < PATIENCE, "{what}: {}", String::from_utf8_lossy(&pty.drawn));
        // The end of the terminal is no error here.
        _ = pty.until_quiet(Instant::now(), Duration::from_millis(5));
    }
}

#[test]
#[ignore = "builds for Windows: .ci/run runs it where that and Wine can be had"]
fn control_c_leaves_nothing() {
    let Some(windows) = windows() else { return };
    let (_around, folder, dump) = folder();
    fs::write(folder.join(dump), wide_dump(60_000)).expect("written");
    let args = ["export", "-q", "--to", "memory-infra", "--min-bytes", "0", dump, "-o", "new"];
    let here = windows.command(&folder, &args);
    // Of its own, or Ctrl-C is a letter.
    let mut command = Command::new("setsid");
    command.arg("--ctty").arg(here.get_program()).args(here.get_args()).current_dir(&folder).env_remove("DISPLAY");
    command.envs(here.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let mut pty = Pty::start(command, (100, 30)).expect("a terminal");
    until(&mut pty, "a file", |_| names(&folder).iter().any(|name| name.ends_with(".part")));
    pty.type_keys(b"\x03").expect("typed");
    until(&mut pty, "the end", |pty| pty.child.try_wait().expect("asked").is_some());
    assert_eq!(pty.child.wait().expect("ends").code(), Some(CONTROL_C));
    assert_eq!(names(&folder), [dump]);
}

#[test]
#[ignore = "builds for Windows: .ci/run runs it where that and Wine can be had"]
fn the_browser_takes_keys_of_a_console() {
    let Some(windows) = windows() else { return };
    let (_around, folder, dump) = folder();
    let mut pty = Pty::start(windows.command(&folder, &["explore", dump]), (100, 30)).expect("a terminal");
    until(&mut pty, "objects", |pty| String::from_utf8_lossy(&pty.drawn).replace("\r\r\n", "").contains("1#1cadcb"));
    pty.type_keys(b"w").expect("typed");
    let index = format!("{dump}.hdx");
    until(&mut pty, "the index", |_| folder.join(&index).exists());
    pty.type_keys(b"q").expect("typed");
    until(&mut pty, "the end", |pty| pty.child.try_wait().expect("asked").is_some());
    assert_eq!(pty.child.wait().expect("ends").code(), Some(0));
    assert_eq!(names(&folder), [dump, &index]);
}
