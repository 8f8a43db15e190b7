//! Collections: a table of classes and fields (`collections.txt`), and what it means for the types of a graph.

use rustc_hash::FxHashMap;

use crate::graph::{FieldKind, HeapGraph, TypeId};

/// The classes that are known without being told.
const KNOWN_COLLECTIONS_TABLE: &str = include_str!("collections.txt");

/// Classes that are collections, and their own objects.
#[derive(Debug, Clone, Default)]
pub struct CollectionRules {
    rules_by_class: FxHashMap<String, CollectionClassRule>,
    /// Names of inner classes, and starts of names.
    inner_classes: Vec<(String, bool)>,
}

/// A line of the table: what the objects of a class are as collections. Fields are named as in the class.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct CollectionClassRule {
    /// How many elements there are.
    size: Option<UnresolvedSize>,
    /// The field that holds its table.
    table_field: Option<String>,
    /// The field that holds the collection that does the work.
    wrapped_field: Option<String>,
    /// Slots that an entry takes; 1 where nothing is said.
    slots_per_entry: Option<u32>,
    /// Its slots are buckets.
    has_buckets: bool,
    /// Where its elements are.
    elements: ElementRule,
}

/// Where the elements of a class's objects are. Fields are named as in the class, alternatives with `|` between them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct ElementRule {
    items_field: Option<String>,
    first_field: Option<String>,
    keys_field: Option<String>,
    values_field: Option<String>,
    head_field: Option<String>,
    shown_field: Option<String>,
    each_field: Vec<String>,
    entry: EntryNames,
    is_set: bool,
    skips_nulls: bool,
    is_empty: bool,
}

/// Names of the fields of a collection's entries; alternatives with `|` between them, empty for none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EntryNames {
    /// The key.
    pub key: String,
    /// The value, or the element.
    pub value: String,
    /// The entry behind it.
    pub next: String,
    /// The entries before it.
    pub left: String,
    /// The first of several, of what is no entry.
    pub bin: String,
}

impl EntryNames {
    /// Returns true if elements are no objects of the collection's own.
    pub fn are_empty(&self) -> bool {
        self.key.is_empty() && self.value.is_empty()
    }
}

/// Where the elements of a type's objects are. Fields are numbers of `TypeTable::instance_fields`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ElementFields {
    /// The number of elements, where one field has it, or an object in one: a counter.
    pub size: Option<usize>,
    /// The array that has them, or entries.
    pub table: Option<usize>,
    /// The collection that has them.
    pub inner: Option<usize>,
    /// The first entry, and the field of the object in between that has it.
    pub first: Option<(usize, String)>,
    /// An array of the keys.
    pub keys: Option<usize>,
    /// An array of the values, where the table has the keys.
    pub values: Option<usize>,
    /// The number of the slot that is the first.
    pub head: Option<usize>,
    /// Fields with an element each.
    pub each: Vec<usize>,
    /// Fields of entries.
    pub entry: EntryNames,
    /// Slots that an element takes: of two the first has the key.
    pub slots_per_entry: usize,
    /// Slots are buckets.
    pub has_buckets: bool,
    /// Elements are the keys of the collection that has them.
    pub is_set: bool,
    /// A null is an empty slot.
    pub skips_nulls: bool,
    /// It never has any.
    pub is_empty: bool,
    /// Its elements have keys, whatever else is said.
    pub is_map: bool,
}

/// [`CollectionSizeRule`] with its fields by name.
#[derive(Debug, Clone, PartialEq, Eq)]
enum UnresolvedSize {
    UsedSlots,
    Sum(Vec<UnresolvedSizeTerm>),
}

/// A field that counts: of the collection itself, or of an object (or each of an array) that a field of it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
struct UnresolvedSizeTerm {
    is_negative: bool,
    field: String,
    /// Of elements of an array; the class and its field.
    nested_field: Option<(bool, String, String)>,
}

/// A line of a table that makes no sense.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {why}")]
pub struct RuleLineError {
    /// From 1.
    pub line: usize,
    /// The reason why it is refused.
    pub why: String,
}

