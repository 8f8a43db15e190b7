//! How outputs are written, whose index is believed, and options that exist only where they act.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::common::cmd::{commands, finish, heapdump, project, run};
use crate::common::fixtures;

/// A fresh folder with a small dump in it.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        let folder = Folder(tempfile::tempdir().expect("a folder"));
        fs::copy(project("fixtures/xna_cf/small_1k.txt"), folder.path("d.txt")).expect("copied");
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).expect("readable")
    }

    fn names(&self) -> Vec<String> {
        names_in(self.0.path())
    }
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("readable").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// What an export of the dump is, by itself.
fn folded(folder: &Folder) -> Vec<u8> {
    run(&["export", "--to", "folded", "-q", "--no-index", &folder.text("d.txt")]).expect_code(0).stdout.into_bytes()
}

#[test]
fn an_output_replaces_a_regular_file_when_it_is_whole() {
    let folder = Folder::new();
    let (dump, output) = (folder.text("d.txt"), folder.text("out"));
    fs::write(&output, "something older, and longer\n".repeat(9000)).expect("written");
    run(&["export", "--to", "folded", &dump, "-o", &output]).expect_code(0);
    assert_eq!(folder.read("out"), folded(&folder));
    run(&["index", "-q", &dump, "-o", &output]).expect_code(0);
    assert_eq!(run(&["stats", &output]).expect_code(0).stdout, run(&["stats", &dump]).stdout);
    run(&["export", "--to", "memory-infra", &dump, "-o", &output]).expect_code(0);
    assert_eq!(&folder.read("out")[..15], b"{\"traceEvents\":");
    assert_eq!(folder.names(), ["d.txt", "out"]);
    // Standard output by its other name.
    assert_eq!(
        run(&["export", "--to", "folded", "-o", "-", &dump]).expect_code(0).stdout.into_bytes(),
        folded(&folder)
    );
    let folder_itself = folder.0.path().display().to_string();
    for (path, why) in [(folder_itself.as_str(), "is a folder"), ("/nowhere/at/all", "cannot write /nowhere/at/all")] {
        for command in [&["index", "-q"][..], &["export", "--to", "folded"]] {
            let ran = run(&[command, &[dump.as_str(), "-o", path]].concat()).expect_code(2);
            assert!(ran.stderr.contains(why), "{}", ran.stderr);
        }
    }
}

