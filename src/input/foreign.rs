//! Files that are recognised and not read: what users have at hand beside dumps, so that the error can name it.
//!
//! Asked only when no reader takes the file.

const ARCHIVE: &str = "unpack it and name the dump in it";
const PROCESS: &str =
    "it is the memory of a process as it was; what is read here are heap dumps, as runtimes write them";
const NO_DUMP: &str = "name a heap dump";
const ELF: &[u8] = b"\x7fELF";

/// How a file begins, what it is, and what to do with it.
const FOREIGN: [(&[u8], &str, &str); 15] = [
    (b"0SECTION ", "a Java core", "it lists threads and holds no objects; the heap dump is a file beside it"),
    (b"\x89PNG", "a picture (PNG)", NO_DUMP),
    (b"\xff\xd8\xff", "a picture (JPEG)", NO_DUMP),
    (b"%PDF", "a PDF document", NO_DUMP),
    (b"FLR\0", "a Java flight recording", "JDK Mission Control opens it"),
    (b"MDMP", "a Windows minidump", PROCESS),
    (b"PAGEDU", "a Windows kernel dump", "WinDbg opens it"),
    (ELF, "an ELF program or library", "name a dump"),
    (b"PK\x03\x04", "a zip archive", ARCHIVE),
    (b"PK\x05\x06", "an empty zip archive", "there is nothing in it"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", ARCHIVE),
    (b"Rar!\x1a\x07", "a rar archive", ARCHIVE),
    (b"\xfd7zXZ\0", "packed with xz", "unpack it on the way: xz -dc FILE | heapdump ..."),
    (b"BZh", "packed with bzip2", "unpack it on the way: bzip2 -dc FILE | heapdump ..."),
    (b"\x04\x22\x4d\x18", "packed with lz4", "unpack it on the way: lz4 -dc FILE | heapdump ..."),
];

/// What a file is that begins like this, in a sentence; `None` when nobody knows.
pub(super) fn name(start: &[u8]) -> Option<String> {
    if is_core(start) {
        return Some(sentence("an ELF core dump", PROCESS));
    }
    if is_class_histogram(start) {
        return Some(sentence("the text of jmap -histo", "it counts by class already; a dump says what holds what"));
    }
    let (_, what, advice) = FOREIGN.iter().find(|(mark, ..)| start.starts_with(mark))?;
    Some(sentence(what, advice))
}

fn sentence(what: &str, advice: &str) -> String {
    format!("is {what}, which heapdump does not read; {advice}")
}

/// `num     #instances         #bytes  class name`, with blanks before it, after lines of the tool's own or without.
fn is_class_histogram(start: &[u8]) -> bool {
    let is_heading = |line: &[u8]| {
        let mut words = line.split(|byte| byte.is_ascii_whitespace()).filter(|word| !word.is_empty());
        words.next() == Some(b"num") && words.next() == Some(b"#instances")
    };
    start.split(|&byte| byte == b'\n').take(4).any(is_heading)
}

/// An ELF file says in its 17th and 18th byte what it is, in its own byte order; 4 is a core.
fn is_core(start: &[u8]) -> bool {
    const BIG_ENDIAN: u8 = 2;
    match start {
        [0x7F, b'E', b'L', b'F', _, order, ..] if start.len() >= 18 => {
            start[16..18] == if *order == BIG_ENDIAN { [0, 4] } else { [4, 0] }
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_called_by_their_names() {
        for (mark, what, _) in FOREIGN {
            let start = [mark, b" and the rest of it"].concat();
            assert!(name(&start).is_some_and(|text| text.contains(what)), "{what}");
        }
        let histogram = name(b"4711:\n num     #instances         #bytes  class name (module)\n----\n");
        assert!(histogram.is_some_and(|text| text.contains("jmap -histo")));
        assert_eq!(name(b"a 2 x\n"), None);
        assert_eq!(name(b""), None);
    }

    #[test]
    fn a_core_is_told_from_a_program() {
        let elf = |order: u8, kind: [u8; 2]| [ELF, &[2, order], &[0; 10], &kind].concat();
        for core in [elf(1, [4, 0]), elf(2, [0, 4])] {
            assert!(name(&core).is_some_and(|text| text.contains("core dump")));
        }
        for other in [elf(1, [2, 0]), elf(2, [4, 0]), ELF.to_vec()] {
            assert!(name(&other).is_some_and(|text| text.contains("program")));
        }
    }
}