/// The way in which a type's objects are collections. Fields are numbers of [`CollectionTypes::needed_fields`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CollectionFields {
    /// Number of elements.
    pub size_rule: Option<CollectionSizeRule>,
    /// The field that holds its table.
    pub table_field: Option<usize>,
    /// The field that holds the collection that does the work.
    pub wrapped_field: Option<usize>,
    /// Slots that an entry takes.
    pub slots_per_entry: u32,
    /// Slots are buckets.
    pub has_buckets: bool,
}

/// How the number of elements is found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CollectionSizeRule {
    /// Slots of the table that are not null.
    UsedSlots,
    /// Fields added up.
    Sum(Vec<SizeTerm>),
}

/// A field that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SizeTerm {
    /// It is taken away.
    pub is_negative: bool,
    /// The field.
    pub field: usize,
    /// The field holds an object that has the number: in a field that is found by the object's type and this number.
    pub nested_field_number: Option<usize>,
    /// ... or an array of such objects.
    pub is_of_elements: bool,
}

/// Roles of types in collections.
#[derive(Debug, Default)]
pub struct CollectionTypes {
    /// By type: how its objects are collections.
    collections: FxHashMap<TypeId, CollectionFields>,
    /// By type: where the elements of its objects are.
    elements: FxHashMap<TypeId, ElementFields>,
    /// By type: objects are inside of a collection.
    is_inner: Vec<bool>,
    /// The fields that are needed: of a type, and which of `TypeTable::instance_fields`.
    pub needed_fields: Vec<(TypeId, usize)>,
    /// Fields of objects behind a collection's own: by type and number of [`SizeTerm::nested_field_number`] the place in
    /// `needed_fields`.
    nested_fields: FxHashMap<(TypeId, usize), usize>,
}

impl CollectionRules {
    /// The classes of Java, Android, Kotlin, Scala and Guava.
    pub fn built_in() -> Self {
        let mut table = CollectionRules::default();
        // Held by a test.
        let _ = table.add_lines(KNOWN_COLLECTIONS_TABLE);
        table
    }

    /// Adds the lines of a text; a class that is there is replaced.
    ///
    /// # Errors
    /// At the first line that makes no sense.
    pub fn add_lines(&mut self, text: &str) -> Result<(), RuleLineError> {
        for (at, line) in text.lines().enumerate() {
            let line = line.trim_start_matches('\u{feff}');
            let mut words = line.split_whitespace();
            let Some(class) = words.next().filter(|word| !word.starts_with('#')) else { continue };
            self.add_class_line(class, words).map_err(|why| RuleLineError { line: at + 1, why })?;
        }
        Ok(())
    }

    /// The fields that say how many elements collections have, as `Class.field`; without counters that other objects use
    /// too.
    pub fn size_field_names(&self) -> Vec<String> {
        let sizes = self.rules_by_class.iter().filter_map(|(class, rule)| match &rule.size {
            Some(UnresolvedSize::Sum(terms)) => Some(terms.iter().map(move |term| match &term.nested_field {
                Some((_, class, field)) => (class, field),
                None => (class, &term.field),
            })),
            _ => None,
        });
        let own = sizes.flatten().filter(|(class, _)| !class.starts_with("java.util.concurrent.atomic."));
        own.flat_map(|(class, fields)| fields.split('|').map(move |field| format!("{class}.{field}"))).collect()
    }

