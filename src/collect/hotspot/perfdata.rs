//! The counters that a JVM publishes in a file of shared memory: who it is, what its heap holds. Nothing is asked of it.
//!
//! `/tmp/hsperfdata_USER/PID`, integers in the byte order that byte 4 names (0: big, 1: little):
//!
//! ```text
//! 0 CA FE C0 C0   4 u8 byte order   5 u8 major 2   6 u8 minor   7 u8 accessible
//! 24 i32 offset of the first entry   28 i32 entries
//! entry: i32 length, i32 name offset, i32 vector length (0: scalar), u8 type ('J' i64, 'B' bytes), 3 u8, i32 data offset
//! ```

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Seek};
use std::time::Duration;

use rustix::fs::{Dir, Mode, OFlags, openat};

use crate::collect::private_folder::open_in_root;
use crate::collect::process::Process;

/// The file is 32 KiB by default.
const MAX_FILE_BYTES: u64 = 1 << 20;
/// Bytes before an entry's name.
const ENTRY_HEAD_BYTES: usize = 20;
const MAX_NAME_BYTES: usize = 256;

const JAVA_VERSION_COUNTER: &str = "java.property.java.version";
const SPECIFICATION_VERSION_COUNTER: &str = "java.property.java.vm.specification.version";
const COMMAND_COUNTER: &str = "sun.rt.javaCommand";
const CAPABILITIES_COUNTER: &str = "sun.rt.jvmCapabilities";
const POLICY_COUNTER: &str = "sun.gc.policy.name";
/// Ticks in a second, in which times are counted.
const TICK_FREQUENCY_COUNTER: &str = "sun.os.hrt.frequency";
/// Counters that are texts, as far as they matter: what else a file holds is not kept.
const TEXT_COUNTERS: [&str; 5] =
    [JAVA_VERSION_COUNTER, SPECIFICATION_VERSION_COUNTER, COMMAND_COUNTER, CAPABILITIES_COUNTER, POLICY_COUNTER];

/// The counters of a JVM, as far as they matter.
#[derive(Debug, Default)]
pub(crate) struct PerfData {
    text_counters: HashMap<&'static str, String>,
    /// Bytes in use of the heap's parts.
    used_bytes_by_space: Vec<i64>,
    /// The most bytes that its generations may have.
    max_bytes: Vec<i64>,
    /// In the collectors, since the start; none where no collector says so.
    gc_ticks: Option<i64>,
    ticks_per_second: i64,
}

/// The file of a process's counters, to be read again and again.
#[derive(Debug)]
pub(crate) struct PerfDataFile(File);

impl PerfDataFile {
    /// The file that a process has in its memory; nothing where it has none. One that another process of this number has left is
    /// not believed.
    pub(crate) fn open(process: &Process) -> Option<Self> {
        let folder = OFlags::RDONLY | OFlags::DIRECTORY;
        let mapped = process.mapped_files().ok()?;
        let tmp = open_in_root(process, "/tmp", folder).ok()?;
        let names = Dir::read_from(&tmp).ok()?.flatten();
        let names = names.map(|entry| entry.file_name().to_owned());
        names.filter(|name| name.to_bytes().starts_with(b"hsperfdata_")).find_map(|name| {
            let end = format!("/{}/{}", name.to_string_lossy(), process.namespace_pid);
            mapped.iter().find(|file| file.ends_with(&end))?;
            let folder = openat(&tmp, name, folder | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty()).ok()?;
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            let file = openat(&folder, process.namespace_pid.to_string(), flags, Mode::empty()).ok()?;
            let is_own = rustix::fs::fstat(&file).is_ok_and(|facts| facts.st_uid == process.uid);
            is_own.then(|| PerfDataFile(file.into()))
        })
    }

    /// The counters as they are now.
    pub(crate) fn read(&self) -> Option<PerfData> {
        let mut file = &self.0;
        let mut bytes = Vec::new();
        file.rewind().and_then(|()| file.take(MAX_FILE_BYTES).read_to_end(&mut bytes)).ok()?;
        PerfData::parse(&bytes)
    }
}

