//! The texts of a dump: how many copies there are of each, what these take, what the copies waste, what holds them.

use std::borrow::Cow;
use std::cell::RefCell;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;
use serde::{Serialize, Serializer};

use super::figure::{BYTES, COPIES, WASTED_BYTES, figures_of};
use super::grouped_strings::{GroupedStrings, TextGroup, text_details};
use super::holders::{FieldHolderFinder, KnownCollections, ObjectHolders, short_holder_text};
use super::scope::order_entry_of;
pub use super::shared::grouped_strings::{RedactedStrings, StringTotals};
use super::values::{MAX_TEXT_UNITS_SHOWN, text_in_table, text_words, unreadable_values};
use super::{AnswerError, CommandLine, Figure, Limits};
use crate::analysis::type_patterns::TypePattern;
use crate::dump::OpenDump;
use crate::filter::Filter;
use crate::graph::{HeapGraph, NodeId};
use crate::input::{ObjectDetails, Text, WantedContents};

/// Options of a list of texts.
#[derive(Debug, Clone, Default)]
pub struct StringsOptions {
    /// Texts of which there are at least two.
    pub only_duplicates: bool,
    /// Texts that match.
    pub grep: Option<TypePattern>,
    /// Texts as long as they are.
    pub with_full_texts: bool,
    /// The fields that hold the copies.
    pub with_holders: bool,
    /// Only string objects that fulfil an expression are copies.
    pub filter: Option<Filter>,
    /// Their order: one of [`ORDERS`](Self::ORDERS), largest first; ties by the id of the first copy. Default: wasted bytes of
    /// duplicates, bytes of all texts.
    pub order: Option<Figure>,
    /// Number and direction of rows.
    pub limits: Limits,
}

type TextSortValue = fn(&TextGroup) -> u64;
const ORDER_COLUMNS: [(Figure, TextSortValue); 3] =
    [(COPIES, |group| group.copies.into()), (BYTES, |group| group.bytes), (WASTED_BYTES, |group| group.wasted_bytes)];

impl StringsOptions {
    fn default_order(&self) -> Figure {
        if self.only_duplicates { WASTED_BYTES } else { BYTES }
    }

    /// Figures that rows can be ordered by.
    pub const ORDERS: [Figure; 3] = figures_of(&ORDER_COLUMNS);

    /// The command line that asks the same.
    pub fn command_line(&self) -> CommandLine {
        let mut line = CommandLine::new("strings");
        line.add_switch("--duplicates", self.only_duplicates)
            .add_switch("--full", self.with_full_texts)
            .add_switch("--holders", self.with_holders);
        if let Some(pattern) = &self.grep {
            line.add_option("--grep", Some(pattern.text())).add_switch("-i", pattern.ignores_case());
        }
        line.add_repeated_option("--where", self.filter.iter().flat_map(Filter::texts));
        line.add_sort_option(self.order, self.default_order());
        self.limits.add_to(&mut line);
        line
    }
}

/// The texts. Rows are made when they are asked for.
#[derive(Serialize)]
#[non_exhaustive]
pub struct StringsAnswer<'d> {
    /// The name of the dump's format.
    pub format: String,
    /// Of all strings.
    pub totals: StringTotals,
    /// The expression that copies fulfil, where one was asked for.
    #[serde(rename = "where", skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
    /// Of the strings that fulfil it and whose texts match, where either was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matching: Option<StringTotals>,
    /// Strings whose characters were blotted out before the dump was handed on. They are no duplicates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redacted: Option<RedactedStrings>,
    /// Texts that are asked for, shown or not.
    pub found: usize,
    /// The rows that are shown.
    pub strings: TextRows<'d>,
    /// The figure that they are ordered by, where one was asked for.
    #[serde(skip)]
    pub order: Option<Figure>,
}

/// A text of the list.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TextRow {
    /// Its characters; the first 1,024 at most, unless all are asked for.
    pub text: String,
    /// There are more characters.
    pub truncated: bool,
    /// The characters could not be read again.
    #[serde(skip)]
    pub is_unreadable: bool,
    /// String objects with this text.
    pub copies: u32,
    /// Their bytes, with those of the arrays of their characters, each once.
    pub bytes: u64,
    /// The same without those of the largest copy.
    pub wasted_bytes: u64,
    /// The first copy.
    pub example: String,
    /// The fields that hold the copies, most copies first, where they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holders: Option<Vec<TextHolder>>,
}

/// A field that holds copies of a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct TextHolder {
    /// The type of the object that holds them; of a static variable the class.
    #[serde(rename = "type")]
    pub type_name: Option<String>,
    /// The field; where there is no type the root, or that nothing reaches them.
    pub reference: Option<String>,
    /// Copies that it holds.
    pub copies: u32,
    /// Both in words.
    #[serde(skip)]
    pub text: String,
}

