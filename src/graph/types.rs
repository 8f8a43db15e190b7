//! Types of a graph: names, and what the dump says of them besides, where it says anything.

use std::sync::OnceLock;

use super::graph_names::{GraphNameId, GraphNames};
use super::shown_types::ShownTypes;
use super::{NodeId, SectionId, TypeId, TypeSlot};

/// Stands for what a dump does not say.
const NONE: u32 = u32::MAX;

/// The loader of a type, as far as the dump says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Loader {
    /// The dump does not say.
    #[default]
    Unknown,
    /// The runtime itself (Java's boot loader), which is no object.
    Runtime,
    /// This object.
    Object(NodeId),
}

/// Type of a field's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FieldKind {
    /// A reference to an object, or null.
    Reference,
    /// True or false, 1 byte.
    Boolean,
    /// A UTF-16 unit, 2 bytes.
    Char,
    /// A floating-point number of 4 bytes.
    Float,
    /// A floating-point number of 8 bytes.
    Double,
    /// A signed number of 1 byte.
    Byte,
    /// A signed number of 2 bytes.
    Short,
    /// A signed number of 4 bytes.
    Int,
    /// A signed number of 8 bytes.
    Long,
}

impl FieldKind {
    /// Every kind.
    pub const ALL: [FieldKind; 9] = [
        FieldKind::Reference,
        FieldKind::Boolean,
        FieldKind::Char,
        FieldKind::Float,
        FieldKind::Double,
        FieldKind::Byte,
        FieldKind::Short,
        FieldKind::Int,
        FieldKind::Long,
    ];

    /// Bytes of a value where a reference has `reference_bytes`.
    pub fn bytes(self, reference_bytes: u32) -> u32 {
        match self {
            FieldKind::Reference => reference_bytes,
            FieldKind::Boolean | FieldKind::Byte => 1,
            FieldKind::Char | FieldKind::Short => 2,
            FieldKind::Float | FieldKind::Int => 4,
            FieldKind::Double | FieldKind::Long => 8,
        }
    }
}

/// A field that a type declares itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: GraphNameId,
    /// Type of its value.
    pub kind: FieldKind,
    /// It belongs to the class, not to each object.
    pub is_static: bool,
}

/// Place of a function in a program's source, or of the constructor of a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SourcePlace {
    /// The runtime's number of the script.
    pub script_number: u32,
    /// Line, from 0.
    pub line: u32,
    /// Column, from 0.
    pub column: u32,
}

/// Script, line and column, both from 1: `123:4:5`.
impl std::fmt::Display for SourcePlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}:{}", self.script_number, u64::from(self.line) + 1, u64::from(self.column) + 1)
    }
}

/// Facts that a reader gives about a type besides its name; objects are still ids.
#[derive(Debug, Clone, Default)]
pub struct TypeRecord {
    /// The object that is the class.
    pub class_object: Option<u64>,
    /// Its loader.
    pub loader: LoaderRecord,
    /// The type it is derived from.
    pub superclass: Option<TypeSlot>,
    /// Fields that it declares itself, in the order of the dump.
    pub fields: Vec<Field>,
}

/// [`Loader`] with its object still an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LoaderRecord {
    /// The dump does not say.
    #[default]
    Unknown,
    /// The runtime itself.
    Runtime,
    /// The object of this id; not in the dump: unknown.
    Object(u64),
}

/// A described type while the dump is read.
#[derive(Debug)]
pub(super) struct DescribedType {
    pub(super) section: SectionId,
    pub(super) slot: TypeSlot,
    pub(super) class_object: Option<u64>,
    pub(super) loader: LoaderRecord,
    pub(super) superclass: Option<TypeSlot>,
    pub(super) field_range: std::ops::Range<u32>,
}

/// Facts of the dump about one type besides its name.
#[derive(Debug, Clone, Copy)]
pub(super) struct TypeDetails {
    /// Number of the text that names the module; here and below `NONE` where the dump does not say.
    pub(super) module: u32,
    pub(super) loader: Loader,
    /// Its node.
    pub(super) class_object: u32,
    /// Its type.
    pub(super) superclass: u32,
    /// Place of its first field in `TypeTable::fields`.
    pub(super) first_field: u32,
    pub(super) field_count: u32,
    /// The last reference of each object is its class (`HeapGraph::strong_references`).
    pub(super) stores_class_reference: bool,
}

