//! Facts of a trace beside the heap: modules, methods, the runtime, the process. Mostly at its end, in any order.

use nom::Parser;
use nom::bytes::complete::take;
use nom::multi::count;
use nom::number::complete::{le_u16, le_u64};
use rustc_hash::FxHashMap;

use super::primitives::{Parsed, text_of_utf16, utf16z};
use crate::input::dotnet::{file_name_of, source_type_name};

/// Bytes of a runtime's description up to the end of its version.
pub(super) const RUNTIME_VERSION_END: usize = 20;

/// Modules and methods by the numbers that events use, the command line, and the runtime. Methods by the hundred
/// thousand are kept as they came, in one buffer.
#[derive(Debug, Default)]
pub(super) struct Rundown {
    /// By id: the name of the module's file.
    pub(super) module_names: FxHashMap<u64, Box<str>>,
    /// (start of the type's name in `name_units`, of the method's, end).
    pub(super) method_name_bounds: FxHashMap<u64, (u32, u32, u32)>,
    /// Names of types and methods in UTF-16, one behind another.
    name_units: Vec<u8>,
    /// Characters of the modules' names.
    module_name_bytes: usize,
    pub(super) command_line: Option<String>,
    /// The product and its version, such as `CoreCLR 8.0.11.0`.
    pub(super) runtime_version: Option<String>,
}

impl Rundown {
    pub(super) fn memory_bytes(&self) -> usize {
        const TABLE_SLOT_BYTES: usize = 40;
        (self.module_names.len() + self.method_name_bounds.len()) * TABLE_SLOT_BYTES
            + self.module_name_bytes
            + self.name_units.len()
            + self.command_line.as_ref().map_or(0, String::len)
    }

    pub(super) fn module_name(&self, id: u64) -> Option<&str> {
        self.module_names.get(&id).map(|name| &**name)
    }

    /// The method's name, with its type's.
    pub(super) fn method_name(&self, id: u64) -> Option<String> {
        let &(owner, name, end) = self.method_name_bounds.get(&id)?;
        let owner_text = source_type_name(&text_of_utf16(&self.name_units[owner as usize..name as usize]));
        let name_text = text_of_utf16(&self.name_units[name as usize..end as usize]);
        Some(if owner_text.is_empty() { name_text } else { format!("{owner_text}.{name_text}") })
    }

    /// `u64 moduleId, u64 assemblyId, u32 flags, u32 reserved, ustr ilPath, ustr nativePath` ...
    pub(super) fn add_module<'a>(&mut self, payload: &'a [u8]) -> Parsed<'a, ()> {
        let (rest, (id, _, path, native_path)) = (le_u64, take(16usize), utf16z, utf16z).parse(payload)?;
        let path = text_of_utf16(if path.is_empty() { native_path } else { path });
        if !path.is_empty() {
            self.module_name_bytes += file_name_of(&path).len();
            self.module_names.insert(id, file_name_of(&path).into());
        }
        Ok((rest, ()))
    }

    /// `u64 methodId, u64 moduleId, u64 start, u32 size, u32 token, u32 flags, ustr type, ustr name` ...
    pub(super) fn add_method<'a>(&mut self, payload: &'a [u8]) -> Parsed<'a, ()> {
        let (rest, (id, _, owner, name)) = (le_u64, take(28usize), utf16z, utf16z).parse(payload)?;
        let start = self.name_units.len();
        // 4 GiB of names: methods behind them stay without one.
        if let (Ok(first), Ok(end)) = (u32::try_from(start), u32::try_from(start + owner.len() + name.len())) {
            self.name_units.extend_from_slice(owner);
            self.name_units.extend_from_slice(name);
            self.method_name_bounds.insert(id, (first, first + owner.len() as u32, end));
        }
        Ok((rest, ()))
    }

    /// `u16 clr, u16 sku, 4 x u16 libraries, 4 x u16 runtime` ...; sku 2 is CoreCLR.
    pub(super) fn add_runtime<'a>(&mut self, payload: &'a [u8]) -> Parsed<'a, ()> {
        let (rest, (_, sku, _, parts)) = (le_u16, le_u16, take(8usize), count(le_u16, 4)).parse(payload)?;
        let parts: Vec<String> = parts.iter().map(u16::to_string).collect();
        let product = if sku == 2 { "CoreCLR" } else { "CLR" };
        self.runtime_version = Some(format!("{product} {}", parts.join(".")));
        Ok((rest, ()))
    }

    /// `ustr commandLine` ...
    pub(super) fn add_process<'a>(&mut self, payload: &'a [u8]) -> Parsed<'a, ()> {
        let (rest, line) = utf16z(payload)?;
        self.command_line = Some(text_of_utf16(line));
        Ok((rest, ()))
    }

    /// The program's name in a process's payload, in UTF-16.
    pub(super) fn program_name_utf16(payload: &[u8]) -> Vec<u8> {
        let mut rundown = Rundown::default();
        let is_read = rundown.add_process(payload).is_ok();
        let program = rundown.program_name().filter(|_| is_read).unwrap_or_default();
        program.encode_utf16().flat_map(u16::to_le_bytes).collect()
    }

    /// The program's name: of `dotnet app.dll` the second.
    pub(super) fn program_name(&self) -> Option<String> {
        let mut words =
            self.command_line.as_deref()?.split_whitespace().map(|word| file_name_of(word.trim_matches('"')));
        let first = words.next()?;
        let host = matches!(first, "dotnet" | "dotnet.exe");
        Some(words.next().filter(|_| host).unwrap_or(first).to_string()).filter(|name| !name.is_empty())
    }
}
