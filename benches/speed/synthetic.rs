//! Synthetic heaps as plain arrays: a heap-like mixture, a random graph, and the shapes that are bad for some algorithm.
//! The same arguments give the same heap.

use heapdump::graph::{GraphBuilder, HeapGraph, IdStyle, ObjectColumns, ResolveOptions, RootFlags, RootKind, Section};

/// Type names of all synthetic heaps, by number.
pub const TYPES: [&str; 12] = [
    "System.String",
    "Game.Entity",
    "Game.Component",
    "System.Collections.Generic.List<Game.Entity>",
    "Game.Entity[]",
    "System.Collections.Generic.Dictionary<System.String,Game.Entity>",
    "System.Collections.Generic.Dictionary<System.String,Game.Entity>+Entry[]",
    "System.Collections.Generic.LinkedListNode<Game.Entity>",
    "System.Byte[]",
    "Game.Texture",
    "System.Object[]",
    "Game.World",
];

/// Objects in order of address; object 0 is the only root.
pub struct Synthetic {
    pub types: Vec<u8>,
    pub bytes: Vec<u32>,
    pub offsets: Vec<u64>,
    pub targets: Vec<u32>,
}

/// xorshift64*: small, fast, the same everywhere.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(limit)) >> 64) as u64
    }
}

impl Synthetic {
    fn with_capacity(objects: usize) -> Self {
        let mut offsets = Vec::with_capacity(objects + 1);
        offsets.push(0);
        Synthetic {
            types: Vec::with_capacity(objects),
            bytes: Vec::with_capacity(objects),
            offsets,
            targets: Vec::new(),
        }
    }

    pub fn len(&self) -> usize {
        self.types.len()
    }

    fn push(&mut self, type_number: u8, bytes: u32, references: impl IntoIterator<Item = u64>) -> u64 {
        self.targets.extend(references.into_iter().map(|target| target as u32));
        self.offsets.push(self.targets.len() as u64);
        self.types.push(type_number);
        self.bytes.push(bytes);
        self.len() as u64 - 1
    }

    pub fn references(&self, object: usize) -> &[u32] {
        &self.targets[self.offsets[object] as usize..self.offsets[object + 1] as usize]
    }

    /// Bytes from one object's address to the next, a multiple of 8.
    fn spacing(&self, object: usize) -> u64 {
        u64::from(self.bytes[object]).div_ceil(8) * 8
    }

    /// Addresses in order of objects.
    pub fn addresses(&self, base: u64) -> Vec<u64> {
        let mut next = base;
        (0..self.len())
            .map(|object| {
                let own = next;
                next += self.spacing(object);
                own
            })
            .collect()
    }

    /// As a graph in memory, without going through text.
    pub fn graph(&self) -> HeapGraph {
        let mut builder = GraphBuilder::new(IdStyle::Hex);
        let slots: Vec<u32> = TYPES
            .iter()
            .map(|name| {
                let slot = builder.new_type();
                builder.name_type(slot, name);
                slot.0
            })
            .collect();
        let section = builder.begin_section(Section::default());
        let mut columns = ObjectColumns::default();
        let id = |object: u64| 0x1000 + 16 * object;
        for block in (0..self.len()).step_by(32_768) {
            columns.clear();
            for object in block..self.len().min(block + 32_768) {
                columns.push_object(id(object as u64), self.types[object].into(), self.bytes[object].into(), 1);
                self.references(object).iter().for_each(|&target| columns.push_reference(id(target.into())));
            }
            columns.seal();
            builder.append(section, &columns, 0..columns.len(), &slots, 0, true).expect("fits");
        }
        builder.add_root(section, id(0), RootKind::Static, RootFlags::default(), None, 1);
        builder.resolve(ResolveOptions::default()).0
    }

    /// A heap like real ones: 2.1 references an object, about half of the objects leaves, most of them referred to
    /// once; hash tables, lists, doubly linked lists, entities with parents and strings, far references, popular objects.
    pub fn mixture(objects: usize, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let mut heap = Synthetic::with_capacity(objects);
        // Object 0 refers to every structure; its references are put in at the end.
        let world = heap.push(11, 64, []);
        let popular: Vec<u64> = (0..1000).map(|_| heap.push(0, 24, [])).collect();
        let mut tops = popular.clone();
        while heap.len() + 64 < objects {
            let room = (objects - heap.len()) as u64;
            let top = match random.below(10) {
                0 => heap.linked_list(1 + random.below(100.min(room / 2)), &popular, &mut random),
                1 | 2 => {
                    let largest = (1u64 << random.below(14)).min(room / 4);
                    heap.hash_table(1 + random.below(largest), &popular, &mut random)
                }
                _ => heap.entities(1 + random.below(40.min(room / 8)), world, &popular, &mut random),
            };
            tops.push(top);
        }
        while heap.len() < objects {
            tops.push(heap.push(8, 32, []));
        }
        heap.with_references_of_first(&tops)
    }

