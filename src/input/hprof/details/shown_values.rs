//! Short texts for objects: texts of strings, names of threads, constants and classes, numbers in boxes.
//!
//! Some take several objects: a thread has its name in a string, a string its characters in an array. They are looked for
//! in rounds, each in the order of the file.

use super::finder::{RecordFinder, SubRecord};
use super::values::{field_places, instance_values, value_at, whole_number_at};
use crate::graph::{FieldKind, HeapGraph, NodeId, TypeId};
use crate::input::counted_instances::CharacterRange;
use crate::input::hprof::wire::sub_record_tags;
use crate::input::java_types::BOX_CLASSES;
use crate::input::{ReadError, ShownValue, Text, Value};

/// Bytes of a text that are handed on at a time.
const TEXT_PIECE_BYTES: u64 = 1 << 20;

/// Values of an instance that are looked through; a class has 65,535 fields at most, and nobody has so many.
const MAX_INSTANCE_VALUE_BYTES: usize = 1 << 16;

/// Their objects have their name in a field `name`.
pub const CLASSES_WITH_NAME_FIELD: [&str; 3] = ["java.lang.Enum", "java.lang.Thread", "java.lang.ClassLoader"];

/// Where objects of a type have their short text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextSource {
    Nothing,
    String(StringPlaces),
    /// Its value: the kind, and where it is among the instance's values.
    BoxedPrimitive(FieldKind, usize),
    /// Its name is in the field `name` of this class: a constant of an enumeration, a thread, a loader of classes.
    NameField(TypeId),
    /// A class that is an instance: of a primitive type.
    PrimitiveClass(TypeId),
}

/// Where a string has its characters: places among the values of the instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StringPlaces {
    array: Option<usize>,
    /// Whether they take two bytes each.
    pub coder: Option<usize>,
    /// The first and their number, of strings that are parts of arrays (JDK 6).
    pub offset_and_count: Option<(usize, usize)>,
}

/// By type: where its objects have their short text, if they have one.
pub fn text_sources(graph: &HeapGraph, id_bytes: usize) -> Vec<TextSource> {
    let types = graph.types();
    let place = |type_id, name: &str| {
        let places = field_places(graph, type_id, id_bytes);
        let found = places.iter().find(|place| types.text(place.field.name) == name);
        found.map(|place| (place.field.kind, place.offset))
    };
    let place_of_kind = |type_id, name: &str, kind| place(type_id, name).filter(|place| place.0 == kind).map(|it| it.1);
    types.map_by_superclass(|type_id, above| match types.name(type_id).replace('/', ".").as_str() {
        "java.lang.String" => TextSource::String(StringPlaces {
            array: place_of_kind(type_id, "value", FieldKind::Reference),
            coder: place_of_kind(type_id, "coder", FieldKind::Byte),
            // A count alone (Android) says something else.
            offset_and_count: place_of_kind(type_id, "offset", FieldKind::Int).zip(place_of_kind(
                type_id,
                "count",
                FieldKind::Int,
            )),
        }),
        "java.lang.Class" => TextSource::PrimitiveClass(type_id),
        name if BOX_CLASSES.contains(&name) => match place(type_id, "value") {
            Some((kind, place)) if kind != FieldKind::Reference => TextSource::BoxedPrimitive(kind, place),
            _ => TextSource::Nothing,
        },
        name if CLASSES_WITH_NAME_FIELD.contains(&name) => TextSource::NameField(type_id),
        _ => above.copied().filter(|above| matches!(above, TextSource::NameField(_))).unwrap_or(TextSource::Nothing),
    })
}

/// The next thing to look for.
#[derive(Debug, Clone, Copy)]
enum WantedText {
    /// The short text of an object.
    ShortText,
    /// The text of a string (or array of characters) as a name.
    Name,
    /// The characters of a string: as a name, or as a text; where they are UTF-16 as bytes; which of them.
    Characters { is_name: bool, is_wide: bool, start: usize, count: Option<usize> },
}

/// An object that is looked for.
struct ObjectSearch {
    id: u64,
    node: NodeId,
    /// The index of the object it is for.
    answer_index: usize,
    wanted: WantedText,
}

/// What a record had of the text that was looked for.
enum LookupOutcome {
    Found(ShownValue),
    /// It is in this object.
    LookIn(NodeId, WantedText),
    Nothing,
}

