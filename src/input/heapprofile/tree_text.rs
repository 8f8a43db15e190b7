//! The tree of a profile as text: its nodes one behind the other, callers first, without a call for each level.

use crate::input::json_lines::{RawValue, parse_value, skip_blanks, text_end};

/// Nodes between two looks at the memory they take.
const NODES_PER_MEMORY_CHECK: u64 = 1 << 16;

/// A node as it stands in the text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TreeNode<'a> {
    /// The caller's place among the nodes; `None` of the head.
    pub(super) parent: Option<u32>,
    /// The object that names its function.
    pub(super) call_frame: Option<&'a [u8]>,
    /// `None` of what is no whole number.
    pub(super) self_bytes: Option<u64>,
    /// Where it begins.
    pub(super) offset: usize,
}

/// Nodes of a text, and where it was left.
#[derive(Debug)]
pub(super) struct TreeText<'a> {
    pub(super) nodes: Vec<TreeNode<'a>>,
    /// Behind the last byte that was read.
    pub(super) end_offset: usize,
    pub(super) ending: TreeEnding,
}

/// Why no more of a text is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TreeEnding {
    /// The object around the tree is closed.
    Closed,
    /// The text breaks off.
    Cut,
    /// It is no JSON from there on.
    NoJson,
}

impl<'a> TreeText<'a> {
    /// Reads `{"head":NODE, ...}`; what breaks off is read as far as it goes. `hold` is asked for the memory of so many nodes.
    /// O(bytes). Error: that of `hold`.
    pub(super) fn parse<E>(text: &'a [u8], mut hold: impl FnMut(u64) -> Result<(), E>) -> Result<Self, E> {
        let mut nodes: Vec<TreeNode<'a>> = Vec::new();
        // Nodes that are not closed yet.
        let mut open: Vec<u32> = Vec::new();
        let mut at = skip_blanks(text, 0);
        at += usize::from(text.get(at) == Some(&b'{'));
        loop {
            at = skip_blanks(text, at);
            match text.get(at) {
                Some(b'{') => {
                    let parent = open.last().copied();
                    open.push(nodes.len() as u32);
                    nodes.push(TreeNode { parent, call_frame: None, self_bytes: Some(0), offset: at });
                    if (nodes.len() as u64).is_multiple_of(NODES_PER_MEMORY_CHECK) {
                        hold(nodes.len() as u64)?;
                    }
                    at += 1;
                }
                Some(b'}') => {
                    at += 1;
                    if open.pop().is_none() {
                        return Ok(TreeText { nodes, end_offset: at, ending: TreeEnding::Closed });
                    }
                }
                Some(b',' | b']') => at += 1,
                Some(b'"') => match parse_field(text, at, &mut nodes, open.last()) {
                    Ok(behind) => at = behind,
                    Err(ending) => return Ok(TreeText { nodes, end_offset: at, ending }),
                },
                None => return Ok(TreeText { nodes, end_offset: at, ending: TreeEnding::Cut }),
                Some(_) => return Ok(TreeText { nodes, end_offset: at, ending: TreeEnding::NoJson }),
            }
        }
    }
}

/// Reads a key with its value, but of children and the head only their beginning. Returns what follows. Error: if it is no JSON,
/// or the text breaks off.
fn parse_field<'a>(
    text: &'a [u8],
    at: usize,
    nodes: &mut [TreeNode<'a>],
    open: Option<&u32>,
) -> Result<usize, TreeEnding> {
    let key_end = text_end(text, at + 1).map_err(|_| TreeEnding::Cut)?;
    let key = &text[at + 1..key_end];
    let colon = skip_blanks(text, key_end + 1);
    match text.get(colon) {
        Some(b':') => {}
        Some(_) => return Err(TreeEnding::NoJson),
        None => return Err(TreeEnding::Cut),
    }
    let start = skip_blanks(text, colon + 1);
    match (key, text.get(start)) {
        (b"children", Some(b'[')) if open.is_some() => return Ok(start + 1),
        (b"head", Some(b'{')) if nodes.is_empty() => return Ok(start),
        _ => {}
    }
    let (value, behind) = parse_value(text, start).map_err(|_| TreeEnding::Cut)?;
    if let Some(node) = open.and_then(|&node| nodes.get_mut(node as usize)) {
        match (key, value) {
            (b"callFrame", RawValue::Other(frame)) => node.call_frame = Some(frame),
            (b"selfSize", value) => node.self_bytes = value.number(),
            _ => {}
        }
    }
    Ok(behind)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &[u8]) -> TreeText<'_> {
        TreeText::parse(text, |_| Ok::<(), ()>(())).unwrap()
    }

    #[test]
    fn nodes_come_with_their_callers() {
        let text = br#" {"head": {"selfSize":1,"id":1,"callFrame":{"a":[1,{"b":2}]},"children":[
            {"callFrame":{},"selfSize":2,"children":[{"selfSize":3,"children":[]}]},
            {"selfSize":-4,"children":[],"more":"\"}]"}]},"samples":[{"size":7}]} "#;
        let tree = parse(text);
        let nodes: Vec<_> = tree.nodes.iter().map(|node| (node.parent, node.self_bytes)).collect();
        assert_eq!(nodes, [(None, Some(1)), (Some(0), Some(2)), (Some(1), Some(3)), (Some(0), None)]);
        assert_eq!(tree.nodes[0].call_frame, Some(&br#"{"a":[1,{"b":2}]}"#[..]));
        assert_eq!((tree.ending, tree.end_offset), (TreeEnding::Closed, text.len() - 1));
        for bad in [&br#"{"head":{"children":[7]}}"#[..], br#"{"head":{"id" 7}}"#] {
            assert_eq!(parse(bad).ending, TreeEnding::NoJson);
        }
        for end in 0..text.len() - 1 {
            assert_eq!(parse(&text[..end]).ending, TreeEnding::Cut, "{end}");
        }
    }

    #[test]
    fn a_million_levels_are_read() {
        let text = [br#"{"head":"#, br#"{"children":["#.repeat(1_000_000).as_slice()].concat();
        let tree = parse(&text);
        assert_eq!(
            (tree.nodes.len(), tree.nodes[999_999].parent, tree.ending),
            (1_000_000, Some(999_998), TreeEnding::Cut)
        );
    }
}
