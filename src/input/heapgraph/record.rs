//! Records of lines: objects are read field by field, all others by serde.

use serde::Deserialize;

use crate::input::json_lines::{Fields, Malformed, RawValue};
use crate::input::text::hex_field;

/// The fields of an object's line. Of a key that comes twice the last counts.
#[derive(Debug, Default)]
pub(super) struct ObjectLine<'a> {
    pub(super) id: Option<RawValue<'a>>,
    pub(super) type_name: Option<RawValue<'a>>,
    pub(super) size: Option<RawValue<'a>>,
    pub(super) refs: &'a [u8],
    pub(super) names: &'a [u8],
    /// Places among `refs`, as are the next two.
    pub(super) weak: &'a [u8],
    pub(super) soft: &'a [u8],
    pub(super) finalized: &'a [u8],
    pub(super) text: Option<&'a [u8]>,
    pub(super) at: Option<&'a [u8]>,
    /// Collections before it was allocated.
    pub(super) generation: Option<u64>,
    /// The type whose class object it is.
    pub(super) class_of: Option<RawValue<'a>>,
}

impl<'a> ObjectLine<'a> {
    pub(super) fn of_line(line: &'a [u8]) -> Result<Self, Malformed> {
        let mut object = ObjectLine::default();
        let mut fields = Fields::of_line(line)?;
        while let Some((key, value)) = fields.next_field()? {
            match (key, value) {
                (b"id", value) => object.id = Some(value),
                (b"type", value) => object.type_name = Some(value),
                (b"size", value) => object.size = Some(value),
                (b"refs", RawValue::Array(array)) => object.refs = array,
                (b"names", RawValue::Array(array)) => object.names = array,
                (b"weak", RawValue::Array(array)) => object.weak = array,
                (b"soft", RawValue::Array(array)) => object.soft = array,
                (b"final", RawValue::Array(array)) => object.finalized = array,
                (b"text", value) => object.text = value.text(),
                (b"at", value) => object.at = value.text(),
                (b"generation", value) => object.generation = value.number(),
                (b"class_of", value) => object.class_of = Some(value),
                _ => {}
            }
        }
        Ok(object)
    }
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

/// A type: by its name, or by the number that a line gives to it.
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
pub(super) struct OtherLine {
    pub(super) heapgraph: Option<u64>,
    pub(super) runtime: Option<String>,
    pub(super) producer: Option<String>,
    pub(super) ids: Option<String>,
    pub(super) rules: Vec<String>,
    pub(super) sampled: Option<(f32, f32)>,
    pub(super) dependent_references: u64,

    pub(super) root: Option<Id>,
    pub(super) kind: Option<String>,
    pub(super) name: Option<String>,
    pub(super) flags: Vec<String>,
    #[serde(rename = "in")]
    pub(super) within: Option<TypeKey>,
    pub(super) thread: Option<u32>,
    pub(super) frame: Option<u32>,

    pub(super) object: Option<Id>,
    pub(super) frames: Vec<FrameLine>,

    pub(super) section: Option<String>,
    pub(super) started_ms: Option<u64>,
    pub(super) ended_ms: Option<u64>,
    pub(super) null_references: u64,
    pub(super) dangling_references: u64,
    pub(super) dangling_roots: u64,

    pub(super) range: Option<String>,
    pub(super) from: Option<Id>,
    pub(super) to: Option<Id>,

    pub(super) end: Option<bool>,
    pub(super) objects: Option<u64>,

    #[serde(rename = "type")]
    pub(super) type_name: Option<TypeKey>,
    pub(super) class: Option<Id>,
    #[serde(rename = "super")]
    pub(super) superclass: Option<TypeKey>,
    pub(super) loader: Option<Id>,
    pub(super) of_runtime: bool,
    pub(super) module: Option<String>,
    pub(super) place: Option<[u32; 3]>,
    pub(super) apart: bool,
    pub(super) times: Option<f32>,
}