    fn add_class_line<'t>(&mut self, class: &str, words: impl Iterator<Item = &'t str>) -> Result<(), String> {
        if class.contains('=') {
            return Err(format!("\"{class}\" is no class; a line begins with the class"));
        }
        let (mut rule, mut count) = (CollectionClassRule::default(), 0);
        for word in words {
            count += 1;
            let (key, value) = word.split_once('=').unwrap_or((word, ""));
            if !["map", "set", "no-nulls", "empty"].contains(&key) && value.is_empty() {
                return Err(format!("\"{word}\": write it as {key}=..."));
            }
            match key {
                "size" => rule.size = Some(UnresolvedSize::parse(value)?),
                "table" => rule.table_field = Some(value.into()),
                "in" => rule.wrapped_field = Some(value.into()),
                "per" => match value.parse() {
                    Ok(slots @ 1..=64) => rule.slots_per_entry = Some(slots),
                    _ => return Err(format!("per={value}: a number from 1 to 64")),
                },
                "map" => rule.has_buckets = true,
                "set" => rule.elements.is_set = true,
                "no-nulls" => rule.elements.skips_nulls = true,
                "empty" => rule.elements.is_empty = true,
                "items" => rule.elements.items_field = Some(value.into()),
                "first" => rule.elements.first_field = Some(value.into()),
                "keys" => rule.elements.keys_field = Some(value.into()),
                "values" => rule.elements.values_field = Some(value.into()),
                "head" => rule.elements.head_field = Some(value.into()),
                "of" => rule.elements.shown_field = Some(value.into()),
                "left" => rule.elements.entry.left = value.into(),
                "bin" => rule.elements.entry.bin = value.into(),
                "each" => rule.elements.each_field = value.split(',').map(String::from).collect(),
                "entry" => match value.split(',').map(|name| name.trim_matches('-')).collect::<Vec<_>>()[..] {
                    [key, entry, next] => {
                        let names = &mut rule.elements.entry;
                        (names.key, names.value, names.next) = (key.into(), entry.into(), next.into());
                    }
                    _ => return Err(format!("entry={value}: write it as KEY,VALUE,NEXT, - for none")),
                },
                "inner" => self.inner_classes.extend(value.split(',').map(|name| match name.strip_suffix('*') {
                    Some(start) => (start.to_string(), true),
                    None => (name.to_string(), false),
                })),
                _ => {
                    return Err(format!(
                        "\"{key}\" is none of size, table, in, per, map, inner, entry, first, left, bin, items, keys, values, \
                         head, each, of, set, no-nulls, empty"
                    ));
                }
            }
        }
        match &rule {
            _ if count == 0 => return Err(format!("nothing is said of {class}")),
            CollectionClassRule { size: None, wrapped_field: None, elements, .. }
                if rule != CollectionClassRule::default() && elements.is_nowhere() =>
            {
                return Err(format!("{class} has neither size= nor in="));
            }
            CollectionClassRule { size: Some(UnresolvedSize::UsedSlots), table_field: None, .. } => {
                return Err(format!("{class}: size=used is of a table="));
            }
            _ if rule == CollectionClassRule::default() => {
                self.rules_by_class.remove(class);
                self.inner_classes.push((class.to_string(), false));
            }
            _ => {
                self.rules_by_class.insert(class.to_string(), rule);
            }
        }
        Ok(())
    }

    /// Applies the table to the types of a graph. O(types + fields), but for the classes of the table that are derived
    /// from each other.
    pub fn resolve(&self, graph: &HeapGraph) -> CollectionTypes {
        let types = graph.types();
        let names: Vec<String> = types.ids().map(|type_id| types.name(type_id).replace('/', ".")).collect();
        let mut resolved = CollectionTypes::default();
        let mut nested_fields: Vec<(&str, &str)> = Vec::new();
        let field_counts = types.map_by_superclass(|type_id, above: Option<&usize>| {
            let own = types.fields(type_id).iter().filter(|field| !field.is_static).count();
            own + above.copied().unwrap_or(0)
        });
        let fields = FieldNumbers { graph, field_counts };
        // By type: it, or else the nearest that it is derived from, of a name.
        let nearest = |is_named: &dyn Fn(&String) -> bool| {
            types.map_by_superclass(|type_id, above: Option<&Option<TypeId>>| {
                if is_named(&names[type_id.index()]) { Some(type_id) } else { above.copied().flatten() }
            })
        };
        let ruled = nearest(&|name| self.rules_by_class.contains_key(name));
        for type_id in types.ids() {
            let above = |class: &TypeId| ruled[types.superclass(*class)?.index()];
            let mut classes = std::iter::successors(ruled[type_id.index()], above);
            let found = classes.find_map(|class| {
                let rule = self.rules_by_class.get(&names[class.index()])?;
                resolved.resolve_collection(&fields, type_id, class, rule, &mut nested_fields)
            });
            if let Some((collection, elements)) = found {
                if collection.size_rule.is_some() || collection.wrapped_field.is_some() {
                    resolved.collections.insert(type_id, collection);
                }
                resolved.elements.extend(elements.map(|elements| (type_id, elements)));
            }
        }
        let fits = |name: &str, (inner, is_start): &(String, bool)| {
            if *is_start { name.starts_with(inner.as_str()) } else { name == inner }
        };
        let inside = nearest(&|name| self.inner_classes.iter().any(|inner| fits(name, inner)));
        resolved.is_inner = inside.iter().map(Option::is_some).collect();
        for (number, (class, field)) in nested_fields.iter().enumerate() {
            let declaring = nearest(&|name| name == class);
            for type_id in types.ids() {
                let Some(declaring) = declaring[type_id.index()] else { continue };
                if let Some((field, _)) = fields.number_and_kind(type_id, declaring, field) {
                    let place = resolved.add_needed_field(type_id, field);
                    resolved.nested_fields.insert((type_id, number), place);
                }
            }
        }
        resolved
    }
}

