//! Is a dump whole? Java 8 does not say how many bytes it wrote, and a right count says nothing of the bytes. The records must
//! follow each other to the last byte, one of them must hold the heap, and another one a class.

/// `JAVA PROFILE 1.0.1` and 0, then `u32 size of ids, u64 time`.
const FORMAT_NAME_START: &[u8] = b"JAVA PROFILE 1.0.";
const BYTES_AFTER_NAME: usize = 3 + 12 - 1;
/// `u8 tag, u32 time, u32 length`.
const RECORD_HEAD_BYTES: usize = 9;
const LOAD_CLASS_TAG: u8 = 0x02;
const HEAP_DUMP_TAG: u8 = 0x0C;
const HEAP_DUMP_SEGMENT_TAG: u8 = 0x1C;
const HEAP_DUMP_END_TAG: u8 = 0x2C;
const KNOWN_TAGS: [u8; 14] =
    [1, LOAD_CLASS_TAG, 3, 4, 5, 6, 7, 0x0A, 0x0B, HEAP_DUMP_TAG, 0x0D, 0x0E, HEAP_DUMP_SEGMENT_TAG, HEAP_DUMP_END_TAG];

/// A look at a dump's records as they pass.
#[derive(Debug, Default)]
pub(super) struct HprofCheck {
    has_file_head: bool,
    /// Of a head that has not come whole.
    partial_head: Vec<u8>,
    /// Bytes left of a record's content.
    content_left_bytes: u64,
    has_heap_record: bool,
    has_class_record: bool,
    /// A segment has come, and no end of them.
    has_open_segments: bool,
    is_broken: bool,
}

impl HprofCheck {
    pub(super) fn feed(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() && !self.is_broken {
            if self.content_left_bytes > 0 {
                let passed = self.content_left_bytes.min(bytes.len() as u64);
                self.content_left_bytes -= passed;
                bytes = &bytes[passed as usize..];
                continue;
            }
            let wanted =
                if self.has_file_head { RECORD_HEAD_BYTES } else { FORMAT_NAME_START.len() + BYTES_AFTER_NAME };
            let (taken, rest) = bytes.split_at(bytes.len().min(wanted - self.partial_head.len()));
            self.partial_head.extend_from_slice(taken);
            bytes = rest;
            if self.partial_head.len() == wanted {
                let head = std::mem::take(&mut self.partial_head);
                self.check_head(&head);
            }
        }
    }

    fn check_head(&mut self, head: &[u8]) {
        if !self.has_file_head {
            self.has_file_head = true;
            self.is_broken = !head.starts_with(FORMAT_NAME_START) || head.get(FORMAT_NAME_START.len() + 1) != Some(&0);
            return;
        }
        let [tag, _, _, _, _, length @ ..] = head else { return };
        let length = length.try_into().map_or(0, u32::from_be_bytes);
        self.is_broken = !KNOWN_TAGS.contains(tag);
        self.has_heap_record |= [HEAP_DUMP_TAG, HEAP_DUMP_SEGMENT_TAG].contains(tag) && length > 0;
        self.has_class_record |= *tag == LOAD_CLASS_TAG;
        match *tag {
            HEAP_DUMP_SEGMENT_TAG => self.has_open_segments = true,
            HEAP_DUMP_END_TAG => self.has_open_segments = false,
            _ => {}
        }
        self.content_left_bytes = u64::from(length);
    }

    pub(super) fn is_whole(&self) -> bool {
        let is_between = self.partial_head.is_empty() && self.content_left_bytes == 0;
        is_between && self.has_heap_record && self.has_class_record && !self.has_open_segments && !self.is_broken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dump(records: &[(u8, usize)]) -> Vec<u8> {
        let mut bytes = b"JAVA PROFILE 1.0.1\0\0\0\0\x08\0\0\0\0\0\0\0\0".to_vec();
        for (tag, length) in records {
            bytes.extend([*tag, 0, 0, 0, 0]);
            bytes.extend((*length as u32).to_be_bytes());
            bytes.resize(bytes.len() + length, 7);
        }
        bytes
    }

    fn is_whole(bytes: &[u8], size: usize) -> bool {
        let mut check = HprofCheck::default();
        bytes.chunks(size).for_each(|piece| check.feed(piece));
        check.is_whole()
    }

    #[test]
    fn a_dump_is_whole_at_its_last_record() {
        for records in [
            &[(1, 20), (2, 24), (HEAP_DUMP_TAG, 300)][..],
            &[(2, 24), (HEAP_DUMP_SEGMENT_TAG, 9), (HEAP_DUMP_END_TAG, 0)],
        ] {
            let bytes = dump(records);
            for size in [1, 10, 1000] {
                assert!(is_whole(&bytes, size), "{records:?}");
            }
            for cut in 0..bytes.len() {
                assert!(!is_whole(&bytes[..cut], 50), "{cut}");
            }
        }
        let class = (LOAD_CLASS_TAG, 24);
        for records in [
            &[class][..],
            &[(HEAP_DUMP_TAG, 9)],
            &[class, (HEAP_DUMP_TAG, 0)],
            &[class, (HEAP_DUMP_TAG, 9), (0x55, 1)],
            &[class, (HEAP_DUMP_SEGMENT_TAG, 9)],
        ] {
            assert!(!is_whole(&dump(records), 50), "{records:?}");
        }
        assert!(!is_whole(&[dump(&[class, (HEAP_DUMP_TAG, 9)]), vec![1]].concat(), 50));
        assert!(!is_whole(&[7; 300], 50));
    }

    #[test]
    fn a_dump_of_a_jvm_is_whole() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/hprof/zoo-jdk17-serial.hprof.zst");
        let mut bytes = Vec::new();
        let file = std::fs::File::open(path).expect("a fixture");
        let mut unpacked = ruzstd::decoding::StreamingDecoder::new(file).expect("zstd");
        std::io::Read::read_to_end(&mut unpacked, &mut bytes).expect("zstd");
        assert!(is_whole(&bytes, 1000) && !is_whole(&bytes[..bytes.len() - 1], 1000));
    }
}