impl PerfData {
    /// The counters of a process as they are now; nothing where it has none.
    pub(crate) fn of(process: &Process) -> Option<Self> {
        PerfDataFile::open(process)?.read()
    }

    /// Reads the counters' file; nothing where it is none. What it takes is bounded by its size.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let is_little = *bytes.get(4)? == 1;
        let array = |at: usize| bytes.get(at..at.checked_add(4)?)?.try_into().ok();
        let int = |at: usize| array(at).map(if is_little { i32::from_le_bytes } else { i32::from_be_bytes });
        let size = |at: usize| int(at).and_then(|number| usize::try_from(number).ok());
        if !bytes.starts_with(&[0xCA, 0xFE, 0xC0, 0xC0]) || bytes.get(5) != Some(&2) {
            return None;
        }
        let mut found = PerfData::default();
        let (mut at, entries) = (size(24)?, size(28)?);
        for _ in 0..entries {
            let (length, vector) = (size(at)?, size(at.checked_add(8)?)?);
            if length < ENTRY_HEAD_BYTES {
                break;
            }
            let end = at.checked_add(length)?;
            let entry = bytes.get(at..end.min(bytes.len()))?;
            let name = text_at(entry, size(at + 4)?, MAX_NAME_BYTES)?;
            let data = size(at + 16)?;
            match (entry.get(12)?, vector) {
                (b'J', 0) => {
                    let raw: [u8; 8] = entry.get(data..data.checked_add(8)?)?.try_into().ok()?;
                    let number = if is_little { i64::from_le_bytes(raw) } else { i64::from_be_bytes(raw) };
                    if is_used_bytes_counter(name) {
                        found.used_bytes_by_space.push(number);
                    } else if is_max_bytes_counter(name) {
                        found.max_bytes.push(number);
                    } else if is_gc_time_counter(name) {
                        found.gc_ticks = Some(found.gc_ticks.unwrap_or(0).saturating_add(number.max(0)));
                    } else if name == TICK_FREQUENCY_COUNTER.as_bytes() {
                        found.ticks_per_second = number;
                    }
                }
                (b'B', 1..) => {
                    if let Some(name) = TEXT_COUNTERS.iter().find(|known| known.as_bytes() == name) {
                        let text = String::from_utf8_lossy(text_at(entry, data, vector)?).into_owned();
                        found.text_counters.insert(name, text);
                    }
                }
                _ => {}
            }
            at = end;
        }
        Some(found)
    }

    fn text_counter(&self, name: &str) -> Option<&str> {
        self.text_counters.get(name).map(String::as_str).filter(|text| !text.is_empty())
    }

    /// `17.0.15`.
    pub(crate) fn full_java_version(&self) -> Option<&str> {
        self.text_counter(JAVA_VERSION_COUNTER)
    }

    /// 8, 11, 17.
    pub(crate) fn java_major_version(&self) -> Option<u32> {
        let text = self.text_counter(SPECIFICATION_VERSION_COUNTER)?;
        text.strip_prefix("1.").unwrap_or(text).parse().ok()
    }

    /// Command that was started: a class, or the path of a JAR, with its arguments.
    pub(crate) fn command(&self) -> Option<&str> {
        self.text_counter(COMMAND_COUNTER)
    }

    pub(crate) fn is_attach_disabled(&self) -> bool {
        self.text_counter(CAPABILITIES_COUNTER).is_some_and(|letters| letters.starts_with('0'))
    }

    /// Bytes of the heap in use, garbage included, as counted at the latest collection: none before the first. Not known of ZGC and
    /// Shenandoah, which count otherwise and name no policy.
    pub(crate) fn used_heap_bytes(&self) -> Option<u64> {
        self.text_counter(POLICY_COUNTER)?;
        let used = self.used_bytes_by_space.iter().map(|&bytes| bytes.max(0) as u64);
        Some(used.fold(0u64, u64::saturating_add))
    }

    /// The most bytes that the heap may have (`-Xmx`). Each generation of G1 may have all of them, and some bytes of padding.
    pub(crate) fn max_heap_bytes(&self) -> Option<u64> {
        let max = self.max_bytes.iter().map(|&bytes| bytes.max(0) as u64);
        let bytes = match self.text_counter(POLICY_COUNTER) {
            Some("GarbageFirst") => max.max()?,
            _ => max.fold(0u64, u64::saturating_add),
        };
        (bytes > 0).then_some(bytes)
    }

    /// Time in collections since the start, those of all collectors.
    pub(crate) fn gc_time(&self) -> Option<Duration> {
        let seconds = self.gc_ticks? as f64 / self.ticks_per_second as f64;
        Duration::try_from_secs_f64(seconds).ok()
    }
}

