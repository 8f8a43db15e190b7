//! Records of lines: objects are read field by field, all others by serde.

use serde::Deserialize;

use crate::graph::SourcePlace;
use crate::input::json_lines::{JsonField, JsonFields, MalformedLine, RawValue, array_elements};
use crate::input::text::hex_field;

/// The fields of an object's line. Of a key that comes twice the last counts; one that is `null` is as one that is not there.
#[derive(Debug, Default)]
pub(super) struct ObjectLine<'a> {
    pub(super) id: Option<RawValue<'a>>,
    pub(super) type_key: Option<RawValue<'a>>,
    pub(super) size: Option<RawValue<'a>>,
    pub(super) refs: &'a [u8],
    pub(super) reference_names: &'a [u8],
    /// Places among `refs`, as are the next two.
    pub(super) weak_places: &'a [u8],
    pub(super) soft_places: &'a [u8],
    pub(super) final_places: &'a [u8],
    pub(super) text: Option<&'a [u8]>,
    pub(super) allocation_place: Option<&'a [u8]>,
    /// Collections before it was allocated.
    pub(super) generation: Option<u64>,
    /// The type whose class object it is.
    pub(super) class_of: Option<RawValue<'a>>,
    /// Of a function its name.
    pub(super) function: Option<&'a [u8]>,
    /// The function whose captured variables it has.
    pub(super) variables_of: Option<&'a [u8]>,
    /// The file of its function or constructor.
    pub(super) script: Option<&'a [u8]>,
    /// Script, line and column of the same.
    pub(super) source_place: &'a [u8],
    /// The first key whose value is of the wrong kind.
    pub(super) wrong_kind_field: Option<JsonField<'a>>,
    /// The first key that says that the line is another record.
    pub(super) other_record_field: Option<JsonField<'a>>,
    /// The first key that is none of an object's.
    pub(super) unknown_field: Option<JsonField<'a>>,
}

impl<'a> ObjectLine<'a> {
    // Inlined, since it is large: it is filled where it is used.
    #[inline]
    pub(super) fn of_line(line: &'a [u8]) -> Result<Self, MalformedLine> {
        let mut object = ObjectLine::default();
        let mut fields = JsonFields::of_line(line)?;
        while let Some(field @ (key, value)) = fields.next_field()? {
            let is_right = match key {
                b"id" => set_if_right(&mut object.id, Some(Some(value))),
                _ if value == RawValue::Other(b"null") => true,
                b"type" => set_if_right(&mut object.type_key, Some(Some(value))),
                b"size" => set_if_right(&mut object.size, Some(Some(value))),
                b"refs" => set_if_right(&mut object.refs, value.array()),
                b"names" => set_if_right(&mut object.reference_names, value.array()),
                b"weak" => set_if_right(&mut object.weak_places, value.array()),
                b"soft" => set_if_right(&mut object.soft_places, value.array()),
                b"final" => set_if_right(&mut object.final_places, value.array()),
                b"text" => set_if_right(&mut object.text, value.text().map(Some)),
                b"at" => set_if_right(&mut object.allocation_place, value.text().map(Some)),
                b"generation" => set_if_right(&mut object.generation, value.number().map(Some)),
                b"class_of" => set_if_right(&mut object.class_of, Some(Some(value))),
                b"function" => set_if_right(&mut object.function, value.text().map(Some)),
                b"variables_of" => set_if_right(&mut object.variables_of, value.text().map(Some)),
                b"script" => set_if_right(&mut object.script, value.text().map(Some)),
                b"place" => set_if_right(
                    &mut object.source_place,
                    value.array().filter(|array| source_place_of(array).is_some()),
                ),
                b"heapgraph" | b"root" | b"section" | b"range" | b"end" => {
                    object.other_record_field.get_or_insert(field);
                    true
                }
                // Those that begin so are the writer's own.
                [b'_', ..] => true,
                _ => {
                    object.unknown_field.get_or_insert(field);
                    true
                }
            };
            if !is_right {
                object.wrong_kind_field.get_or_insert(field);
            }
        }
        Ok(object)
    }
}

/// Script, line and column of a place.
pub(super) fn source_place_of(array: &[u8]) -> Option<SourcePlace> {
    let mut numbers = array_elements(array).map(|value| u32::try_from(value.number()?).ok());
    let place = SourcePlace { script_number: numbers.next()??, line: numbers.next()??, column: numbers.next()?? };
    numbers.next().is_none().then_some(place)
}

/// Sets a field to a value that may be of the wrong kind. Returns true if it is right.
fn set_if_right<T>(field: &mut T, value: Option<T>) -> bool {
    let is_right = value.is_some();
    if let Some(value) = value {
        *field = value;
    }
    is_right
}

