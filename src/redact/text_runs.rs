//! Runs of six bytes that read as a text: those of a copy, and whether a text of its dump has one of them.

use rustc_hash::FxHashSet;

/// Bytes of a run.
pub(super) const RUN_BYTES: usize = 6;

/// A run as a number.
type RunNumber = u64;

/// Does a run read as a text? In one byte a character (at least four of six ASCII, the others letters), as UTF-8, or in two
/// bytes a character, the high one first or last.
fn is_text(run: &[u8; RUN_BYTES]) -> bool {
    let ascii = run.iter().filter(|byte| is_ascii_text_byte(**byte)).count();
    (ascii >= 4 && run.iter().all(|byte| is_ascii_text_byte(*byte) || *byte >= 0xC0))
        || (ascii < 6 && is_non_ascii_utf8(run))
        || is_utf16_text([0, 2, 4].map(|at| (run[at], run[at + 1])))
        || is_utf16_text([0, 2, 4].map(|at| (run[at + 1], run[at])))
}

fn is_ascii_text_byte(byte: u8) -> bool {
    matches!(byte, 0x20..=0x7E | b'\t' | b'\n' | b'\r')
}

/// Letters beyond ASCII, the first and the last perhaps cut.
fn is_non_ascii_utf8(run: &[u8; RUN_BYTES]) -> bool {
    let start = run.iter().take_while(|byte| matches!(byte, 0x80..=0xBF)).count();
    let end = match std::str::from_utf8(&run[start..]) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none(),
    };
    start < 3 && end && run.iter().filter(|byte| **byte >= 0xC2).count() >= 2 && run.iter().all(|byte| *byte >= 0x20)
}

/// Three characters (high and low byte), those beyond ASCII of one page, or ideographs and halves of pairs.
fn is_utf16_text(units: [(u8, u8); 3]) -> bool {
    let mut page = 0;
    units.iter().all(|&(high, low)| match high {
        0 => is_ascii_text_byte(low) || low >= 0xC0,
        0x4E..=0xDF => (page == 0 || page == 0x4E).then(|| page = 0x4E).is_some(),
        0x01..=0x4D => (page == 0 || page == high).then(|| page = high).is_some(),
        _ => false,
    })
}

/// Shows each run of `bytes` that reads as a text, with its offset.
fn for_each_run(bytes: &[u8], mut see: impl FnMut(usize, RunNumber)) {
    for (at, run) in bytes.windows(RUN_BYTES).enumerate() {
        if let Ok(run) = <&[u8; RUN_BYTES]>::try_from(run)
            && is_text(run)
        {
            see(at, run_number(run));
        }
    }
}

fn run_number(run: &[u8; RUN_BYTES]) -> RunNumber {
    run.iter().fold(0, |number, &byte| number << 8 | RunNumber::from(byte))
}

/// Runs that may stand in a copy, and those that stand there all the same.
#[derive(Debug, Default)]
pub(super) struct TextRuns {
    /// Runs that may stand in the copy.
    allowed_runs: FxHashSet<RunNumber>,
    /// Runs of the copy that may not.
    copy_runs: FxHashSet<RunNumber>,
    /// Runs of texts that were looked for, and those of them that were found.
    pub(super) looked_for_count: u64,
    pub(super) remaining_count: u64,
    /// The place of the first of these in the dump.
    pub(super) first_remaining_offset: Option<u64>,
}

impl TextRuns {
    /// Allows all runs of a name, with dots, with slashes and between others.
    pub(super) fn allow_runs_of(&mut self, name: &[u8]) {
        let swapped: Vec<u8> = name.iter().map(|&byte| if byte == b'/' { b'.' } else { byte }).collect();
        for form in [name, &swapped] {
            for_each_run(form, |_, run| _ = self.allowed_runs.insert(run));
        }
    }

    /// Takes the next bytes of a copy, after the last of the bytes before them.
    pub(super) fn add_copy_bytes(&mut self, bytes: &[u8]) {
        let TextRuns { allowed_runs: allowed, copy_runs: found, .. } = self;
        for_each_run(bytes, |_, run| {
            if !allowed.contains(&run) {
                found.insert(run);
            }
        });
    }

    /// Looks for the runs of a text that begins at an offset of the dump.
    pub(super) fn look_for_runs(&mut self, text: &[u8], offset: u64) {
        let TextRuns { copy_runs: found, looked_for_count, remaining_count, first_remaining_offset, .. } = self;
        for_each_run(text, |at, run| {
            *looked_for_count += 1;
            if found.contains(&run) {
                *remaining_count += 1;
                first_remaining_offset.get_or_insert(offset + at as u64);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_is_left_is_found_in_both_widths() {
        let wide = |text: &str| text.encode_utf16().flat_map(u16::to_be_bytes).collect::<Vec<u8>>();
        for (copy, text, is_left) in [
            (b"\x01\x02 hunter2 \0".to_vec(), b"the password is hunter2".to_vec(), true),
            (b"\x01\x02 hunt\x02 \0".to_vec(), b"the password is hunter2".to_vec(), false),
            (b"java/lang/String".to_vec(), b"java.lang.String".to_vec(), false),
            (wide("xПароль"), wide("Пароль"), true),
            (wide("abc"), wide("-abc-"), true),
            (wide("密码本"), wide("密码本"), true),
            ("密码".as_bytes().to_vec(), "的密码本".as_bytes().to_vec(), true),
            (wide("а б в"), wide("а б в"), true),
            (wide("รหัส"), wide("รหัส"), true),
            (wide("a\u{1F600}b"), wide("a\u{1F600}b"), true),
            (b"key\tab".to_vec(), b"key\tab\n".to_vec(), true),
            (vec![0, 0, 0, 7, 0xFF, 0xE3, 0x12, 0x38], wide("abcdef"), false),
        ] {
            let mut runs = TextRuns::default();
            runs.allow_runs_of(b"java/lang/String");
            runs.add_copy_bytes(&copy);
            runs.look_for_runs(&text, 100);
            assert_eq!(runs.first_remaining_offset.is_some(), is_left, "{text:?}");
        }
    }
}
