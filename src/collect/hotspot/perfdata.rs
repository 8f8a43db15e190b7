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
use std::io::Read;

use rustix::fs::{Dir, Mode, OFlags, openat};

use crate::collect::private_folder::open_in_root;
use crate::collect::process::Process;

/// The file is 32 KiB by default.
const MAX_BYTES: u64 = 1 << 20;

/// What the counters say.
#[derive(Debug, Default)]
pub(crate) struct PerfData {
    texts: HashMap<String, String>,
    numbers: HashMap<String, i64>,
}

impl PerfData {
    /// Reads the counters of a process; nothing where it has none, or another user's file is in their place.
    pub(crate) fn of(process: &Process) -> Option<Self> {
        let folder = OFlags::RDONLY | OFlags::DIRECTORY;
        let tmp = open_in_root(process, "/tmp", folder).ok()?;
        let names = Dir::read_from(&tmp).ok()?.flatten();
        let names = names.map(|entry| entry.file_name().to_owned());
        for name in names.filter(|name| name.to_bytes().starts_with(b"hsperfdata_")) {
            let Ok(folder) = openat(&tmp, name, folder | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty()) else {
                continue;
            };
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            let Ok(file) = openat(&folder, process.ns_pid.to_string(), flags, Mode::empty()) else { continue };
            // A file that a process of this number left, of another user.
            if rustix::fs::fstat(&file).is_ok_and(|facts| facts.st_uid != process.uid) {
                continue;
            }
            let mut bytes = Vec::new();
            File::from(file).take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
            return Self::parse(&bytes);
        }
        None
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
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
            if length == 0 {
                break;
            }
            let name = text_at(bytes, at.checked_add(size(at + 4)?)?, usize::MAX)?;
            let data = at.checked_add(size(at + 16)?)?;
            match (*bytes.get(at + 12)?, vector) {
                (b'J', 0) => {
                    let raw: [u8; 8] = bytes.get(data..data.checked_add(8)?)?.try_into().ok()?;
                    let number = if is_little { i64::from_le_bytes(raw) } else { i64::from_be_bytes(raw) };
                    found.numbers.insert(name, number);
                }
                (b'B', 1..) => drop(found.texts.insert(name, text_at(bytes, data, vector)?)),
                _ => {}
            }
            at = at.checked_add(length)?;
        }
        Some(found)
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.texts.get(name).map(String::as_str).filter(|text| !text.is_empty())
    }

    /// `17.0.15`.
    pub(crate) fn version(&self) -> Option<&str> {
        self.text("java.property.java.version")
    }

    /// 8, 11, 17.
    pub(crate) fn major(&self) -> Option<u32> {
        let text = self.text("java.property.java.vm.specification.version")?;
        text.strip_prefix("1.").unwrap_or(text).parse().ok()
    }

    /// What was started: a class with its arguments.
    pub(crate) fn command(&self) -> Option<&str> {
        self.text("sun.rt.javaCommand")
    }

    /// Is attaching switched off?
    pub(crate) fn is_attach_off(&self) -> bool {
        self.text("sun.rt.jvmCapabilities").is_some_and(|letters| letters.starts_with('0'))
    }

    /// Bytes of the heap in use, garbage included. Not known of collectors that count otherwise.
    pub(crate) fn heap_bytes(&self) -> Option<u64> {
        let flags = self.text("java.rt.vmFlags").unwrap_or_default();
        let arguments = self.text("java.rt.vmArgs").unwrap_or_default();
        let counts_otherwise = |text: &str| text.contains("+UseZGC") || text.contains("+UseShenandoahGC");
        if counts_otherwise(flags) || counts_otherwise(arguments) {
            return None;
        }
        let is_used =
            |name: &str| name.starts_with("sun.gc.generation.") && name.contains(".space.") && name.ends_with(".used");
        let used = self.numbers.iter().filter(|(name, _)| is_used(name)).map(|(_, &bytes)| bytes.max(0) as u64);
        let bytes = used.fold(0u64, u64::saturating_add);
        (bytes > 0).then_some(bytes)
    }
}

/// Text up to a NUL or the end.
fn text_at(bytes: &[u8], at: usize, most: usize) -> Option<String> {
    let rest = bytes.get(at..)?;
    let rest = &rest[..rest.len().min(most)];
    let end = memchr::memchr(0, rest).unwrap_or(rest.len());
    Some(String::from_utf8_lossy(&rest[..end]).into_owned())
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

    const ENTRIES: [(&str, Result<i64, &str>); 6] = [
        ("java.property.java.version", Err("1.8.0_402")),
        ("java.property.java.vm.specification.version", Err("1.8")),
        ("sun.gc.generation.0.space.0.used", Ok(1000)),
        ("sun.gc.generation.1.space.0.used", Ok(30)),
        ("sun.gc.generation.1.space.0.capacity", Ok(7777)),
        ("sun.rt.jvmCapabilities", Err("0000")),
    ];

    #[test]
    fn counters_are_read_in_both_byte_orders() {
        for is_little in [true, false] {
            let data = PerfData::parse(&written(is_little, &ENTRIES)).expect("counters");
            assert_eq!((data.version(), data.major(), data.heap_bytes()), (Some("1.8.0_402"), Some(8), Some(1030)));
            assert!(data.is_attach_off() && data.command().is_none());
        }
        let with_zgc = [&ENTRIES[..], &[("java.rt.vmArgs", Err("-Xmx1g -XX:+UseZGC"))]].concat();
        assert_eq!(PerfData::parse(&written(true, &with_zgc)).expect("counters").heap_bytes(), None);
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