/// Short texts of some objects, each of at most so many units.
pub fn shown_values(
    finder: &RecordFinder,
    graph: &HeapGraph,
    text_sources: &[TextSource],
    nodes: &[NodeId],
    most_units: usize,
) -> Result<Vec<Option<ShownValue>>, ReadError> {
    let mut said: Vec<Option<ShownValue>> = vec![None; nodes.len()];
    let mut searches = Vec::new();
    let source_of =
        |node: NodeId| text_sources.get(graph.type_of(node).index()).copied().unwrap_or(TextSource::Nothing);
    for (place, &node) in nodes.iter().enumerate() {
        if let Some(class) = graph.types().type_of_class_object(node) {
            let text = format!("class {}", graph.type_name(class));
            said[place] = Some(ShownValue::Name(Text { text, is_cut: false }));
            continue;
        }
        if source_of(node) != TextSource::Nothing {
            searches.push(ObjectSearch {
                id: graph.original_id(node),
                node,
                answer_index: place,
                wanted: WantedText::ShortText,
            });
        }
    }
    while !searches.is_empty() {
        searches.sort_unstable_by_key(|search| search.id);
        let mut next = Vec::new();
        for ObjectSearch { id, node, answer_index: place, wanted } in searches {
            let most_bytes = match wanted {
                WantedText::Characters { start, .. } => {
                    start.saturating_add(most_units).saturating_add(1).saturating_mul(2)
                }
                _ => MAX_INSTANCE_VALUE_BYTES,
            };
            let Some(record) = finder.find_sub_record(id, most_bytes)? else { continue };
            match find_value_in_record(finder, graph, &record, (node, source_of(node)), wanted, most_units) {
                LookupOutcome::Found(value) => said[place] = Some(value),
                LookupOutcome::LookIn(node, wanted) => {
                    next.push(ObjectSearch { id: graph.original_id(node), node, answer_index: place, wanted })
                }
                LookupOutcome::Nothing => {}
            }
        }
        searches = next;
    }
    Ok(said)
}

/// The text that is wanted, if this record has it, or the object in which to look next.
fn find_value_in_record(
    finder: &RecordFinder,
    graph: &HeapGraph,
    record: &SubRecord,
    (node, source): (NodeId, TextSource),
    wanted: WantedText,
    most_units: usize,
) -> LookupOutcome {
    let id_bytes = finder.places.id_bytes;
    match (wanted, source) {
        (WantedText::ShortText, TextSource::NameField(class) | TextSource::PrimitiveClass(class)) => {
            let mut values = instance_values(graph, graph.type_of(node), &record.bytes, id_bytes);
            let name =
                values.find(|(declaring, field, _)| *declaring == class && graph.types().text(field.name) == "name");
            match name {
                Some((.., Value::Object(name))) => LookupOutcome::LookIn(name, WantedText::Name),
                _ => LookupOutcome::Nothing,
            }
        }
        (WantedText::ShortText, TextSource::BoxedPrimitive(kind, place)) => {
            let value = value_at(graph, kind, instance_bytes(record, id_bytes), place, id_bytes);
            value.map_or(LookupOutcome::Nothing, |value| LookupOutcome::Found(value.into()))
        }
        (WantedText::ShortText | WantedText::Name, TextSource::String(places))
            if record.tag == sub_record_tags::INSTANCE =>
        {
            find_characters_of_string(graph, instance_bytes(record, id_bytes), places, id_bytes, wanted)
        }
        (WantedText::ShortText, _) => LookupOutcome::Nothing,
        // Threads of JDK 7 and before have arrays.
        (WantedText::Name, _) => {
            read_characters(finder, record, CharacterRange { is_wide: false, start: 0, count: None }, most_units)
                .map_or(LookupOutcome::Nothing, |text| LookupOutcome::Found(ShownValue::Name(text)))
        }
        (WantedText::Characters { is_name, is_wide, start, count }, _) => {
            match read_characters(finder, record, CharacterRange { is_wide, start, count }, most_units) {
                Some(text) if is_name => LookupOutcome::Found(ShownValue::Name(text)),
                Some(text) => LookupOutcome::Found(ShownValue::Text(text)),
                None => LookupOutcome::Nothing,
            }
        }
    }
}

/// The values of an instance.
fn instance_bytes(record: &SubRecord, id_bytes: usize) -> &[u8] {
    record.bytes.get(9 + 2 * id_bytes..).unwrap_or(&[])
}

/// The place of a string's characters.
fn find_characters_of_string(
    graph: &HeapGraph,
    values: &[u8],
    places: StringPlaces,
    id_bytes: usize,
    wanted: WantedText,
) -> LookupOutcome {
    let number = |at| whole_number_at(FieldKind::Int, values, at).and_then(|number| usize::try_from(number).ok());
    let array = places.array.and_then(|at| value_at(graph, FieldKind::Reference, values, at, id_bytes));
    let Some(Value::Object(array)) = array else { return LookupOutcome::Nothing };
    let part = places.offset_and_count.and_then(|(start, count)| number(start).zip(number(count)));
    let (start, count) = (part.map_or(0, |part| part.0), part.map(|part| part.1));
    let is_wide = places.coder.is_some_and(|at| values.get(at) == Some(&1));
    let is_name = matches!(wanted, WantedText::Name);
    LookupOutcome::LookIn(array, WantedText::Characters { is_name, is_wide, start, count })
}