/// Error for a word that names no dump, with the way to look for a text.
pub fn no_such_file_message(word: &str) -> String {
    let line = CommandLine::new("strings").add_option("--grep", Some(word)).for_shell(Some(Path::new("FILE")));
    format!("{word}: no such file; to look for a text: {line}")
}

/// Finds the texts: one pass over the dump, one more for those that match a pattern, one for the texts of each 65,536
/// rows, and for their holders. 64 bytes for each string, and for holders 40 bytes more and 12 for each object.
///
/// # Errors
/// If the dump holds no objects or no texts, or takes more memory than it may.
pub fn strings<'d>(dump: &'d OpenDump, options: &StringsOptions) -> Result<StringsAnswer<'d>, AnswerError> {
    let graph = dump.graph().ok_or(AnswerError::NeedsObjects)?;
    let details = text_details(dump)?;
    check_memory(dump, graph)?;
    let contents = details.contents(graph, &WantedContents::default()).map_err(unreadable_values)?;
    let mut grouped = GroupedStrings::new(graph, contents.strings);
    if let Some(filter) = &options.filter {
        let fulfilling = filter.select(dump, 0..graph.node_count())?;
        grouped = grouped.only_of_objects(graph, &fulfilling);
    }
    let mut groups = std::mem::take(&mut grouped.groups);
    if options.only_duplicates {
        groups.retain(|group| grouped.is_duplicate(group));
    }
    if let Some(pattern) = &options.grep {
        retain_matching_texts(graph, details, &grouped, pattern, &mut groups)?;
    }
    let chooses_some = options.grep.is_some() || options.filter.is_some();
    let matching = chooses_some.then(|| StringTotals {
        strings: groups.iter().map(|group| u64::from(group.copies)).sum(),
        bytes: groups.iter().map(|group| group.bytes).sum(),
        distinct: groups.len() as u64,
        wasted_bytes: groups.iter().map(|group| group.wasted_bytes).sum(),
    });
    let figure = order_entry_of(&ORDER_COLUMNS, options.order.unwrap_or(options.default_order()))?;
    groups.par_sort_unstable_by_key(|group| (std::cmp::Reverse(figure(group)), grouped.first_copy(group)));
    let found = groups.len();
    options.limits.reverse_and_cut(&mut groups);
    let held_by = if options.with_holders { Some(holders_of(dump, &grouped, &groups)?) } else { None };
    let (totals, redacted) = (grouped.totals, grouped.redacted);
    let ends = if options.with_full_texts { ends_of_full_reads(dump, &grouped, &groups)? } else { Vec::new() };
    let full = options.with_full_texts.then_some((dump, ends));
    let rows =
        TextRows { graph, details, grouped, groups, held_by, full_text_reads: full, text_chunk: RefCell::default() };
    let (format, filter) = (dump.info().format.to_string(), options.filter.as_ref().map(Filter::joined_text));
    Ok(StringsAnswer { format, totals, filter, matching, redacted, found, strings: rows, order: options.order })
}

impl StringsAnswer<'_> {
    /// Note on a dump whose texts were blotted out.
    pub fn redaction_note(&self) -> Option<String> {
        self.redacted.map(|redacted| redacted.redaction_note(self.totals.strings))
    }
}

/// Fails when the columns of the strings do not fit.
fn check_memory(dump: &OpenDump, graph: &HeapGraph) -> Result<(), AnswerError> {
    let is_string = |type_id| ["java.lang.String", "java/lang/String", "(string)"].contains(&graph.type_name(type_id));
    let types: Vec<bool> = graph.types().ids().map(is_string).collect();
    let strings = graph.objects(0..graph.node_count()).filter(|(_, type_id, _)| types[type_id.index()]).count();
    Ok(dump.check_rows_memory(strings as u64, 64)?)
}

fn retain_matching_texts(
    graph: &HeapGraph,
    details: &dyn ObjectDetails,
    grouped: &GroupedStrings,
    pattern: &TypePattern,
    groups: &mut Vec<TextGroup>,
) -> Result<(), AnswerError> {
    let firsts: Vec<usize> = groups.iter().map(|group| grouped.first_copy(group)).collect();
    let matches: Vec<AtomicBool> = (0..grouped.strings.len()).map(|_| AtomicBool::new(false)).collect();
    let look = |at: usize, text: Text| {
        if pattern.matches(&text.text) {
            matches[at].store(true, Ordering::Relaxed);
        }
    };
    details.visit_texts(graph, &grouped.strings, &firsts, usize::MAX, &look).map_err(unreadable_values)?;
    groups.retain(|group| matches[grouped.first_copy(group)].load(Ordering::Relaxed));
    Ok(())
}