impl Default for TypeDetails {
    fn default() -> Self {
        TypeDetails {
            module: NONE,
            loader: Loader::Unknown,
            class_object: NONE,
            superclass: NONE,
            first_field: 0,
            field_count: 0,
            stores_class_reference: false,
        }
    }
}

/// Numbers of one type in a column: module, loader (kind, value), class object, superclass, fields (first, count), flags.
pub(super) const NUMBERS_PER_TYPE_DETAILS: usize = 8;

impl TypeDetails {
    pub(super) fn to_numbers(self) -> [u32; NUMBERS_PER_TYPE_DETAILS] {
        let (loader, value) = match self.loader {
            Loader::Unknown => (0, 0),
            Loader::Runtime => (1, 0),
            Loader::Object(node) => (2, node.0),
        };
        let flags = u32::from(self.stores_class_reference);
        [self.module, loader, value, self.class_object, self.superclass, self.first_field, self.field_count, flags]
    }

    /// The details back, when every number is below its limit.
    pub(super) fn from_numbers(numbers: [u32; NUMBERS_PER_TYPE_DETAILS], limits: &StoredLimits) -> Option<Self> {
        let [module, loader, value, class_object, superclass, first_field, field_count, flags] = numbers;
        let below = |number: u32, limit: usize| number == NONE || (number as usize) < limit;
        let loader = match loader {
            0 => Loader::Unknown,
            1 => Loader::Runtime,
            2 if (value as usize) < limits.node_count => Loader::Object(NodeId(value)),
            _ => return None,
        };
        let fits = below(module, limits.text_count)
            && below(class_object, limits.node_count)
            && below(superclass, limits.type_count)
            && first_field as usize + field_count as usize <= limits.field_count
            && flags < 2;
        fits.then_some(TypeDetails {
            module,
            loader,
            class_object,
            superclass,
            first_field,
            field_count,
            stores_class_reference: flags == 1,
        })
    }
}

/// Number of things of each kind in a stored graph.
pub(super) struct StoredLimits {
    pub(super) node_count: usize,
    pub(super) type_count: usize,
    pub(super) text_count: usize,
    pub(super) field_count: usize,
}

impl Field {
    pub(super) fn to_numbers(self) -> [u32; 2] {
        let kind = FieldKind::ALL.iter().position(|&kind| kind == self.kind).unwrap_or(0) as u32;
        [self.name.number(), kind << 1 | u32::from(self.is_static)]
    }

    pub(super) fn from_numbers([name, kind]: [u32; 2], names: usize) -> Option<Self> {
        let is_static = kind & 1 == 1;
        let kind = *FieldKind::ALL.get((kind >> 1) as usize)?;
        ((name as usize) < names).then_some(Field { name: GraphNameId::new(name), kind, is_static })
    }
}

/// The types of a graph. One type may have the name of another where the dump tells them apart.
///
/// Memory: the names, 36 bytes a type where the dump says more of any, 12 bytes a field.
#[derive(Debug, Default)]
pub struct TypeTable {
    pub(super) names: Vec<Box<str>>,
    /// By type; empty when the dump gives names alone.
    pub(super) details: Vec<TypeDetails>,
    pub(super) fields: Vec<Field>,
    /// Class objects and the types they stand for, ascending by node.
    pub(super) class_objects: Vec<(NodeId, TypeId)>,
    /// By type: objects of the heap that each one in the dump stands for; empty when the dump is no sample.
    pub(super) multipliers: Vec<f32>,
    /// Modules, fields and loaders are named here.
    pub(super) texts: GraphNames,
    /// Types of which the dump says where their constructors stand, ascending.
    pub(super) constructor_places: Vec<(TypeId, SourcePlace)>,
    pub(super) objects_hold_class: bool,
    pub(super) shown_types: ShownTypes,
    /// By type: it, or else the nearest that it is derived from, with fields of instances; found when it is asked for.
    pub(super) nearest_with_fields: OnceLock<Vec<u32>>,
    /// Every type's id, made when the list is first lent.
    pub(super) listed_ids: OnceLock<Vec<TypeId>>,
}

