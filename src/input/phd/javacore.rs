//! The Java core of the same moment, a text beside the dump, where there is one: it has the names of threads, which the
//! dump lacks.

use std::path::{Path, PathBuf};

use crate::graph::MemoryBudget;
use crate::input::{ReadError, Source};

/// Bytes that are read at once; longer lines are cut.
const WINDOW_BYTES: usize = 256 << 10;
const MAX_NAME_CHARS: usize = 1000;
/// Threads that are kept: no virtual machine has more.
const MAX_THREADS: usize = 1 << 17;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct CoreThread {
    pub(super) name: String,
    pub(super) object_address: u64,
}

#[derive(Debug)]
pub(super) struct JavaCore {
    /// Its file's name.
    pub(super) file_name: String,
    pub(super) threads: Vec<CoreThread>,
}

/// The Java core of the dump in this file. `None` where there is none, or it cannot be read.
pub(super) fn find_beside(dump: &Path, budget: &MemoryBudget) -> Option<JavaCore> {
    let names = core_names_beside(dump.file_name()?.to_str()?)?;
    let paths = names.into_iter().map(|name| dump.with_file_name(name));
    let path: PathBuf = paths.into_iter().find(|path| path.is_file())?;
    let mut source = Source::open(&path).ok()?;
    source.share_budget(budget);
    let threads = read_threads(source, budget).ok()?;
    let name = path.file_name()?.to_string_lossy().into_owned();
    Some(JavaCore { file_name: name, threads })
}

/// `heapdump.DATE.TIME.PID.0002.phd` is written with `javacore.DATE.TIME.PID.0003.txt` mostly.
fn core_names_beside(dump: &str) -> Option<[String; 3]> {
    let dump = dump.strip_suffix(".gz").unwrap_or(dump);
    let stem = dump.strip_prefix("heapdump.")?.strip_suffix(".phd")?;
    let (moment, number) = stem.rsplit_once('.')?;
    if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let sequence: u32 = number.parse().ok()?;
    let digits = number.len();
    let sequences = [sequence, sequence.checked_add(1)?, sequence.saturating_sub(1)];
    Some(sequences.map(|sequence| format!("javacore.{moment}.{sequence:0digits$}.txt")))
}

fn read_threads(mut source: Source, budget: &MemoryBudget) -> Result<Vec<CoreThread>, ReadError> {
    let mut share = budget.for_buffer();
    share.set_held_bytes(WINDOW_BYTES as u64)?;
    let mut window = vec![0; WINDOW_BYTES];
    let mut threads = Vec::new();
    let mut kept = 0;
    loop {
        let read = source.fill(&mut window[kept..])?;
        let is_last = kept + read < window.len();
        let text = &window[..kept + read];
        let lines = match text.iter().rposition(|&byte| byte == b'\n' || byte == b'\r') {
            Some(end) if !is_last => end + 1,
            _ => text.len(),
        };
        let found = text[..lines].split(|&byte| byte == b'\n' || byte == b'\r').filter_map(thread_in);
        threads.extend(found.take(MAX_THREADS.saturating_sub(threads.len())));
        if is_last {
            return Ok(threads);
        }
        kept = text.len() - lines;
        window.copy_within(lines.., 0);
    }
}

/// `3XMTHREADINFO      "main" J9VMThread:0x..., j9thread_t:0x..., java/lang/Thread:0x00000000016D55C0, state:R, prio=5`
fn thread_in(line: &[u8]) -> Option<CoreThread> {
    let rest = line.strip_prefix(b"3XMTHREADINFO ")?;
    let text = String::from_utf8_lossy(rest);
    // A name may have quotes and anything else in it; what follows it has none.
    let (name, rest) = text.trim_start().strip_prefix('"')?.rsplit_once('"')?;
    let (_, rest) = rest.split_once("java/lang/Thread:0x")?;
    let digits = rest.bytes().take_while(u8::is_ascii_hexdigit).count();
    let address = u64::from_str_radix(&rest[..digits], 16).ok().filter(|&address| address != 0)?;
    Some(CoreThread { name: name.chars().take(MAX_NAME_CHARS).collect(), object_address: address })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_are_named_after_their_dump() {
        let names = core_names_beside("heapdump.20160404.083909.9480.0002.phd.gz").expect("a name");
        assert_eq!(names[0], "javacore.20160404.083909.9480.0002.txt");
        assert_eq!(names[1], "javacore.20160404.083909.9480.0003.txt");
        assert_eq!(names[2], "javacore.20160404.083909.9480.0001.txt");
        for other in ["heap.phd", "heapdump.phd", "heapdump.1.x.phd", "heapdump.1.2.txt", "heapdump.1.99999999999.phd"]
        {
            assert_eq!(core_names_beside(other), None, "{other}");
        }
    }

    #[test]
    fn threads_have_a_name_and_an_object() {
        let line = br#"3XMTHREADINFO      "a "b", 1" J9VMThread:0x20, java/lang/Thread:0x00000000016D55C0, state:R"#;
        assert_eq!(thread_in(line), Some(CoreThread { name: "a \"b\", 1".into(), object_address: 0x16D_55C0 }));
        for other in [
            &b"3XMTHREADINFO      Anonymous native thread"[..],
            b"3XMTHREADINFO1            (native thread ID:0x20D0, native priority:0xB)",
            br#"3XMTHREADINFO      "main" TID:0x000CBD00, j9thread_t:0x00295524, state:R, prio=5"#,
            br#"3XMTHREADINFO      "none" java/lang/Thread:0x0000000000000000, state:R"#,
            br#"3XMTHREADINFO      "java/lang/Thread:0x10"#,
        ] {
            assert_eq!(thread_in(other), None, "{}", String::from_utf8_lossy(other));
        }
    }

    #[test]
    fn threads_are_found_across_windows() {
        let mut text = Vec::new();
        for number in 1..=20_000 {
            text.extend(
                format!("NULL {number}\r\n3XMTHREADINFO \"t{number}\" java/lang/Thread:0x{number:X}, x\r\n").bytes(),
            );
        }
        let source = Source::from_reader(std::io::Cursor::new(text)).expect("a text");
        let threads = read_threads(source, &MemoryBudget::default()).expect("readable");
        let addresses: Vec<u64> = threads.iter().map(|thread| thread.object_address).collect();
        assert_eq!(addresses, (1..=20_000).collect::<Vec<_>>());
    }
}