fn holders_of(dump: &OpenDump, grouped: &GroupedStrings, groups: &[TextGroup]) -> Result<ObjectHolders, AnswerError> {
    let graph = dump.graph().ok_or(AnswerError::NeedsObjects)?;
    let collections = KnownCollections::default().rules()?.resolve(graph);
    let node = |at: usize| grouped.strings.node(at);
    let nodes: Vec<NodeId> = groups.iter().flat_map(|group| grouped.copies(group)).map(node).collect();
    FieldHolderFinder::new(dump, &collections)?.holders_of(&nodes)
}

/// The rows of the texts that are shown.
pub struct TextRows<'d> {
    graph: &'d HeapGraph,
    details: &'d dyn ObjectDetails,
    grouped: GroupedStrings,
    groups: Vec<TextGroup>,
    /// Of the copies of all rows, one row behind the other.
    pub(crate) held_by: Option<ObjectHolders>,
    /// For texts as long as they are: the dump, and the ends of the runs of rows whose texts are read together.
    full_text_reads: Option<(&'d OpenDump, Vec<usize>)>,
    /// Of some rows: the first row, their texts, and where the holders of their copies begin.
    text_chunk: RefCell<(usize, Vec<Option<Text>>, Vec<usize>)>,
}

const TEXTS_READ_TOGETHER: usize = 1 << 16;
/// Bytes of texts that are read together where they are wanted whole: the first for which there is the memory, since each
/// time is a pass over the dump.
const FULL_READ_BYTES: [u64; 3] = [1 << 30, 1 << 28, 1 << 26];
/// Bytes of memory that a byte of a text takes while it is read.
const MEMORY_PER_TEXT_BYTE: u64 = 5;

/// Ends of the runs of rows whose texts are read together, so that these fit.
fn ends_of_full_reads(
    dump: &OpenDump,
    grouped: &GroupedStrings,
    groups: &[TextGroup],
) -> Result<Vec<usize>, AnswerError> {
    let all: u64 = groups.iter().map(|group| group.bytes / u64::from(group.copies)).sum();
    let fits = |bytes: &u64| dump.check_rows_memory(all.min(*bytes), MEMORY_PER_TEXT_BYTE).is_ok();
    let together = FULL_READ_BYTES.into_iter().find(fits).unwrap_or(1 << 24);
    let graph = dump.graph().ok_or(AnswerError::NeedsObjects)?;
    let (mut ends, mut bytes) = (Vec::new(), 0);
    for (row, group) in groups.iter().enumerate() {
        let array = grouped.strings.array(grouped.first_copy(group));
        let text = array.map_or(0, |array| graph.shallow_bytes(array));
        dump.check_rows_memory(text.min(1 << 26), MEMORY_PER_TEXT_BYTE)?;
        if bytes + text > together || row - ends.last().copied().unwrap_or(0) == TEXTS_READ_TOGETHER {
            ends.extend((row > 0).then_some(row));
            bytes = 0;
        }
        bytes += text;
    }
    ends.push(groups.len());
    Ok(ends)
}