/// Hands what a string, or an array of characters or bytes, holds to `take`, as
/// [`visit_whole_content`](crate::input::ObjectDetails::visit_whole_content).
pub fn visit_whole_text(
    finder: &RecordFinder,
    graph: &HeapGraph,
    source: TextSource,
    node: NodeId,
    take: &mut dyn FnMut(&[u8]) -> bool,
) -> Result<Option<bool>, ReadError> {
    let mut id = graph.original_id(node);
    let Some(record) = finder.find_sub_record(id, MAX_INSTANCE_VALUE_BYTES)? else { return Ok(None) };
    let (mut is_text, mut part) = (false, (false, 0, None));
    if let TextSource::String(places) = source {
        let id_bytes = finder.places.id_bytes;
        let values = instance_bytes(&record, id_bytes);
        let LookupOutcome::LookIn(array, WantedText::Characters { is_wide, start, count, .. }) =
            find_characters_of_string(graph, values, places, id_bytes, WantedText::ShortText)
        else {
            return Ok(None);
        };
        (id, is_text, part) =
            (graph.original_id(array), true, (is_wide, start as u64, count.map(|count| count as u64)));
    }
    let head = finder.find_sub_record(id, 0)?;
    let Some((kind, length, _)) =
        head.as_ref().and_then(|head| super::values::parsed_array(head, finder.places.id_bytes))
    else {
        return Ok(None);
    };
    let (is_wide, start, count) = part;
    let width = match kind {
        FieldKind::Byte if is_wide => 2,
        FieldKind::Byte => 1,
        FieldKind::Char => 2,
        _ => return Ok(None),
    };
    let there = length * u64::from(kind.bytes(0)) / width;
    let end = count.map_or(there, |count| there.min(start.saturating_add(count))) * width;
    let mut at = start.saturating_mul(width);
    while at < end {
        let mut bytes = finder.read_elements(id, at, (end - at).min(TEXT_PIECE_BYTES))?;
        let is_last = at + bytes.len() as u64 >= end;
        let units = units_of(kind, is_wide, &bytes).filter(|_| is_text || width == 2);
        let mut units: Vec<u16> = units.into_iter().flatten().collect();
        if !is_last && units.len() > 1 && units.last().is_some_and(|last| (0xD800..0xDC00).contains(last)) {
            // Its other half comes with the next piece.
            units.pop();
            bytes.truncate(units.len() * 2);
        }
        let is_wanted = match is_text || kind == FieldKind::Char {
            true => take(String::from_utf16_lossy(&units).as_bytes()),
            false => take(&bytes),
        };
        if bytes.is_empty() || !is_wanted {
            return Ok(Some(false));
        }
        at += bytes.len() as u64;
    }
    Ok(Some(true))
}

/// The characters in an array of bytes or of UTF-16 units.
fn read_characters(
    finder: &RecordFinder,
    record: &SubRecord,
    range: CharacterRange,
    most_units: usize,
) -> Option<Text> {
    let (kind, length, values) = super::values::parsed_array(record, finder.places.id_bytes)?;
    characters_in(kind, length, values, range, most_units)
}

/// The same of an array of so many elements and the bytes that are at hand of it.
pub fn characters_in(
    kind: FieldKind,
    length: u64,
    values: &[u8],
    range: CharacterRange,
    most_units: usize,
) -> Option<Text> {
    let CharacterRange { is_wide, start, count } = range;
    let units = units_of(kind, is_wide, values)?;
    let there = if kind == FieldKind::Byte && is_wide { length / 2 } else { length };
    let there = there.saturating_sub(start as u64);
    let wanted = count.map_or(there, |count| there.min(count as u64));
    let mut units: Vec<u16> = units.skip(start).take(most_units.min(usize::try_from(wanted).ok()?)).collect();
    let is_cut = (units.len() as u64) < wanted;
    if is_cut && units.last().is_some_and(|last| (0xD800..0xDC00).contains(last)) {
        // Its other half is cut off.
        units.pop();
    }
    Some(Text { text: String::from_utf16_lossy(&units), is_cut })
}

/// The UTF-16 units in bytes of an array; `None` for one that has no characters. Those of wide strings are as the processor
/// has them: those that Java runs on today begin with the low byte.
fn units_of(kind: FieldKind, is_wide: bool, bytes: &[u8]) -> Option<Box<dyn Iterator<Item = u16> + '_>> {
    let pairs = || bytes.as_chunks::<2>().0.iter();
    Some(match kind {
        FieldKind::Byte if is_wide => Box::new(pairs().map(|pair| u16::from_le_bytes(*pair))),
        FieldKind::Byte => Box::new(bytes.iter().map(|&byte| u16::from(byte))),
        FieldKind::Char => Box::new(pairs().map(|pair| u16::from_be_bytes(*pair))),
        _ => return None,
    })
}