impl ElementRule {
    /// Returns true if nothing says where elements are.
    fn is_nowhere(&self) -> bool {
        let fields = [&self.items_field, &self.first_field, &self.shown_field];
        fields.into_iter().all(Option::is_none) && self.each_field.is_empty() && !self.is_empty
    }
}

impl UnresolvedSize {
    fn parse(text: &str) -> Result<Self, String> {
        if text == "used" {
            return Ok(UnresolvedSize::UsedSlots);
        }
        let mut terms = Vec::new();
        let mut rest = text;
        loop {
            let is_negative = rest.starts_with('-');
            rest = rest.trim_start_matches(['+', '-']);
            let end = rest.find(['+', '-']).unwrap_or(rest.len());
            terms.push(UnresolvedSizeTerm::parse(&rest[..end], is_negative)?);
            rest = &rest[end..];
            if rest.is_empty() {
                return Ok(UnresolvedSize::Sum(terms));
            }
        }
    }
}

impl UnresolvedSizeTerm {
    fn parse(text: &str, is_negative: bool) -> Result<Self, String> {
        let wrong = || format!("size \"{text}\": write it as FIELD, FIELD.CLASS:FIELD or FIELD[].CLASS:FIELD");
        let Some((path, last)) = text.split_once(':') else {
            let is_field = !text.is_empty() && !text.contains(['.', '[', ']']);
            let term = UnresolvedSizeTerm { is_negative, field: text.into(), nested_field: None };
            return if is_field { Ok(term) } else { Err(wrong()) };
        };
        let (field, class) = path.split_once('.').ok_or_else(wrong)?;
        let (field, of_elements) = field.strip_suffix("[]").map_or((field, false), |field| (field, true));
        if field.is_empty() || class.is_empty() || last.is_empty() {
            return Err(wrong());
        }
        Ok(UnresolvedSizeTerm {
            is_negative,
            field: field.into(),
            nested_field: Some((of_elements, class.into(), last.into())),
        })
    }
}

/// The numbers of fields among those of a type's instances.
struct FieldNumbers<'g> {
    graph: &'g HeapGraph,
    /// Fields of instances by type.
    field_counts: Vec<usize>,
}