/// `sun.gc.collector.0.time`
fn is_gc_time_counter(name: &[u8]) -> bool {
    is_numbered(name, b"sun.gc.collector.", b".time")
}

/// `sun.gc.generation.1.maxCapacity`
fn is_max_bytes_counter(name: &[u8]) -> bool {
    is_numbered(name, b"sun.gc.generation.", b".maxCapacity")
}

fn is_numbered(name: &[u8], before: &[u8], behind: &[u8]) -> bool {
    let number = name.strip_prefix(before).and_then(|name| name.strip_suffix(behind));
    number.is_some_and(|number| number.iter().all(u8::is_ascii_digit))
}

/// `sun.gc.generation.0.space.2.used`
fn is_used_bytes_counter(name: &[u8]) -> bool {
    let has = |part: &[u8]| memchr::memmem::find(name, part).is_some();
    name.starts_with(b"sun.gc.generation.") && has(b".space.") && name.ends_with(b".used")
}

/// Text up to a NUL or the end.
fn text_at(bytes: &[u8], at: usize, most: usize) -> Option<&[u8]> {
    let rest = bytes.get(at..)?;
    let rest = &rest[..rest.len().min(most)];
    Some(&rest[..memchr::memchr(0, rest).unwrap_or(rest.len())])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The file as a JVM writes it.
    fn written(is_little: bool, entries: &[(&str, Result<i64, &str>)]) -> Vec<u8> {
        let int = |number: usize| {
            let number = number as i32;
            if is_little { number.to_le_bytes() } else { number.to_be_bytes() }
        };
        let mut bytes = vec![0xCA, 0xFE, 0xC0, 0xC0, u8::from(is_little), 2, 0, 1];
        bytes.resize(24, 0);
        bytes.extend(int(32));
        bytes.extend(int(entries.len()));
        for (name, value) in entries {
            let name_end = (20 + name.len() + 1).next_multiple_of(8);
            let data = match value {
                Ok(number) if is_little => number.to_le_bytes().to_vec(),
                Ok(number) => number.to_be_bytes().to_vec(),
                Err(text) => [text.as_bytes(), &[0; 9]].concat(),
            };
            let vector = if value.is_ok() { 0 } else { data.len() };
            let entry = bytes.len();
            bytes.extend(int((name_end + data.len()).next_multiple_of(8)));
            bytes.extend(int(20));
            bytes.extend(int(vector));
            bytes.extend([if value.is_ok() { b'J' } else { b'B' }, 0, 0, 0]);
            bytes.extend(int(name_end));
            bytes.extend(name.as_bytes());
            bytes.resize(entry + name_end, 0);
            bytes.extend(data);
            bytes.resize(bytes.len().next_multiple_of(8), 0);
        }
        bytes
    }

    const ENTRIES: [(&str, Result<i64, &str>); 14] = [
        ("java.property.java.version", Err("1.8.0_402")),
        ("java.property.java.vm.specification.version", Err("1.8")),
        ("sun.gc.generation.0.space.0.used", Ok(1000)),
        ("sun.gc.generation.1.space.0.used", Ok(30)),
        ("sun.gc.generation.1.space.0.capacity", Ok(7777)),
        ("sun.gc.generation.0.maxCapacity", Ok(2000)),
        ("sun.gc.generation.1.maxCapacity", Ok(4000)),
        ("sun.gc.generation.1.space.0.maxCapacity", Ok(4000)),
        ("sun.rt.jvmCapabilities", Err("0000")),
        ("sun.gc.policy.name", Err("Copy:MSC")),
        ("sun.gc.collector.0.time", Ok(5_000_000)),
        ("sun.gc.collector.1.time", Ok(2_000_000)),
        ("sun.gc.collector.1.lastEntryTime", Ok(9_000_000)),
        ("sun.os.hrt.frequency", Ok(1_000_000)),
    ];

    #[test]
    fn counters_are_read_in_both_byte_orders() {
        for is_little in [true, false] {
            let data = PerfData::parse(&written(is_little, &ENTRIES)).expect("counters");
            assert_eq!(
                (data.full_java_version(), data.java_major_version(), data.used_heap_bytes()),
                (Some("1.8.0_402"), Some(8), Some(1030))
            );
            assert_eq!(data.max_heap_bytes(), Some(6000));
            assert!(data.is_attach_disabled() && data.command().is_none());
            assert_eq!(data.gc_time(), Some(Duration::from_secs(7)));
        }
        let with_g1 = [&ENTRIES[..], &[("sun.gc.policy.name", Err("GarbageFirst"))]].concat();
        assert_eq!(PerfData::parse(&written(true, &with_g1)).expect("counters").max_heap_bytes(), Some(4000));
        let is_policy = |entry: &&(&str, Result<i64, &str>)| entry.0 == "sun.gc.policy.name";
        let with_zgc: Vec<_> = ENTRIES.iter().filter(|entry| !is_policy(entry)).copied().collect();
        assert_eq!(PerfData::parse(&written(true, &with_zgc)).expect("counters").used_heap_bytes(), None);
        let fresh = ENTRIES.map(|(name, value)| (name, if name.ends_with(".used") { Ok(0) } else { value }));
        assert_eq!(PerfData::parse(&written(true, &fresh)).expect("counters").used_heap_bytes(), Some(0));
    }

    /// A file that an ended process of the same number has left is in nobody's memory.
    #[test]
    fn what_another_process_has_left_is_not_believed() {
        let folder = tempfile::Builder::new().prefix("hsperfdata_").tempdir_in("/tmp").expect("a folder");
        let path = folder.path().join(std::process::id().to_string());
        let bytes = written(true, &ENTRIES);
        assert!(PerfData::parse(&bytes).is_some());
        std::fs::write(path, bytes).expect("written");
        let process = Process::open(std::process::id()).expect("this process");
        assert!(PerfData::of(&process).is_none());
    }

    /// Entries that lie in each other would be read again and again, each with a name of all that follows.
    #[test]
    fn entries_take_no_more_than_the_file_has() {
        let mut bytes = written(true, &[]);
        bytes[28..32].copy_from_slice(&i32::MAX.to_le_bytes());
        bytes.resize(MAX_FILE_BYTES as usize, b'x');
        for at in (32..bytes.len() - 32).step_by(ENTRY_HEAD_BYTES) {
            let entry = [ENTRY_HEAD_BYTES as i32, 20, 1 << 20].map(i32::to_le_bytes).concat();
            bytes[at..at + 12].copy_from_slice(&entry);
            bytes[at + 12..at + 16].copy_from_slice(b"B\0\0\0");
            bytes[at + 16..at + 20].copy_from_slice(&20i32.to_le_bytes());
        }
        let texts =
            |data: Option<PerfData>| data.map_or(0, |data| data.text_counters.values().map(String::len).sum::<usize>());
        assert!(texts(PerfData::parse(&bytes)) <= bytes.len());
        // No length: it would stand still.
        bytes[32..36].copy_from_slice(&0i32.to_le_bytes());
        assert_eq!(PerfData::parse(&bytes).expect("no entries").used_bytes_by_space.len(), 0);
    }

    #[test]
    fn damage_is_no_panic() {
        let whole = written(true, &ENTRIES);
        for cut in 0..whole.len() {
            let _ = PerfData::parse(&whole[..cut]);
        }
        for at in 0..whole.len() {
            for value in [0, 1, 0x7f, 0x80, 0xff] {
                let mut bytes = whole.clone();
                bytes[at] = value;
                let _ = PerfData::parse(&bytes);
            }
        }
        assert!(PerfData::parse(b"").is_none());
    }
}
