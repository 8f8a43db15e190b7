//! Names as people know them: types without the compiler's text around them, program counters as places in files.

use rustc_hash::FxHashMap;

use super::dumps::Region;
use crate::allocations::{NameId, Names};

/// Texts that compilers put around a type's name when a template function prints its own. GCC, Clang and MSVC; seen in
/// Chromium 49 to 56.
const WRAPPINGS: [(&str, &str); 3] = [
    ("const char *WTF::getStringWithTypeName() [T = ", "]"),
    ("const char* WTF::getStringWithTypeName() [with T = ", "]"),
    ("const char *__cdecl WTF::getStringWithTypeName<", ">(void)"),
];

/// A type's name without its wrapping. Both ends must be there: names that the writer cut off stay as they are.
pub(super) fn unwrapped(name: &str) -> &str {
    let inside = |(prefix, suffix): &(&str, &str)| {
        name.strip_prefix(prefix).and_then(|rest| rest.strip_suffix(suffix)).filter(|inside| !inside.is_empty())
    };
    WRAPPINGS.iter().find_map(inside).unwrap_or(name)
}

/// Names that were escaped before the JSON writer escaped them again (so in the exporter of Chromium's heap profiler).
pub(super) fn unescaped_twice(name: &str) -> Option<String> {
    if !name.contains('\\') || (!name.contains("\\\"") && !name.contains("\\u00")) {
        return None;
    }
    serde_json::from_str(&format!("\"{name}\"")).ok()
}

/// Places of the files in a process.
#[derive(Default, PartialEq)]
pub(super) struct Modules {
    /// (start, end, file, lowest start of that file), by start.
    regions: Vec<(u64, u64, NameId, u64)>,
}

impl Modules {
    pub(super) fn new(regions: &[Region]) -> Self {
        let mut lowest: FxHashMap<NameId, u64> = FxHashMap::default();
        for region in regions {
            let start = lowest.entry(region.file).or_insert(region.start);
            *start = (*start).min(region.start);
        }
        let mut regions: Vec<_> = regions
            .iter()
            .map(|region| (region.start, region.start.saturating_add(region.bytes), region.file, lowest[&region.file]))
            .collect();
        regions.sort_unstable();
        Modules { regions }
    }

    /// `libcef.so+0x1234` for a frame called `pc:7ff7395a497c`; `None` for other frames, and outside known files.
    pub(super) fn place(&self, name: &str, names: &Names) -> Option<String> {
        let pc = u64::from_str_radix(name.strip_prefix("pc:")?, 16).ok()?;
        let after = self.regions.partition_point(|&(start, ..)| start <= pc);
        let &(_, end, file, base) = self.regions.get(after.checked_sub(1)?)?;
        if pc >= end {
            return None;
        }
        let path = names.text(file);
        let path = path.strip_suffix(" (deleted)").unwrap_or(path);
        let file = path.rsplit(['/', '\\']).next().unwrap_or(path);
        Some(format!("{file}+{:#x}", pc - base))
    }
}

/// The process that the main thread's name tells, in dumps that give all processes the browser's number.
pub(super) fn process_of_threads<'a>(mut threads: impl Iterator<Item = &'a str>) -> Option<&'static str> {
    threads.find_map(|thread| match thread {
        "CrBrowserMain" => Some("Browser"),
        "CrGpuMain" => Some("GPU Process"),
        "CrRendererMain" => Some("Renderer"),
        _ if thread.ends_with("CrUtilityMain") => Some("Utility"),
        _ => None,
    })
}