#[cfg(unix)]
mod unix {
    use super::*;
    use std::io::Read;
    use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Command, Stdio};

    use crate::common::cmd::Ran;
    use crate::common::synth::wide_dump;

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("set");
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).expect("there").permissions().mode() & 0o7777
    }

    /// A line of shell in the folder; `$H` is the binary.
    fn shell(folder: &Folder, line: &str) -> Ran {
        let mut command = Command::new("bash");
        command.args(["-c", line]).current_dir(folder.0.path()).env("H", env!("CARGO_BIN_EXE_heapdump"));
        command.env_remove("HEAPDUMP_FILE").stdin(Stdio::null());
        finish(command)
    }

    #[test]
    fn no_output_is_an_input_by_any_name() {
        let folder = Folder::new();
        let before = folder.read("d.txt");
        fs::hard_link(folder.path("d.txt"), folder.path("hard")).expect("linked");
        symlink("d.txt", folder.path("soft")).expect("linked");
        symlink("soft", folder.path("softer")).expect("linked");
        fs::create_dir(folder.path("sub")).expect("made");
        shell(&folder, "$H index -q d.txt && $H index -q d.txt -o x.hdx && $H index -q d.txt -o sub/y").expect_code(0);
        let index = folder.read("d.txt.hdx");
        let all = folder.names();
        for line in [
            "$H export --to folded -o d.txt d.txt",
            "$H export --to folded -o hard d.txt",
            "$H export --to folded -o soft d.txt",
            "$H export --to folded -o softer hard",
            "$H export --to folded -o ./sub/../d.txt soft",
            "$H export --to memory-infra -o hard d.txt",
            "$H export --to flamegraph -o d.txt d.txt.hdx",
            "$H export --to folded -o hard d.txt.hdx",
            "$H export --to folded -o d.txt.hdx d.txt.hdx",
            "$H export --to folded -o d.txt x.hdx",
            "$H export --to folded -o d.txt sub/y",
            // The index that answers for the dump.
            "$H export --to folded -o d.txt.hdx d.txt",
            "$H export --to folded -o d.txt < d.txt",
            "$H export --to memory-infra -o hard < d.txt",
            "$H export --to folded -o soft - < d.txt",
            "$H export --to folded -o d.txt /dev/stdin < d.txt",
            "HEAPDUMP_FILE=d.txt $H export --to folded -o d.txt",
            "$H export --to folded d.txt >> d.txt",
            "$H export --to folded -o /dev/stdout d.txt >> hard",
            "$H index -o d.txt d.txt",
            "$H index -o hard d.txt",
            "$H index -o soft d.txt",
            "$H index -o d.txt < d.txt",
            "$H index - -o hard < d.txt",
        ] {
            let ran = shell(&folder, line).expect_code(2);
            assert!(ran.stderr.contains("is an input ("), "{line}: {}", ran.stderr);
            assert_eq!(ran.stdout, "", "{line}");
            assert!(folder.read("d.txt") == before && folder.read("d.txt.hdx") == index, "{line}");
            assert_eq!(folder.names(), all, "{line}");
        }
        // The index that is to be replaced is no input.
        shell(&folder, "$H index -q d.txt && $H index -q d.txt -o d.txt.hdx").expect_code(0);
    }

    #[test]
    fn the_file_behind_a_link_is_replaced() {
        let folder = Folder::new();
        fs::create_dir(folder.path("sub")).expect("made");
        fs::write(folder.path("sub/behind"), "older").expect("written");
        symlink("sub/behind", folder.path("link")).expect("linked");
        shell(&folder, "$H export --to folded -o link d.txt").expect_code(0);
        assert!(folder.path("link").symlink_metadata().expect("there").is_symlink());
        assert_eq!(folder.read("sub/behind"), folded(&folder));
        shell(&folder, "$H index -q -o link d.txt").expect_code(0);
        assert!(folder.path("link").symlink_metadata().expect("there").is_symlink());
        assert_eq!(&folder.read("sub/behind")[1..4], b"HDX");
        assert_eq!(names_in(&folder.path("sub")), ["behind"]);
        // Other names of a file keep what they had.
        fs::write(folder.path("one"), "older").expect("written");
        fs::hard_link(folder.path("one"), folder.path("two")).expect("linked");
        shell(&folder, "$H export --to folded -o one d.txt").expect_code(0);
        assert_eq!((folder.read("one"), folder.read("two")), (folded(&folder), b"older".to_vec()));
        // Links to nothing.
        symlink("sub/gone", folder.path("broken")).expect("linked");
        symlink("nowhere/gone", folder.path("broken2")).expect("linked");
        symlink("ring", folder.path("ring")).expect("linked");
        for (link, why) in [("broken", "is not there"), ("broken2", "is not there"), ("ring", "leads nowhere")] {
            for command in ["export --to folded", "index -q"] {
                let ran = shell(&folder, &format!("$H {command} d.txt -o {link}")).expect_code(2);
                assert!(ran.stderr.contains(why) && ran.stderr.contains(link), "{}", ran.stderr);
            }
        }
        assert_eq!(names_in(&folder.path("sub")), ["behind"]);
    }

    #[test]
    fn what_is_no_regular_file_is_written_to() {
        let folder = Folder::new();
        let expected = folded(&folder);
        shell(&folder, "$H index -q d.txt -o plain.hdx").expect_code(0);
        let index = folder.read("plain.hdx");
        for to in ["/dev/null", "null"] {
            if to == "null" {
                symlink("/dev/null", folder.path("null")).expect("linked");
            }
            for command in ["export --to folded", "export --to memory-infra", "index -q"] {
                assert_eq!(shell(&folder, &format!("$H {command} d.txt -o {to}")).expect_code(0).stdout, "");
                let facts = fs::metadata("/dev/null").expect("there");
                assert!(facts.file_type().is_char_device(), "{command} {to}");
            }
        }
        assert!(folder.path("null").symlink_metadata().expect("there").is_symlink());
        for to in ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"] {
            if to.starts_with("/proc") && !Path::new(to).exists() {
                continue;
            }
            let ran = shell(&folder, &format!("$H export --to folded d.txt -o {to}")).expect_code(0);
            assert_eq!(ran.stdout.into_bytes(), expected, "{to}");
            // A file behind it is gone on with.
            shell(&folder, &format!("(echo first; $H export --to folded d.txt -o {to}; echo last) > both"))
                .expect_code(0);
            assert_eq!(folder.read("both"), [b"first\n", &expected[..], b"last\n"].concat(), "{to}");
            shell(&folder, &format!("$H index -q d.txt -o {to} > piped.hdx")).expect_code(0);
            assert!(folder.read("piped.hdx") == index, "{to}");
        }
        shell(&folder, "echo first > third; $H export --to folded d.txt -o /dev/fd/3 3>> third").expect_code(0);
        assert_eq!(folder.read("third"), [b"first\n", &expected[..]].concat());
        // A pipe with a name.
        for (command, expected) in [("export --to folded", &expected), ("index -q", &index)] {
            let line = format!("rm -f pipe got; mkfifo pipe; cat pipe > got & $H {command} d.txt -o pipe; wait");
            shell(&folder, &line).expect_code(0);
            assert!(folder.path("pipe").symlink_metadata().expect("there").file_type().is_fifo());
            assert!(folder.read("got") == *expected, "{command}");
        }
    }

    #[test]
    fn an_output_has_the_modes_of_its_inputs_at_most() {
        let folder = Folder::new();
        let outputs = |mask: &str| {
            let line = format!(
                "umask {mask}; rm -f out* d.txt.hdx; $H export --to folded --no-index d.txt -o out1 && \
                 $H export --to memory-infra --no-index d.txt -o out2 && $H index -q d.txt && \
                 $H export --to folded - -o out3 < d.txt && $H index -q - -o out4 < d.txt && \
                 $H export --to folded d.txt.hdx -o out5"
            );
            shell(&folder, &line).expect_code(0);
            ["out1", "out2", "d.txt.hdx", "out3", "out4", "out5"].map(|name| mode(&folder.path(name)))
        };
        for (of_dump, mask, expected) in [
            (0o600, "022", 0o600),
            (0o644, "022", 0o644),
            (0o666, "022", 0o644),
            (0o666, "000", 0o666),
            (0o640, "000", 0o640),
            (0o644, "077", 0o600),
            (0o755, "022", 0o644),
            // What its owner wrote its owner may write.
            (0o400, "000", 0o600),
        ] {
            set_mode(&folder.path("d.txt"), of_dump);
            assert_eq!(outputs(mask), [expected; 6], "{of_dump:o} {mask}");
        }
        // An index that says more than its dump makes no more of that.
        set_mode(&folder.path("d.txt"), 0o600);
        set_mode(&folder.path("d.txt.hdx"), 0o644);
        shell(&folder, "umask 022; $H export --to folded d.txt.hdx -o six").expect_code(0);
        assert_eq!(mode(&folder.path("six")), 0o600);
        // Made anew, it has the right mode; and what was there before is not opened up.
        shell(&folder, "umask 022; $H index -q d.txt").expect_code(0);
        assert_eq!(mode(&folder.path("d.txt.hdx")), 0o600);
        set_mode(&folder.path("d.txt"), 0o644);
        fs::write(folder.path("private"), "").expect("written");
        set_mode(&folder.path("private"), 0o600);
        shell(&folder, "umask 022; $H export --to folded d.txt -o private").expect_code(0);
        assert_eq!(mode(&folder.path("private")), 0o600);
        // What is read through a pipe has no mode to go by.
        shell(&folder, "umask 022; cat d.txt | $H export --to folded -o piped").expect_code(0);
        assert_eq!(mode(&folder.path("piped")), 0o644);
    }

    #[test]
    fn an_output_that_cannot_be_written_leaves_the_old_one() {
        let folder = Folder::new();
        fs::write(folder.path("out"), "older").expect("written");
        let all = folder.names();
        for command in ["export --to folded --min-bytes 0", "export --to memory-infra --min-bytes 0", "index"] {
            let line = format!("trap '' XFSZ; ulimit -f 1; exec $H {command} d.txt -o out");
            let ran = shell(&folder, &line).expect_code(2);
            assert!(ran.stderr.contains("cannot write out"), "{command}: {}", ran.stderr);
            assert_eq!((folder.read("out"), folder.names()), (b"older".to_vec(), all.clone()), "{command}");
        }
        // Newcomers' finding 17: nor do the folders stay that were made for it, but those that were there.
        let export = "$H export --to parquet d.txt -o a/t";
        shell(&folder, &format!("trap '' XFSZ; ulimit -f 1; {export}")).expect_code(2);
        assert_eq!(folder.names(), all);
        fs::create_dir_all(folder.path("a/t/types")).expect("made");
        shell(&folder, &format!("trap '' XFSZ; ulimit -f 1; {export}")).expect_code(2);
        assert_eq!(fs::read_dir(folder.path("a/t")).expect("there").count(), 1);
        fs::remove_dir_all(folder.path("a")).expect("removed");
        // A folder that may not be written to; root may all the same.
        fs::create_dir(folder.path("locked")).expect("made");
        set_mode(&folder.path("locked"), 0o555);
        if fs::write(folder.path("locked/probe"), "").is_err() {
            for command in ["export --to folded", "index"] {
                let ran = shell(&folder, &format!("$H {command} d.txt -o locked/out")).expect_code(2);
                assert!(ran.stderr.contains("cannot write locked/out"), "{command}: {}", ran.stderr);
            }
        }
        set_mode(&folder.path("locked"), 0o755);
        // What goes wrong in the middle of the dump leaves nothing either.
        let mut long = folder.read("d.txt");
        long.truncate(long.len() / 2);
        fs::write(folder.path("cut.txt"), long).expect("written");
        shell(&folder, "$H export --strict --to folded cut.txt -o out").expect_code(2);
        assert_eq!(folder.read("out"), b"older");
        assert!(folder.names().iter().all(|name| !name.ends_with(".part")), "{:?}", folder.names());
    }

    #[test]
    fn an_index_that_fails_in_the_middle_of_an_export_leaves_no_part() {
        let folder = Folder::new();
        shell(&folder, "$H index -q d.txt && mv d.txt away").expect_code(0);
        let good = folder.read("d.txt.hdx");
        let all = folder.names();
        for at in (100..good.len()).step_by(good.len() / 20) {
            let mut index = good.clone();
            index[at] ^= 1;
            fs::write(folder.path("d.txt.hdx"), index).expect("written");
            for form in ["folded", "memory-infra"] {
                let ran = shell(&folder, &format!("$H export --to {form} -q d.txt.hdx -o out"));
                assert!(ran.code == 2 || folder.path("out").exists(), "{}", ran.stderr);
                drop(fs::remove_file(folder.path("out")));
                assert_eq!(folder.names(), all, "{at} {form}");
            }
        }
    }

    /// Programs that the tests start end by a signal, even if the tests themselves were started to ignore it (`nohup`, or
    /// beside what a shell runs): what has a handler here begins with the default there.
    #[cfg(target_os = "linux")]
    fn heed_ignored_signals() {
        static HEEDED: std::sync::Once = std::sync::Once::new();
        HEEDED.call_once(|| {
            let status = fs::read_to_string("/proc/self/status").expect("readable");
            let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).expect("a mask");
            let mask = u64::from_str_radix(mask.trim(), 16).expect("a mask");
            for signal in [1, 2, 15].into_iter().filter(|signal| mask >> (signal - 1) & 1 == 1) {
                let come = std::sync::Arc::<std::sync::atomic::AtomicBool>::default();
                signal_hook::flag::register(signal, come).expect("a handler");
            }
        });
    }

    #[cfg(not(target_os = "linux"))]
    fn heed_ignored_signals() {}

    fn start(folder: &Folder, command: &str) -> std::process::Child {
        heed_ignored_signals();
        let words: Vec<&str> = command.split(' ').collect();
        let mut child = heapdump(&words);
        child.current_dir(folder.0.path()).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts")
    }

    /// Waits for something that comes for sure, or fails.
    fn wait_for(what: &str, mut is_there: impl FnMut() -> bool) {
        for _ in 0..120_000 {
            if is_there() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        panic!("{what}");
    }

    fn send(child: &std::process::Child, signal: &str) {
        let status = Command::new("kill").args([format!("-{signal}"), child.id().to_string()]).status();
        assert!(status.expect("kill runs").success());
    }

    #[test]
    fn signals_leave_nothing_and_end_the_program_as_ever() {
        let folder = Folder::new();
        fs::write(folder.path("wide.txt"), wide_dump(60_000)).expect("written");
        fs::write(folder.path("less.txt"), wide_dump(4_000)).expect("written");
        fs::write(folder.path("old"), "older").expect("written");
        let all = folder.names();
        shell(&folder, "$H index -q wide.txt -o whole").expect_code(0);
        let whole = folder.read("whole");
        fs::remove_file(folder.path("whole")).expect("removed");
        for (signal, number) in [("INT", 2), ("TERM", 15), ("HUP", 1)] {
            for command in [
                "index -q wide.txt -o new",
                "index -q wide.txt -o old",
                "export -q --to memory-infra --min-bytes 0 less.txt -o new",
                "export -q --to parquet wide.txt -o tables",
            ] {
                let mut met = 0;
                for attempt in 0..40 {
                    let mut child = start(&folder, command);
                    // The first look whether it can be written makes a file too; both must go.
                    let least = attempt % 2;
                    let bytes = |name: &String| folder.path(name).metadata().map_or(0, |facts| facts.len());
                    let is_part = |name: &String| name.ends_with(".part") && bytes(name) >= least || name == "tables";
                    let part = || folder.names().iter().any(is_part);
                    wait_for("a file or the end", || part() || child.try_wait().expect("asked").is_some());
                    if child.try_wait().expect("asked").is_none() {
                        send(&child, signal);
                    }
                    let status = child.wait().expect("ends");
                    let ended_by = status.signal();
                    met += usize::from(ended_by.is_some());
                    assert!(ended_by == Some(number) || status.success(), "{command} {signal}: {status}");
                    drop(fs::remove_file(folder.path("new")));
                    if status.success() {
                        drop(fs::remove_dir_all(folder.path("tables")));
                    }
                    // The signal can come when all is done, just before the end.
                    if status.success() || folder.read("old") == whole {
                        fs::write(folder.path("old"), "older").expect("written");
                    }
                    assert_eq!((folder.names(), folder.read("old")), (all.clone(), b"older".to_vec()), "{command}");
                    if met == 4 {
                        break;
                    }
                }
                assert!(met > 0, "{command} {signal}: always too late");
            }
        }
    }

    /// In the middle of reading, long after the first look at the folder.
    #[test]
    fn a_signal_while_the_dump_is_read_leaves_nothing() {
        let folder = Folder::new();
        for (signal, number) in [("INT", 2), ("TERM", 15), ("HUP", 1)] {
            let mut child = start(&folder, "index - -o new.hdx");
            // The handlers are there when the first look is over; the dump never ends.
            let status = format!("/proc/{}/status", child.id());
            if Path::new(&status).exists() {
                let caught = || {
                    let text = fs::read_to_string(&status).unwrap_or_default();
                    let mask = text.lines().find_map(|line| line.strip_prefix("SigCgt:").map(str::to_string));
                    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
                    mask >> (number - 1) & 1 == 1
                };
                wait_for("handlers", caught);
            }
            send(&child, signal);
            assert_eq!(child.wait().expect("ends").signal(), Some(number));
            assert_eq!(folder.names(), ["d.txt"]);
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn an_ignored_signal_stays_ignored() {
        let folder = Folder::new();
        for (signal, trap) in [("HUP", "HUP"), ("INT", "INT"), ("TERM", "TERM")] {
            let mut child = Command::new("bash");
            child.args(["-c", &format!("trap '' {trap}; exec $H index -q - -o new.hdx")]).current_dir(folder.0.path());
            child.env("H", env!("CARGO_BIN_EXE_heapdump")).stdin(Stdio::piped()).stderr(Stdio::piped());
            let mut child = child.spawn().expect("starts");
            let name = format!("/proc/{}/comm", child.id());
            wait_for("the program", || fs::read_to_string(&name).unwrap_or_default().trim() == "heapdump");
            send(&child, signal);
            let dump = folder.read("d.txt");
            let mut stdin = child.stdin.take().expect("piped");
            std::io::Write::write_all(&mut stdin, &dump).expect("written");
            send(&child, signal);
            drop(stdin);
            let mut said = String::new();
            child.stderr.take().expect("piped").read_to_string(&mut said).expect("read");
            assert!(child.wait().expect("ends").success(), "{signal}: {said}");
            assert_eq!(folder.names(), ["d.txt", "new.hdx"]);
            fs::remove_file(folder.path("new.hdx")).expect("removed");
        }
    }

    #[test]
    #[ignore = "only root can give files away"]
    fn an_index_of_another_user_is_not_believed() {
        let folder = Folder::new();
        shell(&folder, "$H index -q d.txt").expect_code(0);
        let expected = shell(&folder, "$H stats --no-index d.txt").stdout;
        let chown = |name: &str, user: u32| std::os::unix::fs::chown(folder.path(name), Some(user), None).is_ok();
        assert!(chown("d.txt.hdx", 12_345), "only root can give files away");
        assert_ne!(folder.path("d.txt").metadata().expect("there").uid(), 12_345);
        for file in ["d.txt", "d.txt.hdx"] {
            let ran = shell(&folder, &format!("$H stats {file}")).expect_code(0);
            assert!(ran.stderr.contains("belongs to another user"), "{}", ran.stderr);
            assert!(ran.stderr.contains("reading"), "{}", ran.stderr);
            assert_eq!(ran.stdout, expected);
        }
        // The owner of the dump could have changed that too.
        assert!(chown("d.txt", 12_345));
        assert!(!shell(&folder, "$H stats d.txt").expect_code(0).stderr.contains("belongs"));
        // Alone, only our own is.
        fs::rename(folder.path("d.txt"), folder.path("away")).expect("moved");
        let ran = shell(&folder, "$H stats d.txt.hdx").expect_code(2);
        assert!(ran.stderr.contains("belongs to another user") && ran.stderr.contains("dump is not beside it"));
        shell(&folder, "cp d.txt.hdx own.hdx && $H stats own.hdx").expect_code(0);
    }
}

#[test]
fn options_exist_only_where_they_act() {
    // What should be refused must not write beside a fixture.
    let folder = Folder::new();
    let game = &folder.text("d.txt");
    let trace = "fixtures/memory_infra/seed-example.trace";
    for line in [
        "index -f json --sort x DUMP",
        "index --sort x DUMP",
        "index -n 3 DUMP",
        "index -t X DUMP",
        "index --domain 1 DUMP",
        "index --keep-unreachable DUMP",
        "index --exclude-roots local DUMP",
        "index --no-index DUMP",
        "export --to folded -f json -n 3 DUMP",
        "export --to folded -n 3 DUMP",
        "export --to folded --sort bytes DUMP",
        "export --to folded -t X DUMP",
        "export --to folded --human DUMP",
        "export --to folded --max-objects 3 DUMP",
        "export --to folded --retained DUMP",
        "export --to folded --min-percent 1 DUMP",
        "export --to dot --object 7fe45 --process 1 DUMP",
        "export --to dot --object 7fe45 --allocator malloc DUMP",
        "export --to dot --object 7fe45 --min-bytes 3 DUMP",
        "export --to dot --object 7fe45 --dump 1 DUMP",
        "export --to memory-infra --object 7fe45 DUMP",
        "export --to memory-infra --retained DUMP",
        "info --type X DUMP",
        "info --domain 1 DUMP",
        "info -n 3 DUMP",
        "info --sort file DUMP",
        "info --reverse DUMP",
        "show 7fe45 --type Nope DUMP",
        "show 7fe45 --sort id DUMP",
        "roots 7fe45 --sort id DUMP",
        "roots 7fe45 --reverse DUMP",
        "roots --type Level --paths 3 DUMP",
        "leaks --sort retained DUMP",
        "leaks --reverse DUMP",
        "list --ids -f json DUMP",
        "list --ids --human DUMP",
        "list --ids --no-header DUMP",
        "list --ids --color always DUMP",
        "dominators --by type --depth 3 DUMP",
        "stats --shallow --process 1 DUMP",
        "diff --roots --type X DUMP DUMP",
        "diff --roots --domain 1 DUMP DUMP",
        "diff --retained TRACE TRACE",
        "diff --paths TRACE TRACE",
        "completions bash -q",
        "man -f json",
    ] {
        let words: Vec<&str> = line
            .split(' ')
            .map(|word| match word {
                "DUMP" => game.as_str(),
                "TRACE" => trace,
                word => word,
            })
            .collect();
        let ran = run(&words).expect_code(2);
        assert_eq!(ran.stdout, "", "{line}");
        // It says which option it is about.
        let option = words.iter().find(|word| word.starts_with('-') && ran.stderr.contains(**word));
        assert!(option.is_some(), "{line}: {}", ran.stderr);
    }
    // Where there is a table they act.
    run(&["info", game, trace, "-n", "1", "--sort", "bytes", "--reverse"]).expect_code(0);
    run(&["roots", "--type", "Level", "-n", "1", game]).expect_code(0);
    run(&["list", "--ids", "-n", "1", "--sort", "id", "-t", "Level", game]).expect_code(0);
    let rows = |args: &[&str]| run(args).expect_code(0).stdout.lines().count();
    assert!(rows(&["breakdown", "-n", "2", game, "-q"]) < rows(&["breakdown", game, "-q"]));
}

/// The options of a command as its help lists them.
fn options_of(command: &str) -> Vec<String> {
    let help = run(&[command, "--help"]).expect_code(0).stdout;
    let lines =
        help.lines().filter(|line| line.starts_with("  ")).map(str::trim_start).filter(|line| line.starts_with('-'));
    let long = lines.filter_map(|line| line.split([' ', ',', '=', '[']).find(|word| word.starts_with("--")));
    long.map(str::to_string).collect()
}

#[test]
fn help_lists_the_options_of_each_command() {
    let reading = ["--snapshot", "--input-format", "--raw-types", "--size-radix", "--strict", "--threads"];
    let reading = [&reading[..], &["--max-memory", "--quiet"]].concat();
    let asking = [&reading[..], &["--keep-unreachable", "--exclude-roots", "--no-index"]].concat();
    let form = ["--format", "--human", "--bytes", "--no-header", "--color"];
    let answering = [&asking[..], &form].concat();
    let all = ["--limit", "--sort", "--reverse", "--type", "--domain"];
    let heaps = ["--dump", "--process", "--allocator"];
    let expected: BTreeMap<&str, (Vec<&str>, Vec<&str>)> = [
        ("info", (answering.clone(), vec!["--limit", "--sort", "--reverse"])),
        ("stats", (answering.clone(), [&all[..], &heaps].concat())),
        ("list", (answering.clone(), all.to_vec())),
        ("show", (answering.clone(), vec!["--limit", "--domain"])),
        ("roots", (answering.clone(), vec!["--limit", "--type", "--domain"])),
        ("dominators", (answering.clone(), all.to_vec())),
        ("breakdown", (answering.clone(), [&all[..], &heaps].concat())),
        ("leaks", (answering.clone(), vec!["--limit", "--type", "--domain"])),
        ("referrers", (answering.clone(), all.to_vec())),
        ("threads", (answering.clone(), vec!["--limit", "--sort", "--reverse"])),
        ("strings", (answering.clone(), vec!["--limit", "--sort", "--reverse"])),
        ("waste", (answering.clone(), vec!["--limit", "--sort", "--reverse"])),
        ("diff", (answering.clone(), [&all[..], &heaps].concat())),
        ("trend", (answering.clone(), [&["--limit", "--type", "--domain"][..], &heaps].concat())),
        ("report", (asking.clone(), vec!["--domain"])),
        #[cfg(feature = "explore")]
        ("explore", (asking.clone(), vec![])),
        ("export", (asking, [&["--domain"][..], &heaps].concat())),
        ("redact", (reading.clone(), vec![])),
        ("index", (reading, vec![])),
        ("collect", (form.to_vec(), vec!["--quiet"])),
        ("completions", (vec![], vec![])),
        ("man", (vec![], vec![])),
        ("mcp", (vec!["--max-memory"], vec![])),
    ]
    .into_iter()
    .collect();
    let listed: BTreeSet<String> = commands().into_iter().collect();
    assert_eq!(expected.keys().map(ToString::to_string).collect::<BTreeSet<_>>(), listed, "every command is here");
    let shared: Vec<&str> = answering.iter().copied().chain(all).chain(heaps).collect();
    for (command, (groups, more)) in expected {
        let listed = options_of(command);
        let mut found: Vec<&str> =
            shared.iter().copied().filter(|option| listed.iter().any(|own| own == option)).collect();
        let mut wanted = [groups, more].concat();
        found.sort_unstable();
        wanted.sort_unstable();
        assert_eq!(found, wanted, "{command}");
        // The manual page is made of the same.
        let page = run(&["man", command]).expect_code(0).stdout.replace("\\-", "-");
        for option in &listed {
            assert!(page.contains(option.as_str()), "{command}: {option}");
        }
        for option in shared.iter().filter(|option| !wanted.contains(option)) {
            assert!(!page.contains(&format!("{option}\\f")), "{command}: {option}");
        }
    }
}

/// Every kind of roots that `info` prints can be left out.
#[test]
fn every_kind_of_roots_can_be_left_out() {
    let mut kinds = BTreeMap::<String, usize>::new();
    for fixture in fixtures::all().into_iter().filter(|fixture| !fixture.has_no_objects()) {
        let path = fixture.path.display().to_string();
        let options = fixture.arguments();
        let ask = |more: &[&str]| {
            let mut words: Vec<&str> = vec!["info", &path, "-f", "json", "-q"];
            words.extend(options.iter().map(String::as_str));
            words.extend(more);
            finish(heapdump(&words))
        };
        for more in [&[][..], &["--keep-unreachable"]] {
            let ran = ask(more);
            if ran.code != 0 {
                continue;
            }
            let json = ran.json();
            let sections = json["sections"].as_array().cloned().unwrap_or_default();
            for section in sections {
                for (kind, _) in section["roots_by_kind"].as_object().expect("kinds") {
                    let known = kinds.entry(kind.clone()).or_default();
                    *known += 1;
                    if *known <= 2 {
                        ask(&[more, &["--exclude-roots", kind]].concat()).expect_code(0);
                        ask(&[more, &["--exclude-roots", &kind.replace(' ', "-")]].concat()).expect_code(0);
                    }
                }
            }
        }
    }
    for kind in ["static", "local", "handle", "finalizer", "dependent", "runtime", "gc", "unreachable", "weak handle"] {
        assert!(kinds.contains_key(kind), "{kind}: {kinds:?}");
    }
    let small = "fixtures/gcdump/small-net9.gcdump.zst";
    for kind in ["dependent", "com", "weak-handle", "kind 7"] {
        run(&["stats", small, "-q", "--exclude-roots", kind]).expect_code(0);
    }
    for kind in ["locale", "kind of", "weak", ""] {
        run(&["stats", small, "-q", "--exclude-roots", kind]).expect_code(2);
    }
}
