//! `heapprofile`: sampling heap profiles of V8 (Node.js, Chrome): how much of what is alive was allocated, by stack.
//!
//! ```text
//! {"head":{"callFrame":{"functionName":"(root)","scriptId":"0","url":"","lineNumber":-1,"columnNumber":-1},
//!   "selfSize":0,"id":1,"children":[{"callFrame":{...},"selfSize":1064,"id":2,"children":[]}]},"samples":[...]}
//! ```
//!
//! A tree of functions, each with the bytes that it allocated itself. Trees may be deeper than a JSON reader that calls itself
//! can go, so it is walked as text. docs/formats/heapprofile.md has the codes, and where each rule comes from.

mod problem_codes;
mod tree_text;

use rustc_hash::FxHashMap;

use super::json_lines::{JsonFields, RawValue};
use super::stack_profile::{
    StackAmount, StackHeap, UNKNOWN_FILE, UNKNOWN_MODULE, check_type_label, no_measure_error, read_whole,
};
use super::{
    Format, FormatMatch, ParsedContent, ParsedDump, ParsedTypes, Position, ReadError, ReadErrorKind, ReadExtent,
    Reader, Reading, Runtime, Source,
};
use crate::allocations::FrameNaming;
use problem_codes::*;
use tree_text::{TreeEnding, TreeNode, TreeText};

pub(super) struct Heapprofile;

/// What a node takes, about: as text, its function, and its place.
const TEXT_NODE_BYTES: u64 = 256;

impl Reader for Heapprofile {
    fn format(&self) -> Format {
        Format::text("heapprofile", "sampling heap profile of V8 (.heapprofile)", Runtime::JavaScript)
    }

    /// An object that begins with a head, which begins with a function.
    fn detect(&self, start: &[u8]) -> FormatMatch {
        let mut rest = start;
        for token in [&b"{"[..], b"\"head\"", b":", b"{", b"\"callFrame\"", b":"] {
            match rest.trim_ascii_start().strip_prefix(token) {
                Some(behind) => rest = behind,
                None => return FormatMatch::No,
            }
        }
        FormatMatch::Yes
    }

    fn read(&self, mut source: Source, reading: &mut Reading) -> Result<ParsedDump, ReadError> {
        let profile = &reading.options.profile;
        check_type_label(profile, &[])?;
        if let Some(wanted) = profile.measure.as_deref().filter(|wanted| !["inuse", "inuse_space"].contains(wanted)) {
            return Err(no_measure_error(wanted, "inuse"));
        }
        let mut share = reading.budget.for_content();
        let text = read_whole(&mut source, &mut share)?;
        let extent = ReadExtent { end: Position::Byte(text.len() as u64), objects: 0, loss_codes: &[] };
        // Names are there twice.
        let mut hold = |nodes: u64| share.set_held_bytes(2 * text.len() as u64 + nodes * TEXT_NODE_BYTES);
        let TreeText { nodes, end_offset: end, ending } = TreeText::parse(&text, &mut hold)?;
        hold(nodes.len() as u64)?;
        if nodes.is_empty() {
            let text = "a sampling heap profile that breaks off before its first function";
            return Ok(ParsedDump { extent, content: ParsedContent::NoHeap(text.into()) });
        }
        let behind = text[end..].iter().position(|byte| !byte.is_ascii_whitespace()).map(|at| end + at);
        let problem = match ending {
            TreeEnding::Closed => behind.map(|at| (&DATA_AFTER_END, at)),
            TreeEnding::Cut => Some((&TRUNCATED, end)),
            TreeEnding::NoJson => Some((&NO_JSON, end)),
        };
        if let Some((code, at)) = problem {
            reading.diagnostics.add(code, 1, Position::Byte(at as u64), String::new);
        }
        let functions: Vec<Function> = nodes.iter().map(|node| Function::of_node(node, reading)).collect();
        let several = files_by_function_name(&functions);
        let mut heap = StackHeap::new(reading);
        let frame_names = reading.options.profile.frame_names;
        // Of each node its place in the heap.
        let mut places: Vec<u32> = Vec::with_capacity(nodes.len());
        for (node, function) in nodes.iter().zip(&functions) {
            // The head stands for the whole.
            let at = match node.parent.and_then(|parent| places.get(parent as usize)).copied() {
                None => 0,
                Some(above) => {
                    let name = heap.names.intern(&function.frame_name(frame_names, &several));
                    heap.find_or_add_path(above, &[name])?
                }
            };
            places.push(at);
            let bytes = node.self_bytes.unwrap_or_else(|| {
                reading.diagnostics.add(&BAD_SIZE, 1, Position::Byte(node.offset as u64), String::new);
                0
            });
            heap.add_at(at, None, StackAmount { bytes, allocations: None })?;
        }
        reading.info.version = Some("inuse; estimated from samples".into());
        let dump = heap.finish(String::new(), "inuse", nodes.len() as u64, reading);
        Ok(ParsedDump { extent, content: ParsedContent::Allocations(dump) })
    }

