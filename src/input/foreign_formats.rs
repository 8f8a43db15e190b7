//! Files that are recognised and not read: what users have at hand beside dumps, so that the error can name it.
//!
//! Asked only when no reader is certain of the file.

const ARCHIVE_ADVICE: &str = "unpack it and name the dump in it";
const PROCESS_ADVICE: &str = "it is the memory of a process as it was; what is read here are heap dumps, as runtimes write them: \
                       of a JVM's core, jhsdb jmap --binaryheap --core makes one";
const NO_DUMP_ADVICE: &str = "name a heap dump";
const ELF_MAGIC: &[u8] = b"\x7fELF";

/// First bytes of a file, its name in words, and advice.
const FOREIGN_FORMATS: [(&[u8], &str, &str); 20] = [
    (b"Full thread dump", "a Java thread dump", "it holds no objects: jcmd PID GC.heap_dump FILE writes a heap dump"),
    (b"\0asm", "a WebAssembly module", NO_DUMP_ADVICE),
    (b"SQLite format 3\0", "an SQLite database", NO_DUMP_ADVICE),
    (b"PAR1", "a Parquet file", "DuckDB reads it"),
    (b"MZ", "a Windows program or library", NO_DUMP_ADVICE),
    (b"\x1f\x9d", "packed with compress", "unpack it on the way: zcat FILE | heapdump ..."),
    (b"\x89PNG", "a picture (PNG)", NO_DUMP_ADVICE),
    (b"\xff\xd8\xff", "a picture (JPEG)", NO_DUMP_ADVICE),
    (b"%PDF", "a PDF document", NO_DUMP_ADVICE),
    (b"FLR\0", "a Java flight recording", "JDK Mission Control opens it"),
    (b"MDMP", "a Windows minidump", PROCESS_ADVICE),
    (b"PAGEDU", "a Windows kernel dump", "WinDbg opens it"),
    (ELF_MAGIC, "an ELF program or library", "name a dump"),
    (b"PK\x03\x04", "a zip archive", ARCHIVE_ADVICE),
    (b"PK\x05\x06", "an empty zip archive", "there is nothing in it"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", ARCHIVE_ADVICE),
    (b"Rar!\x1a\x07", "a rar archive", ARCHIVE_ADVICE),
    (b"\xfd7zXZ\0", "packed with xz", "unpack it on the way: xz -dc FILE | heapdump ..."),
    (b"BZh", "packed with bzip2", "unpack it on the way: bzip2 -dc FILE | heapdump ..."),
    (b"\x04\x22\x4d\x18", "packed with lz4", "unpack it on the way: lz4 -dc FILE | heapdump ..."),
];

/// A sentence on a file that begins like this; `None` when it is unknown.
pub(super) fn describe_start(start: &[u8]) -> Option<String> {
    let (what, advice) = if is_core_dump(start) {
        ("an ELF core dump", PROCESS_ADVICE)
    } else if start.get(257..262) == Some(b"ustar") {
        ("a tar archive", ARCHIVE_ADVICE)
    } else if is_class_file(start) {
        ("a Java class file", NO_DUMP_ADVICE)
    } else if is_java_core(start) {
        ("a Java core (javacore)", "it lists threads and holds no objects; the heap dump is a file beside it")
    } else if is_class_histogram(start) {
        ("the text of jmap -histo", "it counts by class already; a dump says what holds what")
    } else if let Some((_, what, advice)) = FOREIGN_FORMATS.iter().find(|(mark, ..)| start.starts_with(mark)) {
        (*what, *advice)
    } else {
        perfetto_name_and_advice(start)?
    };
    Some(with_advice(what, advice))
}

/// The same of what a reader may still take: pages and plain text. Names of all formats are for text that is a dump all
/// the same.
pub(super) fn describe_page_or_text(start: &[u8], formats: &[&str]) -> Option<String> {
    let text = match std::str::from_utf8(start) {
        Ok(text) => text,
        // The last character may be cut.
        Err(error) if error.error_len().is_none() => std::str::from_utf8(&start[..error.valid_up_to()]).ok()?,
        Err(_) => return None,
    };
    let first: String = text.trim_start().chars().take(14).collect::<String>().to_ascii_lowercase();
    if first.starts_with("<!doctype html") || first.starts_with("<html") {
        let advice =
            "a server may have sent it in place of the dump: look at it in a browser, and fetch the dump again";
        return Some(with_advice("an HTML page", advice));
    }
    let is_text = text.chars().all(|c| !c.is_control() || matches!(c, '\t' | '\n' | '\r' | '\u{c}' | '\u{1b}'));
    let formats = formats.join("|");
    is_text.then(|| format!("unknown format, plain text; if it is a heap dump, say --input-format {formats}"))
}

fn with_advice(what: &str, advice: &str) -> String {
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

/// `0SECTION       TITLE subcomponent dump routine`, after lines that say nothing.
fn is_java_core(start: &[u8]) -> bool {
    start.split(|&byte| byte == b'\n').take(4).any(|line| line.starts_with(b"0SECTION "))
}

/// The mark, and a version of Java's: programs of macOS for several processors have the mark too, and few processors.
fn is_class_file(start: &[u8]) -> bool {
    matches!(start, [0xCA, 0xFE, 0xBA, 0xBE, _, _, 0, 45..=255, ..])
}

/// Protocol buffers: those of Perfetto are packets and nothing else.
fn perfetto_name_and_advice(start: &[u8]) -> Option<(&'static str, &'static str)> {
    const PACKET_FIELD_TAG: u8 = 0x0A;
    /// Packets that are no accident.
    const MIN_PACKETS: usize = 4;
    // Lines of a text begin with the same byte where they are empty.
    if start.iter().take(64).all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace()) {
        return None;
    }
    let mut rest = start;
    for _ in 0..MIN_PACKETS {
        rest = rest.strip_prefix(&[PACKET_FIELD_TAG])?;
        let bytes = rest.iter().position(|byte| byte & 0x80 == 0).filter(|&at| at < 4)? + 1;
        let (length, behind) = rest.split_at(bytes);
        let length = length.iter().rev().fold(0, |length, byte| length << 7 | usize::from(byte & 0x7F));
        rest = behind.get(length..).filter(|_| length > 1)?;
    }
    Some(("a Perfetto trace", "ui.perfetto.dev opens it; a Java heap dump in it is not an HPROF file"))
}

/// An ELF file says in its 17th and 18th byte what it is, in its own byte order; 4 is a core.
fn is_core_dump(start: &[u8]) -> bool {
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
        for (mark, what, _) in FOREIGN_FORMATS {
            let start = [mark, b" and the rest of it"].concat();
            assert!(describe_start(&start).is_some_and(|text| text.contains(what)), "{what}");
        }
        let histogram = describe_start(b"4711:\n num     #instances         #bytes  class name (module)\n----\n");
        assert!(histogram.is_some_and(|text| text.contains("jmap -histo")));
        let named =
            |start: &[u8], what: &str| assert!(describe_start(start).is_some_and(|text| text.contains(what)), "{what}");
        named(&[&[b'x'; 257][..], b"ustar\x0000"].concat(), "a tar archive");
        named(b"\xca\xfe\xba\xbe\0\0\0\x34\0\x10", "a Java class file");
        named(b"NULL  ---\n0SECTION       TITLE subcomponent dump routine\n", "a Java core");
        named(&b"\x0a\x03\x52\x01\x00".repeat(4), "a Perfetto trace");
        for nobodys in [&b"a 2 x\n"[..], b"", &[b'\n'; 100], b"\xca\xfe\xba\xbe\0\0\0\x02"] {
            assert_eq!(describe_start(nobodys), None);
        }
        let text = |start: &[u8]| describe_page_or_text(start, &["a", "b"]);
        assert!(text(b" <!DOCTYPE HTML>\n<p>").is_some_and(|text| text.contains("an HTML page")));
        assert!(
            text("Gr\u{f6}\u{df}e\n\u{f6}".as_bytes().split_last().unwrap().1)
                .is_some_and(|text| text.contains("plain text"))
        );
        assert_eq!((text(b"a\0b"), text(b"a\xffb")), (None, None));
    }

    #[test]
    fn a_core_is_told_from_a_program() {
        let elf = |order: u8, kind: [u8; 2]| [ELF_MAGIC, &[2, order], &[0; 10], &kind].concat();
        for core in [elf(1, [4, 0]), elf(2, [0, 4])] {
            assert!(describe_start(&core).is_some_and(|text| text.contains("core dump")));
        }
        for other in [elf(1, [2, 0]), elf(2, [4, 0]), ELF_MAGIC.to_vec()] {
            assert!(describe_start(&other).is_some_and(|text| text.contains("program")));
        }
    }
}
