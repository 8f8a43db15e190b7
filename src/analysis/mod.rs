//! From a heap graph, or an allocation tree, to answers. No printing, no formats, no strings but names.
//!
//! | module | question | algorithm | time | memory beyond the graph |
//! | --- | --- | --- | --- | --- |
//! | `reachability` | what do strong roots reach? | depth-first marking | O(objects + references) | a bit per object, a stack |
//! | `reachability::infer_roots` | what holds what, in a dump without root records? | marking, twice over what is left | O(objects + references) | two bits per object |
//! | `histogram` | how much is there by type, package, section? | one scan | O(objects) | per group |
//! | `dominators` | what is held through what? | Semi-NCA on depth-first numbers | O(references x log objects) | 17 bytes per object, 4 per reference beside the tree |
//! | `dominators::retained` | how much would go with an object? | one sweep over the dominator tree | O(objects) | 8 bytes per object |
//! | `retained_sets` | how much would go with all objects of a type? | a walk down the tree; or a marking without the set | O(objects); O(objects + references) per 63 sets | 8 bytes per object; 56 bytes per object at most |
//! | `root_paths` | why is it alive? | breadth-first search against the references | O(objects + references) | 4 bytes per object |
//! | `shortest_parents` | the same for every object at once, for an index | breadth-first search from all roots | O(objects + references) | 8 bytes per object |
//! | `merged_paths` | what keeps a type alive? | breadth-first search from all roots, merged by type | O(objects + references) | 16 bytes per object |
//! | `type_tree` | what hangs where? | the dominator tree merged by type | O(objects) | per place |
//! | `collections` | what is a collection, and what is inside of one? | a table of classes | O(types) | per type |
//! | `holders` | which field holds an object? | up the shortest path, past arrays and insides of collections | O(objects) for all | 4 bytes per object |
//! | `diff` | what grew? | two answers joined by name | O(names) | per name |
//! | `diff::compare_objects` | which objects came and went? | two dumps of one process side by side, by id | O(objects x log objects) | a bit per object |
//! | `allocation_totals` | how much is at each backtrace, by type? | one sweep from the last frame to the first | O(frames + entries x depth) | per backtrace and type |
//! | `frame_totals` | how much did each function allocate, itself and with all it called? | a walk over the tree that counts uses of names | O(frames) | per frame and name |
//! | `heap_total` | how much is there in all, and of each type? | passing up, a type at a time | O(frames + entries x depth) | O(frames + entries) |
//! | `diff::AllocationDiff` | what grew between two of them? | joined by names | O(frames) | per path |
//! | `breakdown` | what does that look like as a tree? | a walk down, or up | O(rows) | per row |
//! | `leaks` | what grew in number, or is large, and what explains that it is kept? | Dijkstra's algorithm with whole costs, its tree merged into rows | O(objects + references) | 13 bytes per object |
//! | `dominator_paths` | where does an object graph hang? | types along the dominator tree | O(objects) | 4 bytes per object, and per path |
//! | `dominator_order` | what does an object retain, as a range? | one sweep over the dominator tree | O(objects) | 8 bytes per object |
//! | `cutoff` | what of it is worth writing down? | a walk down along both axes | O(entries) | per entry |
//! | `threshold` | what is large enough? | exact shares | O(1) | none |
//! | `secrets` | which texts should not be in a heap? | words, then regular expressions (`secrets.txt`) | O(characters x rules) | none |
//! | `type_patterns` | which types or sections does the user mean? | patterns over names | O(names) | per name |
//! | `type_patterns::nearest_name` | which name was meant? | edit distance | O(names) | per name |
//! | `reachability_strength` | how strongly is an object held? | four walks that share one mark | O(objects + references) | a byte per object |
//! | `root_paths::RootsByNode` | which roots hold an object? | records sorted by object | O(records x log records) | 8 bytes per record |
//! | `series` | which way does a figure go over several dumps? | steps, and the median of slopes | O(values) | per value |
//! | `type_tree::ChosenObjects` | where are some objects in the dominator tree? | one sweep from the last number to the first | O(objects) | a byte per object |

pub mod allocation_totals;
pub mod breakdown;
pub mod collections;
pub mod cutoff;
pub mod diff;
pub mod dominator_order;
pub mod dominator_paths;
pub mod dominators;
pub mod frame_totals;
pub mod heap_total;
pub mod histogram;
pub mod holders;
pub mod leaks;
pub mod merged_paths;
pub mod reachability;
pub mod reachability_strength;
pub mod retained_sets;
pub mod root_paths;
pub mod secrets;
pub mod series;
pub mod shortest_parents;
pub mod threshold;
pub mod type_patterns;
pub mod type_tree;

pub use dominators::retained;