    fn is_profile(&self) -> bool {
        true
    }

    /// The file has no objects to be counted.
    fn count_types(&self, _: Source, _: &mut Reading) -> Result<ParsedTypes, ReadError> {
        Err(ReadError::new(ReadErrorKind::NoObjects("a sampling heap profile holds allocation totals")))
    }
}

/// The function of a node.
#[derive(Debug, Default)]
struct Function {
    name: String,
    url: String,
    /// From 1; `None` of functions that have no source.
    line: Option<u64>,
}

impl Function {
    fn of_node(node: &TreeNode<'_>, reading: &mut Reading) -> Self {
        let mut function = Function::default();
        let read = node.call_frame.map(|frame| function.add_fields(frame));
        if !matches!(read, Some(Some(()))) {
            reading.diagnostics.add(&BAD_FRAME, 1, Position::Byte(node.offset as u64), String::new);
            return Function { name: "(unknown)".into(), ..Function::default() };
        }
        if function.name.is_empty() {
            function.name = "(anonymous)".into();
        }
        function
    }

    /// `None` where the object cannot be read.
    fn add_fields(&mut self, frame: &[u8]) -> Option<()> {
        let mut fields = JsonFields::of_line(frame).ok()?;
        while let Some((key, value)) = fields.next_field().ok()? {
            match key {
                b"functionName" => self.name = unescaped_text(value)?,
                b"url" => self.url = unescaped_text(value)?,
                // From 0; less without a source.
                b"lineNumber" => self.line = value.number().map(|line| line.saturating_add(1)),
                _ => {}
            }
        }
        Some(())
    }

    /// The name of its frames; with the file where functions of several have one name.
    fn frame_name(&self, frame_names: FrameNaming, several: &FxHashMap<&str, (&str, bool)>) -> String {
        let Function { name, url, line } = self;
        match (frame_names, line) {
            (FrameNaming::Function, _)
                if several.get(&**name).is_some_and(|(_, several)| *several) && !url.is_empty() =>
            {
                format!("{name} ({url})")
            }
            (FrameNaming::Function, _) | (FrameNaming::FunctionAndLine, None) => name.clone(),
            (FrameNaming::FunctionAndLine, Some(line)) => format!("{name} {url}:{line}"),
            (FrameNaming::File, _) if url.is_empty() => UNKNOWN_FILE.into(),
            (FrameNaming::File, _) => url.clone(),
            (FrameNaming::Module, _) => UNKNOWN_MODULE.into(),
        }
    }
}

fn unescaped_text(value: RawValue<'_>) -> Option<String> {
    value.text()?;
    serde_json::from_slice(&value.json()).ok()
}

/// Names with a file, and whether there are others.
fn files_by_function_name(functions: &[Function]) -> FxHashMap<&str, (&str, bool)> {
    let mut files: FxHashMap<&str, (&str, bool)> = FxHashMap::default();
    for function in functions {
        let (url, several) = files.entry(&function.name).or_insert((&function.url, false));
        *several |= *url != function.url;
    }
    files
}