impl TypeTable {
    /// Types, with or without objects. O(1).
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Returns true if there are none.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// All types.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = TypeId> + use<> {
        (0..self.names.len()).map(TypeId::new)
    }

    fn details_of(&self, type_id: TypeId) -> Option<&TypeDetails> {
        self.details.get(type_id.index())
    }

    /// The type's name. O(1).
    #[inline]
    pub fn name(&self, type_id: TypeId) -> &str {
        &self.names[type_id.index()]
    }

    /// The module (assembly) the type is from, where the dump says so. O(1).
    pub fn module(&self, type_id: TypeId) -> Option<&str> {
        let module = self.details_of(type_id)?.module;
        (module != NONE).then(|| self.texts.get(GraphNameId::new(module)))
    }

    /// Returns true if the dump says of any type which module it is from. O(types).
    pub fn have_modules(&self) -> bool {
        self.details.iter().any(|details| details.module != NONE)
    }

    /// The loader of the type. O(1).
    pub fn loader(&self, type_id: TypeId) -> Loader {
        self.details_of(type_id).map_or(Loader::Unknown, |details| details.loader)
    }

    /// The object that is the class, in dumps whose classes are objects. O(1).
    #[inline]
    pub fn class_object(&self, type_id: TypeId) -> Option<NodeId> {
        let node = self.details_of(type_id)?.class_object;
        (node != NONE).then_some(NodeId(node))
    }

    /// The type that a class object stands for. O(log classes).
    pub fn type_of_class_object(&self, node: NodeId) -> Option<TypeId> {
        let at = self.class_objects.binary_search_by_key(&node, |&(class_object, _)| class_object).ok()?;
        Some(self.class_objects[at].1)
    }

    /// Place of the type's constructor, in dumps that tell types apart by that. O(log types).
    pub fn constructor_place(&self, type_id: TypeId) -> Option<SourcePlace> {
        let at = self.constructor_places.binary_search_by_key(&type_id, |&(type_id, _)| type_id).ok()?;
        Some(self.constructor_places[at].1)
    }

    /// Returns true if the dump tells types apart by where their constructors stand.
    pub fn have_constructor_places(&self) -> bool {
        !self.constructor_places.is_empty()
    }

    /// Every class object with the type it stands for, ascending by node.
    pub fn class_objects(&self) -> &[(NodeId, TypeId)] {
        &self.class_objects
    }

    /// The type that this one is derived from. There are no circles. O(1).
    pub fn superclass(&self, type_id: TypeId) -> Option<TypeId> {
        let superclass = self.details_of(type_id)?.superclass;
        (superclass != NONE).then_some(TypeId(superclass))
    }

    /// The type itself, the one it is derived from, and so on up.
    pub fn superclass_chain(&self, type_id: TypeId) -> impl Iterator<Item = TypeId> {
        // A damaged index might hold a circle.
        std::iter::successors(Some(type_id), |&at| self.superclass(at)).take(self.len())
    }

    /// Returns true if the dump says of any type which one it extends. O(types).
    pub fn have_superclasses(&self) -> bool {
        self.ids().any(|type_id| self.superclass(type_id).is_some())
    }

    /// Fields that the type declares itself, static ones too, in the order of the dump. O(1).
    pub fn fields(&self, type_id: TypeId) -> &[Field] {
        let Some(details) = self.details_of(type_id) else { return &[] };
        let first = details.first_field as usize;
        self.fields.get(first..first + details.field_count as usize).unwrap_or(&[])
    }

    /// The fields that each object of the type has, with the types that declare them: its own first, then its
    /// superclass's, and so on up. O(fields).
    pub fn instance_fields(&self, type_id: TypeId) -> impl Iterator<Item = (TypeId, Field)> {
        let own = |type_id| self.fields(type_id).iter().filter(|field| !field.is_static);
        let with_fields = self.nearest_with_fields.get_or_init(|| {
            self.map_by_superclass(|type_id, above| match own(type_id).next() {
                Some(_) => type_id.0,
                None => above.copied().unwrap_or(NONE),
            })
        });
        let nearest =
            |type_id: TypeId| Some(TypeId(*with_fields.get(type_id.index())?)).filter(|found| found.0 != NONE);
        let chain = std::iter::successors(nearest(type_id), move |&at| nearest(self.superclass(at)?)).take(self.len());
        chain.flat_map(move |declaring| own(declaring).map(move |&field| (declaring, field)))
    }

    /// Makes a value for each type from that of its superclass. O(types).
    pub fn map_by_superclass<T>(&self, mut make: impl FnMut(TypeId, Option<&T>) -> T) -> Vec<T> {
        let mut made: Vec<Option<T>> = std::iter::repeat_with(|| None).take(self.len()).collect();
        let mut is_met = vec![false; self.len()];
        let mut way = Vec::new();
        for type_id in self.ids() {
            let mut next = Some(type_id);
            // A damaged index might hold a circle.
            while let Some(at) = next.filter(|at| !std::mem::replace(&mut is_met[at.index()], true)) {
                way.push(at);
                next = self.superclass(at);
            }
            while let Some(at) = way.pop() {
                let above = self.superclass(at).and_then(|superclass| made[superclass.index()].as_ref());
                made[at.index()] = Some(make(at, above));
            }
        }
        made.into_iter().flatten().collect()
    }

    /// A name of a field, a loader or a module.
    pub fn text(&self, name: GraphNameId) -> &str {
        self.texts.get(name)
    }

    /// Objects of the heap that one of this type in the dump stands for: 1 unless the dump is a sample. O(1).
    pub fn multiplier(&self, type_id: TypeId) -> f32 {
        self.multipliers.get(type_id.index()).copied().unwrap_or(1.0)
    }

    /// Returns true if every object holds the class object of its type, as in the Java virtual machine.
    pub fn objects_hold_class(&self) -> bool {
        self.objects_hold_class
    }

    /// Returns true if objects of this type list their class as the last of their strong references.
    pub fn stores_class_reference(&self, type_id: TypeId) -> bool {
        self.details_of(type_id).is_some_and(|details| details.stores_class_reference)
    }

    /// Leaves out superclasses that close a circle; returns how many. O(types).
    pub(super) fn break_superclass_circles(&mut self) -> u64 {
        const NOT_WALKED: u32 = 0;
        let mut walk_of = vec![NOT_WALKED; self.details.len()];
        let mut broken = 0;
        for start in 0..self.details.len() {
            let walk = start as u32 + 1;
            let mut at = start;
            while walk_of[at] == NOT_WALKED {
                walk_of[at] = walk;
                let superclass = self.details[at].superclass;
                if superclass == NONE {
                    break;
                }
                if walk_of[superclass as usize] == walk {
                    self.details[at].superclass = NONE;
                    broken += 1;
                    break;
                }
                at = superclass as usize;
            }
        }
        broken
    }

    /// Every type's id, to be lent: objects have theirs in another form.
    pub(super) fn listed_ids(&self) -> &[TypeId] {
        self.listed_ids.get_or_init(|| self.ids().collect())
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.details.len() * size_of::<TypeDetails>()
            + self.fields.len() * size_of::<Field>()
            + self.class_objects.len() * size_of::<(NodeId, TypeId)>()
            + self.multipliers.len() * size_of::<f32>()
            + self.constructor_places.len() * size_of::<(TypeId, SourcePlace)>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(superclasses: &[u32]) -> TypeTable {
        TypeTable {
            names: superclasses.iter().map(|_| "x".into()).collect(),
            details: superclasses.iter().map(|&superclass| TypeDetails { superclass, ..Default::default() }).collect(),
            ..Default::default()
        }
    }

    #[test]
    fn circles_of_superclasses_are_broken_once_each() {
        let mut circles = table(&[1, 2, 0, 3, NONE, 4]);
        assert_eq!(circles.break_superclass_circles(), 2);
        for type_id in circles.ids() {
            assert!(circles.superclass_chain(type_id).count() <= 3);
        }
        assert_eq!(circles.superclass(TypeId(5)), Some(TypeId(4)));
        assert_eq!(circles.break_superclass_circles(), 0);
    }

    #[test]
    fn details_survive_being_numbers() {
        let limits = StoredLimits { node_count: 10, type_count: 5, text_count: 7, field_count: 4 };
        let details = TypeDetails {
            module: 6,
            loader: Loader::Object(NodeId(9)),
            class_object: 3,
            superclass: 4,
            first_field: 1,
            field_count: 3,
            stores_class_reference: true,
        };
        let back = TypeDetails::from_numbers(details.to_numbers(), &limits).expect("all are in range");
        assert_eq!(back.to_numbers(), details.to_numbers());
        for at in [0, 2, 3, 4, 6, 7] {
            let mut numbers = details.to_numbers();
            numbers[at] = 10;
            assert!(TypeDetails::from_numbers(numbers, &limits).is_none(), "{at}");
        }
        for kind in FieldKind::ALL {
            let field = Field { name: GraphNameId::new(2), kind, is_static: kind == FieldKind::Int };
            assert_eq!(Field::from_numbers(field.to_numbers(), 3), Some(field));
        }
        assert_eq!(Field::from_numbers([2, 99], 3), None);
    }
}
