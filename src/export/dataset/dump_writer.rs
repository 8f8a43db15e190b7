//! A dump on its way into the dataset: all its files are written aside before the first gets its name.

use std::path::{Path, PathBuf};

use parquet::data_type::ByteArray;

use super::super::error::verify_index_file;
use super::dump_place::{DumpPlace, ExistingDump, WritingGuard, check_id, checksum_of, dump_id_of};
use super::error::TableError;
use super::object_heap::ObjectHeap;
use super::parquet_table::to_byte_array;
use super::{
    DatasetError, TableChoice, TableName, allocations, dominator_paths, dumps, field_rows, objects, roots_and_suspects,
    type_references, types,
};
use crate::allocations::AllocationDump;
use crate::answers::AnswerError;
use crate::dump::{AnswerNeed, Content, OpenDump, Phase, dump_of_index_or_path};
use crate::files::{CompleteOutput, Inputs, Output};
use crate::filter::Filter;
use crate::graph::HeapGraph;

/// Options for writing each dump.
#[derive(Debug, Clone, Default)]
pub struct DatasetOptions {
    /// The tables. Default: all but those with a row for each object, reference or field.
    pub tables: TableChoice,
    /// Names and texts that the user gives the dump. Default: none.
    pub labels: Vec<(String, String)>,
    /// A dump of the same id is written anew. Default: it stays.
    pub replaces_existing: bool,
    /// The dump's id. Default: made of the file's name and content.
    pub id: Option<String>,
    /// Only objects that fulfil an expression have rows in `objects` and `fields`, and only references from them in
    /// `object_references`. Default: all. Another expression is another id.
    pub filter: Option<Filter>,
    /// Options of reading that are not the default: another reading is another id.
    pub reading_options: Vec<String>,
}

/// A dump that is to be written: nobody else writes it meanwhile.
#[derive(Debug)]
pub struct DumpWriter<'i> {
    folder: PathBuf,
    file: Option<PathBuf>,
    id: String,
    checksum: String,
    options: DatasetOptions,
    inputs: &'i Inputs,
    dumps_row: Output,
    _writing: WritingGuard,
}

/// Begins to write the dump of a file, `None` for one that comes through a pipe, into the dataset of a folder, which is
/// made where it is not there. Reads the file through once for its checksum. No file of the dataset may be one of
/// `inputs`.
///
/// # Errors
/// When the file cannot be read, another dump has its id, or the folder cannot be written to.
pub fn begin_dump<'i>(
    folder: &Path,
    file: Option<&Path>,
    options: DatasetOptions,
    inputs: &'i Inputs,
) -> Result<BegunDump<'i>, DatasetError> {
    options.id.as_deref().map_or(Ok(()), check_id)?;
    let has_large = TableName::all().any(|table| table.is_large() && options.tables.has(table));
    if options.filter.is_some() && !has_large {
        return Err(DatasetError::NoRowsToChoose);
    }
    let own = file.map(dump_of_index_or_path);
    // A pipe can be read once. What is not there, or is a folder, is told when it is read.
    let own = own.filter(|own| own.metadata().map_or(true, |facts| facts.is_file() || facts.is_dir()));
    let checksum = match &own {
        Some(own) => {
            let asked = options.filter.iter().flat_map(Filter::texts).map(|text| format!("where {text}"));
            let words: Vec<String> = options.reading_options.iter().cloned().chain(asked).collect();
            checksum_of(own, &words).map_err(DatasetError::UnreadableDump)?
        }
        None => String::new(),
    };
    let id = match (&options.id, &own) {
        (Some(id), _) => id.clone(),
        (None, Some(own)) => dump_id_of(own, &checksum),
        (None, None) => return Err(DatasetError::NoFileName),
    };
    let place = DumpPlace { folder, id: &id };
    let writing = WritingGuard::wait_for(&place);
    let own_checksum = own.as_ref().map(|_| checksum.as_str());
    if let Some(there) = find_existing(&place, own_checksum, &options)? {
        return Ok(BegunDump::Existing(there));
    }
    let dumps_row = place.begin_table_file(TableName::Dumps, inputs)?;
    // Another run may have written it before this one held its name.
    if let Some(there) = find_existing(&place, own_checksum, &options)? {
        return Ok(BegunDump::Existing(there));
    }
    let (folder, file) = (folder.to_path_buf(), file.map(dump_of_index_or_path));
    Ok(BegunDump::New(Box::new(DumpWriter {
        folder,
        file,
        id,
        checksum,
        options,
        inputs,
        dumps_row,
        _writing: writing,
    })))
}