impl TextRows<'_> {
    /// Number of them.
    pub fn len(&self) -> usize {
        self.groups.len()
    }

    /// A row below `len`. Reads the texts of the rows around it too.
    pub fn get(&self, row: usize) -> TextRow {
        let group = &self.groups[row];
        let rows = match &self.full_text_reads {
            Some((_, ends)) => {
                let at = ends.partition_point(|&end| end <= row);
                at.checked_sub(1).map_or(0, |before| ends[before])..ends[at]
            }
            None => {
                row - row % TEXTS_READ_TOGETHER..self.len().min(row - row % TEXTS_READ_TOGETHER + TEXTS_READ_TOGETHER)
            }
        };
        let start = rows.start;
        let mut texts = self.text_chunk.borrow_mut();
        if texts.0 != start || texts.1.is_empty() {
            let begins = match texts.2.get(start) {
                Some(_) => std::mem::take(&mut texts.2),
                None => self.holder_starts(),
            };
            *texts = (start, self.read_texts(rows), begins);
        }
        let mut text = texts.1[row - start].clone();
        if let (Some((dump, _)), Some(text)) = (&self.full_text_reads, text.as_mut().filter(|text| text.is_cut)) {
            self.read_whole_text(dump, self.grouped.strings.node(self.grouped.first_copy(group)), text);
        }
        TextRow {
            is_unreadable: text.is_none(),
            truncated: text.as_ref().is_some_and(|text| text.is_cut),
            text: text.map(|text| text.text).unwrap_or_default(),
            copies: group.copies,
            bytes: group.bytes,
            wasted_bytes: group.wasted_bytes,
            example: self.graph.display_id(self.grouped.strings.node(self.grouped.first_copy(group))),
            holders: self
                .held_by
                .as_ref()
                .map(|held| held.count_by_holder(texts.2[row]..texts.2[row] + group.copies as usize)),
        }
    }

    /// By row where the holders of its copies begin.
    fn holder_starts(&self) -> Vec<usize> {
        let begin = |sum: &mut usize, group: &TextGroup| {
            let begin = *sum;
            *sum += group.copies as usize;
            Some(begin)
        };
        self.held_by.as_ref().map_or(Vec::new(), |_| self.groups.iter().scan(0, begin).collect())
    }

    /// Reads a text again that is longer than what is read of many at once.
    fn read_whole_text(&self, dump: &OpenDump, node: NodeId, text: &mut Text) {
        let mut whole = Vec::new();
        let take = &mut |piece: &[u8]| {
            whole.extend_from_slice(piece);
            dump.check_rows_memory(whole.len() as u64, 3).is_ok()
        };
        if let Ok(Some(is_whole)) = self.details.visit_whole_content(self.graph, node, take) {
            *text = Text { text: String::from_utf8_lossy(&whole).into_owned(), is_cut: !is_whole };
        }
    }

    /// The texts of some rows; of a dump that cannot be read any more none.
    fn read_texts(&self, rows: std::ops::Range<usize>) -> Vec<Option<Text>> {
        let firsts: Vec<usize> = self.groups[rows].iter().map(|group| self.grouped.first_copy(group)).collect();
        let found = Mutex::new(Vec::with_capacity(firsts.len()));
        let take = |at: usize, text: Text| {
            found.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((at, text));
        };
        // What cannot be read stays unknown.
        let most_units = if self.full_text_reads.is_some() { usize::MAX } else { MAX_TEXT_UNITS_SHOWN };
        let _ = self.details.visit_texts(self.graph, &self.grouped.strings, &firsts, most_units, &take);
        let mut found = found.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        found.sort_unstable_by_key(|(at, _)| *at);
        // An array that the dump has twice gives its text twice.
        found.dedup_by_key(|(at, _)| *at);
        let mut texts = vec![None; firsts.len()];
        let mut rows: Vec<usize> = (0..firsts.len()).collect();
        rows.sort_unstable_by_key(|&row| firsts[row]);
        let mut found = found.into_iter().peekable();
        for row in rows {
            texts[row] = found.next_if(|(at, _)| *at == firsts[row]).map(|(_, text)| text);
        }
        texts
    }

    /// The rows, one by one.
    pub fn iter(&self) -> impl Iterator<Item = TextRow> + '_ {
        (0..self.len()).map(|row| self.get(row))
    }
}

impl ObjectHolders {
    /// The holders of some of the objects, most objects first.
    fn count_by_holder(&self, objects: std::ops::Range<usize>) -> Vec<TextHolder> {
        let mut numbers = self.name_by_object[objects].to_vec();
        numbers.sort_unstable();
        let runs = numbers.chunk_by(|a, b| a == b).map(|run| (run[0], run.len() as u32));
        let mut runs: Vec<(u32, u32)> = runs.collect();
        runs.sort_by_key(|&(name, copies)| (std::cmp::Reverse(copies), &self.names[name as usize]));
        let row = |(name, copies): (u32, u32)| {
            let name = &self.names[name as usize];
            TextHolder {
                type_name: name.type_name.clone(),
                reference: name.reference.clone(),
                copies,
                text: name.text(),
            }
        };
        runs.into_iter().map(row).collect()
    }
}

impl TextRow {
    /// The text in quotes, with what holds it where that was asked for.
    pub fn words(&self) -> String {
        match self.is_unreadable {
            true => "(not in the dump)".into(),
            false => text_words(&Text { text: self.text.clone(), is_cut: self.truncated }),
        }
    }

    /// The text in a table that people read.
    pub fn in_table(&self) -> String {
        text_in_table(&Text { text: self.text.clone(), is_cut: self.truncated })
    }

    /// The fields that hold the copies, each with its copies where there are several.
    pub fn holders_in_words(&self) -> Option<String> {
        self.holder_words(usize::MAX, |holder| holder.text.as_str().into())
    }

    /// The same in a narrow place: so many at most.
    pub fn few_holders_in_words(&self, most: usize) -> Option<String> {
        self.holder_words(most, |holder| short_holder_text(&holder.reference, &holder.text))
    }

    fn holder_words<'t>(&'t self, most: usize, text: impl Fn(&'t TextHolder) -> Cow<'t, str>) -> Option<String> {
        let holders = self.holders.as_ref()?;
        let word = |holder: &'t TextHolder| match holders.len() {
            1 => text(holder).into_owned(),
            _ => format!("{} ({})", text(holder), holder.copies),
        };
        let mut words: Vec<String> = holders.iter().take(most).map(word).collect();
        if holders.len() > most {
            words.push(format!("{} more", holders.len() - most));
        }
        Some(words.join(", "))
    }
}

impl Serialize for TextRows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}