impl FieldNumbers<'_> {
    /// The number of a type's field of this name, of those that `class` and its superclasses declare; of names with `|` between
    /// them the first that there is.
    fn number_and_kind(&self, type_id: TypeId, class: TypeId, name: &str) -> Option<(usize, FieldKind)> {
        let types = self.graph.types();
        let of_others = self.field_counts[type_id.index()] - self.field_counts[class.index()];
        let fields = || types.instance_fields(class).enumerate();
        let named = |name: &str| fields().find(|(_, (_, field))| types.text(field.name) == name);
        name.split('|').find_map(named).map(|(at, (_, field))| (of_others + at, field.kind))
    }

    /// Where the elements of a type's objects are, by the rule of one of its classes; `None` where that has not the fields.
    fn elements_of(
        &self,
        type_id: TypeId,
        class: TypeId,
        rule: &CollectionClassRule,
        table: Option<usize>,
        wraps: Option<usize>,
    ) -> Option<ElementFields> {
        let number = |name: &str| self.number_and_kind(type_id, class, name).map(|(at, _)| at);
        let named = |name: &Option<String>| match name {
            Some(name) => number(name).map(Some),
            None => Some(None),
        };
        let elements = &rule.elements;
        let size = match &rule.size {
            Some(UnresolvedSize::Sum(terms)) => match &terms[..] {
                [term] if term.nested_field.as_ref().is_none_or(|nested| !nested.0) => number(&term.field),
                _ => None,
            },
            _ => None,
        };
        let first = match &elements.first_field {
            Some(path) => {
                let (field, through) = path.split_once('.').unwrap_or((path, ""));
                Some((number(field)?, through.to_string()))
            }
            None => None,
        };
        Some(ElementFields {
            size,
            table: named(&elements.items_field)?.or(table),
            inner: named(&elements.shown_field)?.or(wraps),
            first,
            keys: named(&elements.keys_field)?,
            values: named(&elements.values_field)?,
            head: named(&elements.head_field)?,
            each: elements.each_field.iter().map(|name| number(name)).collect::<Option<_>>()?,
            entry: elements.entry.clone(),
            slots_per_entry: rule.slots_per_entry.unwrap_or(1) as usize,
            has_buckets: rule.has_buckets,
            is_set: elements.is_set,
            skips_nulls: elements.skips_nulls,
            is_empty: elements.is_empty,
            is_map: rule.has_buckets && elements.is_empty,
        })
    }
}

impl CollectionTypes {
    /// Adds a field to those that are needed, and gives its place among them.
    fn add_needed_field(&mut self, type_id: TypeId, field: usize) -> usize {
        self.needed_fields.push((type_id, field));
        self.needed_fields.len() - 1
    }