/// The dump as it is in the dataset, unless it is to be replaced; `checksum` is `None` for a pipe.
fn find_existing(
    place: &DumpPlace<'_>,
    checksum: Option<&str>,
    options: &DatasetOptions,
) -> Result<Option<ExistingDump>, DatasetError> {
    if options.replaces_existing {
        return Ok(None);
    }
    let Some(there) = place.existing_checksum()? else { return Ok(None) };
    let id = place.id.to_string();
    match checksum {
        None => return Err(DatasetError::IdTakenOrSameDump(id)),
        Some(checksum) if there != checksum => return Err(DatasetError::IdTaken(id)),
        Some(_) => {}
    }
    let has = |table: TableName| place.path_of(table).exists();
    let is_of_allocations = TableName::all().any(|table| table.is_of_allocations() && has(table));
    let own = TableName::all().filter(|table| table.is_of_allocations() == is_of_allocations);
    let missing = own.filter(|table| options.tables.has(*table) && !has(*table)).map(TableName::name).collect();
    Ok(Some(ExistingDump { id, missing_tables: missing, ignores_new_labels: !options.labels.is_empty() }))
}

/// Tables that are whole, and not there yet.
type CompleteTables = Vec<(TableName, CompleteOutput)>;

impl DumpWriter<'_> {
    /// Writes the tables of the dump, and makes them be there. True if an object fulfils the expression, or there is none.
    /// The dominator tree; O(objects + references).
    ///
    /// # Errors
    /// When there is not the memory, a dump of allocation totals is asked for objects, the dump broke off before its references, its index is damaged, or a file cannot be
    /// written: then nothing of the dump is in the dataset, but what was there before, unless that was being replaced.
    pub fn write(self, dump: &OpenDump) -> Result<bool, DatasetError> {
        verify_index_file(dump)?;
        let id = to_byte_array(&self.id);
        let (written, has_any) = match dump.content() {
            Content::Objects(graph) => self.write_object_tables(dump, graph, &id)?,
            Content::Allocations(totals) => (self.write_allocation_tables(dump, totals, &id)?, true),
            Content::Histograms(_) if self.options.filter.is_some() => {
                return Err(AnswerError::FilterNeedsObjects.into());
            }
            Content::Histograms(histograms) => {
                let mut written = CompleteTables::new();
                self.write_if_chosen(&mut written, TableName::Types, |out| {
                    types::write_histogram(histograms, &id, out)
                })?;
                (written, true)
            }
        };
        let DumpWriter { folder, file, id: name, checksum, options, dumps_row, .. } = self;
        let place = DumpPlace { folder: &folder, id: &name };
        let path = place.path_of(TableName::Dumps);
        let (file, labels) = (file.as_deref(), &options.labels);
        let filter = options.filter.as_ref().map(Filter::joined_text);
        let origin = dumps::ExternalDumpFacts { id: &id, file, checksum: &checksum, filter: filter.as_deref(), labels };
        let dumps_row = finish_table(dumps::write(dump, &origin, dumps_row), &path)?;
        // From here on the dump is not there until its row is.
        place.remove_table_file(TableName::Dumps)?;
        for table in TableName::all() {
            if written.iter().all(|(other, _)| *other != table) {
                place.remove_table_file(table)?;
            }
        }
        for (table, file) in written {
            file.publish().map_err(|error| DatasetError::Unwritable(place.path_of(table), error))?;
        }
        dumps_row.publish().map_err(|error| DatasetError::Unwritable(path, error))?;
        Ok(has_any)
    }

    fn write_object_tables(
        &self,
        dump: &OpenDump,
        graph: &HeapGraph,
        id: &ByteArray,
    ) -> Result<(CompleteTables, bool), DatasetError> {
        // A wrong expression is told before long work.
        let all = 0..graph.node_count();
        let select = |filter: &Filter| filter.select(dump, all).map_err(AnswerError::from);
        let chosen = self.options.filter.as_ref().map(select).transpose()?;
        let heap = ObjectHeap::new(dump, graph, id).map_err(|error| error.with_path(&self.folder))?;
        dump.check_answer_memory(AnswerNeed::DominatorDescent, 0)?;
        let mut written = CompleteTables::new();
        dump.announce_phase(Phase::WritingTables);
        self.write_if_chosen(&mut written, TableName::Types, |out| types::write(&heap, out))?;
        self.write_if_chosen(&mut written, TableName::DominatorPaths, |out| dominator_paths::write(&heap, out))?;
        self.write_if_chosen(&mut written, TableName::TypeReferences, |out| type_references::write(&heap, out))?;
        self.write_if_chosen(&mut written, TableName::Roots, |out| roots_and_suspects::write_roots(&heap, out))?;
        self.write_if_chosen(&mut written, TableName::Suspects, |out| roots_and_suspects::write_suspects(&heap, out))?;
        dump.announce_phase(Phase::WritingTables);
        self.write_if_chosen(&mut written, TableName::Objects, |out| {
            objects::write_objects(&heap, chosen.as_ref(), out)
        })?;
        self.write_if_chosen(&mut written, TableName::ObjectReferences, |out| {
            objects::write_references(&heap, chosen.as_ref(), out)
        })?;
        self.write_if_chosen(&mut written, TableName::Fields, |out| {
            field_rows::write_fields(&heap, chosen.as_ref(), out)
        })?;
        Ok((written, chosen.is_none_or(|chosen| !chosen.is_empty())))
    }

    fn write_allocation_tables(
        &self,
        dump: &OpenDump,
        totals: &AllocationDump,
        id: &ByteArray,
    ) -> Result<CompleteTables, DatasetError> {
        if self.options.filter.is_some() {
            return Err(AnswerError::FilterNeedsObjects.into());
        }
        let mut written = CompleteTables::new();
        dump.announce_phase(Phase::WritingTables);
        self.write_if_chosen(&mut written, TableName::AllocationHeaps, |out| {
            allocations::write_heaps(totals, id, out)
        })?;
        self.write_if_chosen(&mut written, TableName::AllocationPaths, |out| {
            allocations::write_paths(dump, totals, id, out)
        })?;
        Ok(written)
    }

    /// Writes a table, if it is asked for.
    fn write_if_chosen(
        &self,
        written: &mut CompleteTables,
        table: TableName,
        write: impl FnOnce(Output) -> Result<Output, TableError>,
    ) -> Result<(), DatasetError> {
        if self.options.tables.has(table) {
            let place = DumpPlace { folder: &self.folder, id: &self.id };
            let out = place.begin_table_file(table, self.inputs)?;
            written.push((table, finish_table(write(out), &place.path_of(table))?));
        }
        Ok(())
    }
}

fn finish_table(written: Result<Output, TableError>, path: &Path) -> Result<CompleteOutput, DatasetError> {
    let out = written.map_err(|error| error.with_path(path))?;
    out.complete().map_err(|error| DatasetError::Unwritable(path.to_path_buf(), error))
}

/// Pairs of labels, from texts such as `build=1234`.
///
/// # Errors
/// The fault of the first wrong one.
pub fn labels_of(texts: &[String]) -> Result<Vec<(String, String)>, String> {
    let mut labels: Vec<(String, String)> = Vec::new();
    for text in texts {
        match text.split_once('=') {
            Some((name, value)) if !name.is_empty() && labels.iter().all(|(other, _)| other != name) => {
                labels.push((name.to_string(), value.to_string()));
            }
            _ => return Err(format!("\"{text}\" is not NAME=TEXT with a name of its own")),
        }
    }
    Ok(labels)
}

/// A dump's way into the dataset.
#[derive(Debug)]
pub enum BegunDump<'i> {
    /// It is to be written.
    New(Box<DumpWriter<'i>>),
    /// It is there.
    Existing(ExistingDump),
}