    fn linked_list(&mut self, length: u64, popular: &[u64], random: &mut Random) -> u64 {
        let first = self.len() as u64;
        // Short and not closed to a ring: petgraph, which is compared on this heap, would not end today.
        for at in 0..length {
            let next = (at + 1 < length).then_some(first + at + 1);
            let before = at.checked_sub(1).map(|before| first + before);
            let item = popular[random.below(popular.len() as u64) as usize];
            self.push(7, 48, [next, before, Some(item)].into_iter().flatten());
        }
        first
    }

    fn hash_table(&mut self, entries: u64, popular: &[u64], random: &mut Random) -> u64 {
        let first = self.len() as u64;
        for _ in 0..entries {
            let text = self.push(0, 20 + 2 * random.below(30) as u32, []);
            self.push(1, 56, [text, popular[random.below(popular.len() as u64) as usize]]);
        }
        let table = self.push(6, 24 + 24 * entries as u32, first..first + 2 * entries);
        self.push(5, 80, [table])
    }

    fn entities(&mut self, count: u64, world: u64, popular: &[u64], random: &mut Random) -> u64 {
        let first = self.len() as u64;
        // The list at the end is every child's parent.
        let list = first + 4 * count + 1;
        for _ in 0..count {
            let text = self.push(0, 20 + 2 * random.below(40) as u32, []);
            let body = self.push(8, 16 + random.below(500) as u32, []);
            // A far reference, mostly near.
            let far = first.saturating_sub(1 << random.below(24)).max(1);
            let component = self.push(2, 40, [body, popular[random.below(popular.len() as u64) as usize]]);
            self.push(1, 56, [text, component, list, far, world].into_iter().take(3 + random.below(3) as usize));
        }
        self.push(4, 16 + 8 * count as u32, (0..count).map(|at| first + 4 * at + 3));
        self.push(3, 32, [list - 1])
    }

    fn with_references_of_first(mut self, tops: &[u64]) -> Self {
        let added = tops.len() as u64;
        let mut targets: Vec<u32> = tops.iter().map(|&top| top as u32).collect();
        targets.append(&mut self.targets);
        self.targets = targets;
        self.offsets[1..].iter_mut().for_each(|offset| *offset += added);
        self
    }

    /// Every object has three references to any others.
    pub fn random(objects: usize, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let mut heap = Synthetic::with_capacity(objects);
        for _ in 0..objects {
            let targets = [0; 3].map(|_| random.below(objects as u64));
            heap.push(1, 32, targets);
        }
        heap
    }

    /// One of the shapes of `SHAPES`, of about so many objects.
    pub fn shape(name: &str, objects: usize) -> Self {
        let count = objects as u64;
        let mut heap = Synthetic::with_capacity(objects);
        match name {
            "doubly linked list" => {
                heap.push(11, 40, [1]);
                for at in 1..count {
                    heap.push(7, 48, [1 + at % (count - 1), 1 + (at + count - 3) % (count - 1), 0]);
                }
            }
            "chain" => (0..count).for_each(|at| {
                heap.push(7, 24, (at + 1 < count).then_some(at + 1));
            }),
            "chain with a shared object" => {
                heap.push(7, 24, [1, count - 1]);
                (1..count - 1).for_each(|at| {
                    heap.push(7, 24, [(at + 1).min(count - 2), count - 1]);
                });
                heap.push(0, 24, []);
            }
            "array over a list, list first" | "array over a list, array first" => {
                let half = count / 2;
                let (array, list, items) = (1, 2, 2 + half);
                let list_first = name.ends_with("list first");
                heap.push(11, 40, if list_first { [list, array] } else { [array, list] });
                heap.push(10, 32, items..items + half);
                (0..half).for_each(|at| {
                    let next = list + (at + 1).min(half - 1);
                    heap.push(7, 32, if list_first { [next, items + at] } else { [items + at, next] });
                });
                (0..half).for_each(|_| {
                    heap.push(0, 24, []);
                });
            }
            "linked hash map" => {
                let entries = count / 3;
                let (table, first) = (1, 2);
                heap.push(5, 64, [table, first]);
                heap.push(6, 32, (0..entries).map(|at| first + 3 * at));
                (0..entries).for_each(|at| {
                    let own = first + 3 * at;
                    let (after, before) =
                        (first + 3 * ((at + 1) % entries), first + 3 * ((at + entries - 1) % entries));
                    heap.push(7, 64, [own + 1, own + 2, after, before]);
                    heap.push(0, 24, []);
                    heap.push(1, 24, [own]);
                });
            }
            _ => {
                heap.push(10, 32, 1..count);
                (1..count).for_each(|_| {
                    heap.push(0, 24, []);
                });
            }
        }
        heap
    }
}

/// Shapes that make some algorithm quadratic or worse.
pub const SHAPES: [&str; 7] = [
    "doubly linked list",
    "chain",
    "chain with a shared object",
    "array over a list, list first",
    "array over a list, array first",
    "linked hash map",
    "fan",
];