    /// The collection that a rule makes of a type's objects by one of their classes; `None` where that has not the fields.
    fn resolve_collection<'r>(
        &mut self,
        fields: &FieldNumbers<'_>,
        type_id: TypeId,
        class: TypeId,
        rule: &'r CollectionClassRule,
        nested_fields: &mut Vec<(&'r str, &'r str)>,
    ) -> Option<(CollectionFields, Option<ElementFields>)> {
        let number = |name: &String| fields.number_and_kind(type_id, class, name);
        let reference =
            |name: &String| number(name).filter(|(_, kind)| *kind == FieldKind::Reference).map(|(at, _)| at);
        let table = rule.table_field.as_ref().map(|name| reference(name).ok_or(())).transpose().ok()?;
        let wraps = rule.wrapped_field.as_ref().map(|name| reference(name).ok_or(())).transpose().ok()?;
        let size = match &rule.size {
            None => None,
            Some(UnresolvedSize::UsedSlots) => Some(CollectionSizeRule::UsedSlots),
            Some(UnresolvedSize::Sum(terms)) => {
                let fields: Vec<usize> =
                    terms.iter().map(|term| Some(number(&term.field)?.0)).collect::<Option<_>>()?;
                let terms = terms.iter().zip(fields).map(|(term, field)| SizeTerm {
                    is_negative: term.is_negative,
                    field: self.add_needed_field(type_id, field),
                    nested_field_number: term.nested_field.as_ref().map(|(_, class, field)| {
                        let pair = (class.as_str(), field.as_str());
                        nested_fields.iter().position(|known| *known == pair).unwrap_or_else(|| {
                            nested_fields.push(pair);
                            nested_fields.len() - 1
                        })
                    }),
                    is_of_elements: term.nested_field.as_ref().is_some_and(|nested_field| nested_field.0),
                });
                Some(CollectionSizeRule::Sum(terms.collect()))
            }
        };
        let elements = fields.elements_of(type_id, class, rule, table, wraps);
        if size.is_none() && wraps.is_none() && elements.is_none() {
            return None;
        }
        let collection = CollectionFields {
            size_rule: size,
            table_field: table.map(|field| self.add_needed_field(type_id, field)),
            wrapped_field: wraps.map(|field| self.add_needed_field(type_id, field)),
            slots_per_entry: rule.slots_per_entry.unwrap_or(1),
            has_buckets: rule.has_buckets,
        };
        Some((collection, elements))
    }

    /// Where the elements of a type's objects are; `None` of what is no known collection. O(1).
    pub fn elements_of_type(&self, type_id: TypeId) -> Option<&ElementFields> {
        self.elements.get(&type_id)
    }

    /// Returns true if an object of a type, which one of a collection or inside one refers to, is inside as well. O(1).
    pub fn is_inner_step(&self, graph: &HeapGraph, from: TypeId, to: TypeId) -> bool {
        let is_array = |name: &str| name.ends_with("[]") || name.starts_with('[');
        let is_collection = self.elements_of_type(to).is_some();
        match self.elements_of_type(from) {
            Some(from) if is_collection => from.inner.is_some(),
            Some(_) if is_array(graph.type_name(to)) => true,
            _ => !is_collection && self.is_collection_or_inside_one(to),
        }
    }

    /// The collections that a type's objects are. O(1).
    pub fn of_type(&self, type_id: TypeId) -> Option<&CollectionFields> {
        self.collections.get(&type_id)
    }

    /// The number of the first of some fields of a type's instances, whose names have `|` between them.
    pub fn field_number(graph: &HeapGraph, type_id: TypeId, names: &str) -> Option<usize> {
        let types = graph.types();
        let named = |name: &str| types.instance_fields(type_id).position(|(_, field)| types.text(field.name) == name);
        names.split('|').filter(|name| !name.is_empty()).find_map(named)
    }

    /// The place of the field behind a [`SizeTerm`] in objects of a type. O(1).
    pub fn nested_field(&self, type_id: TypeId, number: usize) -> Option<usize> {
        self.nested_fields.get(&(type_id, number)).copied()
    }

    /// Returns true if objects of a type are collections, or inside of one. O(1).
    pub fn is_collection_or_inside_one(&self, type_id: TypeId) -> bool {
        self.collections.contains_key(&type_id) || self.is_inner.get(type_id.index()).copied().unwrap_or(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_known_classes_are_read() {
        let mut table = CollectionRules::default();
        table.add_lines(KNOWN_COLLECTIONS_TABLE).expect("every line makes sense");
        assert!(table.rules_by_class.len() > 40);
        let rule = &table.rules_by_class["java.util.concurrent.ConcurrentHashMap"];
        let class = "java.util.concurrent.ConcurrentHashMap$CounterCell".to_string();
        let cells = UnresolvedSizeTerm {
            is_negative: false,
            field: "counterCells".into(),
            nested_field: Some((true, class, "value".into())),
        };
        let base = UnresolvedSizeTerm { is_negative: false, field: "baseCount".into(), nested_field: None };
        assert_eq!(rule.size, Some(UnresolvedSize::Sum(vec![base, cells])));
        assert!(rule.has_buckets && rule.table_field.as_deref() == Some("table"));
        // Looked through, not counted.
        let rule = &table.rules_by_class["java.util.Arrays$ArrayList"];
        assert!(rule.size.is_none() && rule.wrapped_field.is_none() && !rule.elements.is_nowhere());
    }

    #[test]
    fn a_line_that_makes_no_sense_is_named() {
        for (text, line, why) in [
            ("# x\n\na.B size", 3, "\"size\": write it as size=..."),
            ("a.B", 1, "nothing is said of a.B"),
            ("a.B entry=a,b", 1, "entry=a,b: write it as KEY,VALUE,NEXT, - for none"),
            ("a.B table=t", 1, "a.B has neither size= nor in="),
            ("a.B size=used", 1, "a.B: size=used is of a table="),
            ("a.B size=n per=0", 1, "per=0: a number from 1 to 64"),
            ("a.B size=c.value", 1, "size \"c.value\": write it as FIELD, FIELD.CLASS:FIELD or FIELD[].CLASS:FIELD"),
            ("size=x", 1, "\"size=x\" is no class; a line begins with the class"),
        ] {
            let bad = CollectionRules::default().add_lines(text).expect_err(text);
            assert_eq!((bad.line, bad.why.as_str()), (line, why));
        }
    }
}
