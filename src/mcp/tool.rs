//! What a tool is called with: described by a JSON schema, and checked.

use std::ffi::OsString;

use serde_json::{Map, Value, json};

use super::allowlist::Allowlist;

/// Bytes of a text: patterns take memory and time by their length.
const MAX_TEXT_BYTES: usize = 2_000;

/// A tool: a question that can be asked of a dump.
#[derive(Debug, Clone)]
pub struct Tool {
    /// Its name.
    pub name: &'static str,
    /// The command that answers it first.
    pub first_command: &'static str,
    /// What it answers, and when to use it.
    pub about: &'static str,
    /// What it takes, besides what all take that give rows.
    pub parameters: Vec<Parameter>,
    /// Rows where nothing else is asked.
    pub default_rows: usize,
}

/// An argument of a tool.
#[derive(Debug, Clone)]
pub struct Parameter {
    /// Its key.
    pub name: String,
    /// What it means.
    pub about: String,
    /// What it may be.
    pub kind: ParameterKind,
    /// The tool cannot do without.
    pub is_required: bool,
}

/// What an argument may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParameterKind {
    /// A text.
    Text,
    /// Texts.
    Texts,
    /// A whole number.
    Number,
    /// Yes or no.
    Flag,
    /// One of some words.
    Words(Vec<String>),
    /// A dump on the allowlist.
    Dump,
    /// The same; it need not be said where there is one alone.
    OptionalDump,
    /// Several of them.
    Dumps,
}

/// A call that passed all checks.
#[derive(Debug)]
pub struct CheckedCall<'t> {
    /// The tool.
    pub tool: &'t Tool,
    /// Arguments in the order of the tool's parameters, each with its values: paths of dumps are without links.
    pub values: Vec<(&'t Parameter, Vec<OsString>)>,
    /// Rows of each table at most.
    pub rows: usize,
}

impl ParameterKind {
    fn json_schema(&self) -> Value {
        match self {
            ParameterKind::Text | ParameterKind::Dump | ParameterKind::OptionalDump => json!({"type": "string"}),
            ParameterKind::Texts | ParameterKind::Dumps => json!({"type": "array", "items": {"type": "string"}}),
            ParameterKind::Number => json!({"type": "integer"}),
            ParameterKind::Flag => json!({"type": "boolean"}),
            ParameterKind::Words(words) => json!({"type": "string", "enum": words}),
        }
    }
}

/// What all tools take whose answers have rows.
pub(super) fn row_parameters(rows: usize) -> Vec<Parameter> {
    let number = |name: &str, about: String| Parameter {
        name: name.into(),
        about,
        kind: ParameterKind::Number,
        is_required: false,
    };
    vec![
        number("limit", format!("Rows at most [default: {rows}]")),
        number("cursor", "Rows to pass over".into()),
        number("max_bytes", "[default: 20000]".into()),
    ]
}

impl Tool {
    /// As `tools/list` describes it.
    pub(super) fn description(&self) -> Value {
        let all: Vec<Parameter> = self.parameters.iter().cloned().chain(row_parameters(self.default_rows)).collect();
        let properties: Map<String, Value> = all
            .iter()
            .map(|one| {
                let mut schema = one.kind.json_schema();
                schema["description"] = one.about.as_str().into();
                (one.name.clone(), schema)
            })
            .collect();
        let required: Vec<&str> = all.iter().filter(|one| one.is_required).map(|one| one.name.as_str()).collect();
        json!({
            "name": self.name,
            "description": self.about,
            "inputSchema": {
                "type": "object", "properties": properties, "required": required, "additionalProperties": false,
            },
            "annotations": {"readOnlyHint": true, "openWorldHint": false},
        })
    }

    /// The question that arguments ask. Error: a sentence that says what is wrong.
    pub(super) fn check_call(
        &self,
        arguments: &Map<String, Value>,
        allowlist: &Allowlist,
    ) -> Result<CheckedCall<'_>, String> {
        let known = |name: &String| self.parameters.iter().any(|one| one.name == *name);
        if let Some(name) = arguments.keys().find(|name| !known(name)) {
            let all: Vec<Parameter> =
                self.parameters.iter().cloned().chain(row_parameters(self.default_rows)).collect();
            let names: Vec<&str> = all.iter().map(|one| one.name.as_str()).collect();
            return Err(format!("{} has no argument \"{name}\"; it has {}", self.name, names.join(", ")));
        }
        let mut values = Vec::new();
        for one in &self.parameters {
            let given = match arguments.get(&one.name) {
                None | Some(Value::Null) if one.kind == ParameterKind::OptionalDump => {
                    vec![allowlist.find_dump(None)?.into()]
                }
                None | Some(Value::Null) if one.is_required => {
                    return Err(format!("{} needs \"{}\": {}", self.name, one.name, one.about));
                }
                None | Some(Value::Null) => continue,
                Some(value) => {
                    let wrong = |why: String| format!("\"{}\": {why}", one.name);
                    let texts = one.kind.checked_texts(value).map_err(wrong)?;
                    match one.kind {
                        ParameterKind::Dump | ParameterKind::OptionalDump | ParameterKind::Dumps => {
                            let found = texts.iter().map(|name| allowlist.find_dump(Some(name)).map(OsString::from));
                            found.collect::<Result<_, _>>()?
                        }
                        _ => texts.into_iter().map(OsString::from).collect(),
                    }
                }
            };
            values.push((one, given));
        }
        Ok(CheckedCall { tool: self, values, rows: self.default_rows })
    }
}

impl ParameterKind {
    /// The texts of a value, numbers and truth values among them, of this kind. Error: what it is not.
    pub(super) fn checked_texts(&self, value: &Value) -> Result<Vec<String>, String> {
        let text = |value: &Value| match value {
            Value::String(text) => Ok(text.clone()),
            // 2.0 is the whole number 2.
            Value::Number(number) if number.is_f64() => Ok(number.as_f64().unwrap_or_default().to_string()),
            Value::Number(_) | Value::Bool(_) => Ok(value.to_string()),
            _ => Err("a text is wanted".to_string()),
        };
        let texts = match value {
            Value::Array(all) if matches!(self, ParameterKind::Texts | ParameterKind::Dumps) => {
                all.iter().map(text).collect()
            }
            one => text(one).map(|text| vec![text]),
        }?;
        if texts.iter().any(|text| text.len() > MAX_TEXT_BYTES) {
            return Err(format!("is longer than {MAX_TEXT_BYTES} bytes"));
        }
        let is_wrong = |text: &String| match self {
            ParameterKind::Number => text.parse::<u32>().is_err(),
            ParameterKind::Flag => text.parse::<bool>().is_err(),
            ParameterKind::Words(words) => !words.contains(text),
            _ => false,
        };
        match texts.iter().find(|text| is_wrong(text)) {
            None => Ok(texts),
            Some(text) => Err(match self {
                ParameterKind::Words(words) => format!("\"{text}\" is none of {}", words.join(", ")),
                ParameterKind::Flag => format!("\"{text}\" is neither true nor false"),
                _ => format!("\"{text}\" is no whole number"),
            }),
        }
    }
}
