//! Opening a dump: by its index where that serves, else by reading it.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use super::index::{DumpSource, LoadedIndex, dump_behind_index};
use super::memory::MemoryPurpose;
use super::options::OpenOptions;
use super::root_policy::infer_missing_roots;
use super::{MemoryError, OpenDump, OpenError};
use crate::graph::BuildError;
use crate::input::{self, Dump, LoadedDump, NamesOnly, ReadError, ReadErrorKind, ReadOptions, SnapshotChoice, Source};

pub use crate::input::CountedTypes;

/// Opens a dump as it is: format detected by content, unpacked on the way, by its index where there is a fresh one.
///
/// # Errors
/// When it cannot be read at all. What is wrong with a dump that can be read is in [`OpenDump::diagnostics`].
pub fn open(path: impl AsRef<Path>) -> Result<OpenDump, OpenError> {
    OpenOptions::default().open(path)
}

/// `OutOfMemoryError`: what stands before the thread's name.
fn reason_without_thread(reason: &str) -> String {
    reason.split(" of thread ").next().unwrap_or_default().to_string()
}

impl OpenOptions {
    /// Opens the dump in a file, or behind an index.
    ///
    /// # Errors
    /// When it cannot be read, or takes more memory than it may.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<OpenDump, OpenError> {
        let path = path.as_ref();
        match super::index::choose_source(path, self)? {
            DumpSource::Indexed(indexed) => {
                let LoadedIndex { graph, results, info, diagnostics, details, index_file_bytes: bytes } = *indexed;
                let loaded = LoadedDump { dump: Dump::Graph(graph), info, diagnostics, details };
                let mut dump = self.finish_opening(loaded, Some(path.to_path_buf()))?;
                // What comes from an index stays on disk.
                dump.held_for_graph = None;
                dump.held_for_index_or_totals = self.memory.hold_mapped(bytes);
                dump.indexed = self.roots.is_as_dumped().then_some(results);
                Ok(dump)
            }
            DumpSource::Dump(path) => {
                let source = Source::open_observed(&path, Arc::clone(&self.observer))?;
                let loaded = self.read(source)?;
                self.finish_opening(loaded, Some(path))
            }
        }
    }

    /// Opens a dump that comes from a reader, for instance standard input.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_reader(&self, reader: impl Read + Send + 'static) -> Result<OpenDump, OpenError> {
        self.open_source(Source::from_reader_spooled(reader, Arc::clone(&self.observer), self.spool_bytes)?)
    }

    /// Opens a dump in a file that is open twice: what is read again of it comes from `again`.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_rereadable(&self, reader: impl Read + Send + 'static, again: File) -> Result<OpenDump, OpenError> {
        self.open_source(Source::from_reader_and_file(reader, Arc::clone(&self.observer), again)?)
    }

    fn open_source(&self, mut source: Source) -> Result<OpenDump, OpenError> {
        if !input::detect(&mut source, &self.read).is_ok_and(|reader| reader.has_values()) {
            source.forget_spool();
        }
        let loaded = self.read(source)?;
        self.finish_opening(loaded, None)
    }

    /// Counts objects and bytes by type in one pass, with memory for types alone.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn count_types(&self, path: impl AsRef<Path>) -> Result<CountedTypes, OpenError> {
        // An index has no records to count: its dump has.
        let path = path.as_ref();
        let behind = dump_behind_index(path)?;
        let source = Source::open_observed(behind.as_deref().unwrap_or(path), Arc::clone(&self.observer))?;
        self.count_types_of_source(source)
    }

    /// The same of a dump that comes from a reader.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn count_types_of_reader(&self, reader: impl Read + Send + 'static) -> Result<CountedTypes, OpenError> {
        self.count_types_of_source(Source::from_reader_spooled(reader, Arc::clone(&self.observer), self.spool_bytes)?)
    }

    fn count_types_of_source(&self, source: Source) -> Result<CountedTypes, OpenError> {
        let counted = self.explain_over_limit(input::count_types(source, &self.limited_read_options()))?;
        self.check_snapshot_number(counted.info.snapshots.len())?;
        Ok(counted)
    }

    /// Reads a dump, unless it takes more memory than it may.
    pub(super) fn read(&self, mut source: Source) -> Result<LoadedDump, OpenError> {
        let options = self.limited_read_options();
        if source.compression.is_empty() {
            // What cannot be recognised is reported by whoever reads it.
            if let Ok(reader) = input::detect(&mut source, &options) {
                let needed = reader.least_memory_bytes(source.file_bytes.unwrap_or(0));
                self.memory.check_fits(MemoryPurpose::Graph, needed)?;
            }
        }
        let mut loaded = self.explain_over_limit(input::read(source, &options))?;
        if let Dump::Graph(graph) = &mut loaded.dump {
            infer_missing_roots(graph, &loaded.info, &*self.observer);
        }
        Ok(loaded)
    }

    /// Options of the reader, with the memory that is left.
    fn limited_read_options(&self) -> ReadOptions {
        ReadOptions { max_memory_bytes: self.memory.left_bytes(), ..self.read.clone() }
    }

    /// A reader's result, with what it means that it went past the limit.
    fn explain_over_limit<T>(&self, read: Result<T, ReadError>) -> Result<T, OpenError> {
        read.map_err(|error| match error.kind() {
            ReadErrorKind::TooLarge(BuildError::TooMuchMemory(left_bytes)) => {
                let limit_bytes = self.memory.bytes().unwrap_or(*left_bytes);
                MemoryError { purpose: MemoryPurpose::Dump, needed_bytes: None, limit_bytes }.into()
            }
            _ => error.into(),
        })
    }

    /// The open dump: its roots as asked for, its memory counted, and without what is to be hidden.
    fn finish_opening(&self, loaded: LoadedDump, path: Option<PathBuf>) -> Result<OpenDump, OpenError> {
        let LoadedDump { dump: mut content, mut info, mut diagnostics, mut details } = loaded;
        if self.hides_values {
            // The reason why a dump was written may name a thread.
            if let Some((what, rest)) = info.reason.as_deref().and_then(|reason| reason.split_once(" of thread \"")) {
                info.reason = Some(what.to_string() + rest.rsplit_once('"').map_or("", |(_, place)| place));
            }
            details = details.map(NamesOnly::of);
            diagnostics.forget_texts();
            info.reason = info.reason.take().map(|reason| reason_without_thread(&reason));
            if let Dump::Graph(graph) = &mut content {
                graph.forget_thread_names();
            }
        }
        let (mut held, mut also_held) = (None, None);
        match &mut content {
            Dump::Graph(graph) => {
                self.check_snapshot_number(info.snapshots.len())?;
                self.roots.apply(graph, &*self.observer);
                held = Some(self.memory.hold_graph(graph));
            }
            Dump::Allocations(dump) => also_held = Some(self.memory.hold_bytes(dump.memory_bytes() as u64)),
            Dump::Histograms(types) => also_held = Some(self.memory.hold_bytes(types.memory_bytes() as u64)),
        }
        Ok(OpenDump {
            content,
            info,
            diagnostics,
            details,
            path,
            memory_limit: self.memory.clone(),
            held_for_graph: held,
            held_for_index_or_totals: also_held,
            held_for_results: OnceLock::new(),
            shortest_parents: OnceLock::new(),
            collection_types: OnceLock::new(),
            hides_values: self.hides_values,
            missing_fields: Default::default(),
            observer: Arc::clone(&self.observer),
            indexed: None,
            reachable: OnceLock::new(),
            reachable_as_dumped: OnceLock::new(),
            dominators: OnceLock::new(),
            retained: OnceLock::new(),
        })
    }

    /// Readers of formats with one snapshot leave the choice alone: here it must be that one.
    fn check_snapshot_number(&self, snapshots: usize) -> Result<(), OpenError> {
        match self.read.snapshot {
            SnapshotChoice::Number(number) if number > 1 && snapshots < 2 => Err(OpenError::NoSuchSnapshot(number)),
            _ => Ok(()),
        }
    }
}
