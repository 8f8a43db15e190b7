//! Is a heap snapshot whole? Its text is looked at as it passes: it must end where it began, with as many numbers as its
//! head announces.

use serde::Deserialize;

/// The head is some kilobytes.
const MAX_HEAD_BYTES: usize = 64 << 10;

/// Facts of the head, as far as they matter.
#[derive(Deserialize)]
struct SnapshotHead {
    meta: SnapshotMeta,
    node_count: u64,
    edge_count: u64,
}

#[derive(Deserialize)]
struct SnapshotMeta {
    node_fields: Vec<serde::de::IgnoredAny>,
    edge_fields: Vec<serde::de::IgnoredAny>,
}

/// The value of the outermost object that is being read.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum TopLevelValue {
    #[default]
    Other,
    Head,
    Nodes,
    Edges,
}

/// A look at a snapshot's text, byte by byte.
#[derive(Debug, Default)]
pub(super) struct SnapshotCheck {
    nesting_depth: u32,
    is_in_text: bool,
    is_escaped: bool,
    /// The last text at depth 1: a key, or a value that nobody asks for.
    last_top_level_text: Vec<u8>,
    current_value: TopLevelValue,
    /// The text of the head, as far as it has come.
    head: Vec<u8>,
    /// Numbers of the two arrays.
    node_number_count: u64,
    edge_number_count: u64,
    /// The last byte that is no blank.
    last_byte: u8,
    has_begun: bool,
    is_broken: bool,
}

impl SnapshotCheck {
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.check_byte(byte);
        }
    }

    fn check_byte(&mut self, byte: u8) {
        if self.current_value == TopLevelValue::Head && self.head.len() < MAX_HEAD_BYTES {
            self.head.push(byte);
        }
        if self.is_in_text {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' => self.is_escaped = true,
                b'"' => self.is_in_text = false,
                _ if self.nesting_depth == 1 && self.last_top_level_text.len() < 64 => {
                    self.last_top_level_text.push(byte)
                }
                _ => {}
            }
            return;
        }
        if byte.is_ascii_whitespace() {
            return;
        }
        // What stands behind the end is no part of it.
        self.is_broken |= self.has_begun && self.nesting_depth == 0;
        match byte {
            b'"' => {
                self.is_in_text = true;
                if self.nesting_depth == 1 {
                    self.last_top_level_text.clear();
                }
            }
            b'{' | b'[' => {
                if self.nesting_depth == 1 {
                    self.current_value = match &self.last_top_level_text[..] {
                        b"snapshot" => TopLevelValue::Head,
                        b"nodes" => TopLevelValue::Nodes,
                        b"edges" => TopLevelValue::Edges,
                        _ => TopLevelValue::Other,
                    };
                    if self.current_value == TopLevelValue::Head {
                        self.head = vec![byte];
                    }
                }
                self.nesting_depth += 1;
                self.has_begun = true;
            }
            b'}' | b']' => {
                if self.nesting_depth == 2 {
                    // The last number has no comma behind it.
                    self.count_numbers(u64::from(self.last_byte != b'['));
                    self.current_value = TopLevelValue::Other;
                }
                self.is_broken |= self.nesting_depth == 0;
                self.nesting_depth = self.nesting_depth.saturating_sub(1);
            }
            b',' if self.nesting_depth == 2 => self.count_numbers(1),
            _ => {}
        }
        self.last_byte = byte;
    }

    fn count_numbers(&mut self, numbers: u64) {
        match self.current_value {
            TopLevelValue::Nodes => self.node_number_count += numbers,
            TopLevelValue::Edges => self.edge_number_count += numbers,
            TopLevelValue::Head | TopLevelValue::Other => {}
        }
    }

    pub(super) fn object_count_if_whole(&self) -> Option<u64> {
        let ends =
            self.has_begun && self.nesting_depth == 0 && !self.is_in_text && !self.is_broken && self.last_byte == b'}';
        let head: SnapshotHead = serde_json::from_slice(&self.head).ok()?;
        let numbers = |count: u64, fields: &[serde::de::IgnoredAny]| count.checked_mul(fields.len() as u64);
        let fits = numbers(head.node_count, &head.meta.node_fields) == Some(self.node_number_count)
            && numbers(head.edge_count, &head.meta.edge_fields) == Some(self.edge_number_count);
        (ends && fits).then_some(head.node_count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SNAPSHOT: &str = r#"{"snapshot":{"meta":{"node_fields":["a","b"],"edge_fields":["x","}"]},"node_count":2,"edge_count":1},
"nodes":[1,2
,3,4],"edges":[7,8],"strings":["nodes","[\"{"],"x":[]}
"#;

    fn objects(text: &str, size: usize) -> Option<u64> {
        let mut check = SnapshotCheck::default();
        text.as_bytes().chunks(size).for_each(|chunk| check.feed(chunk));
        check.object_count_if_whole()
    }

    #[test]
    fn a_whole_snapshot_has_what_its_head_says() {
        for size in [1, 7, 1000] {
            assert_eq!(objects(SNAPSHOT, size), Some(2));
        }
        let empty = SNAPSHOT.replace("1,2\n,3,4", "").replace("\"node_count\":2", "\"node_count\":0");
        assert_eq!(objects(&empty, 9), Some(0));
    }

    #[test]
    fn what_is_cut_or_short_is_none() {
        let end = SNAPSHOT.trim_end().len();
        for cut in 0..end {
            assert_eq!(objects(&SNAPSHOT[..cut], 50), None, "{cut}");
        }
        for (from, to) in
            [(",4]", "]"), ("7,8", "7"), ("node_count\":2", "node_count\":3"), ("\"x\":[]}", "\"x\":[]}}")]
        {
            assert_eq!(objects(&SNAPSHOT.replace(from, to), 50), None, "{from}");
        }
    }
}