/// An id: a number, or a text that is a hexadecimal one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "RawId")]
pub(super) struct Id(pub(super) u64);

#[derive(Deserialize)]
#[serde(untagged)]
enum RawId {
    Number(u64),
    Text(String),
}

impl TryFrom<RawId> for Id {
    type Error = &'static str;

    fn try_from(raw: RawId) -> Result<Self, Self::Error> {
        match raw {
            RawId::Number(number) => Ok(Id(number)),
            RawId::Text(text) => hex_field(text.as_bytes()).map(Id).ok_or("no id"),
        }
    }
}

/// A type as objects refer to it: by its name, or by the number that a line gives to it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Deserialize)]
#[serde(untagged)]
pub(super) enum TypeKey {
    Number(u64),
    Name(String),
}

/// A call on a thread's stack.
#[derive(Debug, Deserialize)]
pub(super) struct FrameLine {
    pub(super) method: String,
    pub(super) class: Option<TypeKey>,
    pub(super) signature: Option<String>,
    pub(super) file: Option<String>,
    pub(super) line: Option<u32>,
    /// `compiled` or `native`, where there is no line.
    pub(super) code: Option<String>,
}

/// A record other than an object's: which one it is, the first of its keys `heapgraph`, `root`, `thread`, `section`,
/// `range`, `end` and `type` says. Keys that are not known are passed over.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct NonObjectLine {
    pub(super) heapgraph: Option<u64>,
    pub(super) runtime: Option<String>,
    pub(super) producer: Option<String>,
    /// A word for the form in which ids are shown.
    pub(super) ids: Option<String>,
    pub(super) rules: Option<Vec<String>>,
    pub(super) sampled: Option<(f32, f32)>,
    pub(super) dependent_references: Option<u64>,

    pub(super) root: Option<Id>,
    pub(super) kind: Option<String>,
    pub(super) name: Option<String>,
    pub(super) flags: Option<Vec<String>>,
    #[serde(rename = "in")]
    pub(super) container_type: Option<TypeKey>,
    pub(super) thread: Option<u32>,
    pub(super) frame: Option<u32>,

    pub(super) object: Option<Id>,
    pub(super) frames: Option<Vec<FrameLine>>,

    pub(super) section: Option<String>,
    pub(super) started_ms: Option<u64>,
    pub(super) ended_ms: Option<u64>,
    pub(super) null_references: Option<u64>,
    pub(super) dangling_references: Option<u64>,
    pub(super) dangling_roots: Option<u64>,

    pub(super) range: Option<String>,
    pub(super) from: Option<Id>,
    pub(super) to: Option<Id>,

    pub(super) end: Option<bool>,
    pub(super) objects: Option<u64>,

    #[serde(rename = "type")]
    pub(super) type_key: Option<TypeKey>,
    pub(super) class: Option<Id>,
    #[serde(rename = "super")]
    pub(super) superclass: Option<TypeKey>,
    pub(super) loader: Option<Id>,
    /// The runtime itself loaded the class.
    pub(super) of_runtime: Option<bool>,
    pub(super) module: Option<String>,
    pub(super) place: Option<[u32; 3]>,
    /// The type is told apart from others of its name.
    pub(super) apart: Option<bool>,
    /// Objects of the heap that each object of the type stands for.
    pub(super) times: Option<f32>,
}

impl NonObjectLine {
    /// A record of the line. Error: the key whose value is of the wrong kind, where it is one key.
    pub(super) fn of_line(line: &[u8]) -> Result<Self, Option<JsonField<'_>>> {
        serde_json::from_slice(line).map_err(|_| first_wrong_field(line).unwrap_or_default())
    }

    /// The line is more than one record.
    pub(super) fn is_mixed(&self) -> bool {
        let kinds = [
            self.heapgraph.is_some(),
            self.root.is_some(),
            self.section.is_some(),
            self.range.is_some(),
            self.end.is_some(),
        ];
        kinds.into_iter().filter(|&is_one| is_one).count() > 1
    }
}

/// The first field that is wrong by itself.
fn first_wrong_field(line: &[u8]) -> Result<Option<JsonField<'_>>, MalformedLine> {
    let mut fields = JsonFields::of_line(line)?;
    while let Some(field @ (key, value)) = fields.next_field()? {
        let alone = [b"{\"", key, b"\":", &value.json(), b"}"].concat();
        if serde_json::from_slice::<NonObjectLine>(&alone).is_err() {
            return Ok(Some(field));
        }
    }
    Ok(None)
}
