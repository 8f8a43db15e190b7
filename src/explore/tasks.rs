//! The workers: questions to `answers`, away from the keys. Each worker has its own queue; of lists that are asked for a
//! newer one drops the older.

use std::collections::HashSet;
use std::mem::{Discriminant, discriminant, take};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use super::export::{FILE_EXISTS_TEXT, ListExport};
use super::listing::{ArrangedRows, Listing, SortOrder, arrange, matching_places};
use super::lists;
use super::setup::{BrowsedDumps, WriteIndex};
use super::view::{BrowsedObject, BrowserView, CommandContext};
use crate::analysis::type_patterns::TypePattern;
use crate::answers::browse::HeapBrowser;
use crate::answers::{AnswerError, ScopeOptions};
use crate::graph::NodeId;

pub(super) type ListId = u64;

/// Rows that are put in order at once; all others after them.
const FIRST_SORTED_ROW_COUNT: usize = 1000;

/// What a text says of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextKind {
    /// The short text of an object.
    Value,
    /// The name of the reference by which this object holds another.
    ReferenceFrom(NodeId),
}

/// Something that is to be done for the state.
#[derive(Debug, Clone)]
pub(super) enum Task {
    /// The dominator tree, once.
    ComputeDominators,
    MakeList(ListId, BrowserView, CommandContext),
    /// Other rows of a list, or another order.
    ArrangeRows(ListId, Arc<Listing>, SortOrder, Option<TypePattern>),
    /// The rows of a list that match, by their places as it is shown.
    FindRows(ListId, Arc<Listing>, ArrangedRows, SortOrder, TypePattern),
    /// An object, to stand beside a list.
    FillSidePane(BrowsedObject),
    ReadTexts(TextKind, Vec<NodeId>),
    /// Exact retained bytes of all objects of a type.
    ComputeExactRetained(String, ScopeOptions),
    WriteIndex,
    /// Rows to a file.
    Export(ListExport),
    /// To the clipboard of the terminal.
    CopyText(String),
    Suspend,
    /// All of the screen anew.
    Redraw,
    Quit,
}

/// What a worker reports of a task.
#[derive(Debug)]
pub(super) enum TaskResult {
    Dominators(Result<(), AnswerError>),
    List(ListId, Result<(Arc<Listing>, ArrangedRows), String>),
    Arranged(ListId, SortOrder, Option<String>, ArrangedRows),
    FoundRows(ListId, SortOrder, String, Vec<u32>),
    /// It was not answered: a newer question came.
    Superseded(ListId),
    /// Texts of objects; none where nobody sees these any more.
    Texts(TextKind, Vec<NodeId>, Vec<Option<String>>),
    ExactRetained(String, Result<u64, String>),
    /// The file of an export is there already.
    FileExists(String),
    SidePaneList(NodeId, Arc<Listing>),
    StatusNote(Result<String, String>),
}

impl Task {
    fn worker_name(&self) -> &'static str {
        match self {
            Task::MakeList(_, view, _) if view.is_slow() => "slow",
            Task::MakeList(..) => "lists",
            Task::ArrangeRows(..) | Task::FindRows(..) | Task::ReadTexts(..) => "quick",
            Task::FillSidePane(_) => "pane",
            _ => "jobs",
        }
    }

    /// The question that a newer one of the same makes void: of several lists the last is wanted, of several orders of one
    /// list too, and what the last page says.
    fn question_key(&self) -> Option<(Discriminant<Task>, ListId)> {
        let list = match self {
            Task::ArrangeRows(id, ..) => *id,
            Task::ReadTexts(TextKind::ReferenceFrom(_), _) => 1,
            Task::MakeList(..) | Task::FindRows(..) | Task::FillSidePane(_) | Task::ReadTexts(..) => 0,
            _ => return None,
        };
        Some((discriminant(self), list))
    }
}

pub(super) struct WorkerQueues([(&'static str, Sender<Task>); 5]);

impl WorkerQueues {
    /// Starts them; each is like this one.
    pub(super) fn start(worker: &BrowserWorker) -> Self {
        WorkerQueues(["quick", "pane", "lists", "slow", "jobs"].map(|name| {
            let (tasks, queue) = channel();
            let worker = worker.clone();
            // Without a thread questions stay unanswered, and `q` ends the program all the same.
            _ = std::thread::Builder::new().name(name.into()).spawn(move || worker.run(&queue));
            (name, tasks)
        }))
    }

    /// Hands a question to the worker for it.
    pub(super) fn send_to_worker(&self, ask: &Task) {
        let own = self.0.iter().filter(|(name, _)| *name == ask.worker_name());
        // A worker that is gone has said why.
        own.for_each(|(_, tasks)| _ = tasks.send(ask.clone()));
    }
}

#[derive(Clone)]
pub(super) struct BrowserWorker {
    dumps: BrowsedDumps,
    write_index: Option<WriteIndex>,
    send_result: Arc<dyn Fn(TaskResult) + Send + Sync>,
    allocation_tree_cache: Arc<lists::AllocationTreeCache>,
}

impl BrowserWorker {
    /// A worker that gives its results to `answer`.
    pub(super) fn new(
        dumps: BrowsedDumps,
        write_index: Option<WriteIndex>,
        answer: impl Fn(TaskResult) + Send + Sync + 'static,
    ) -> Self {
        BrowserWorker { dumps, write_index, send_result: Arc::new(answer), allocation_tree_cache: Arc::default() }
    }

    fn run(&self, queue: &Receiver<Task>) {
        while let Ok(first) = queue.recv() {
            let mut tasks: Vec<Task> = std::iter::once(first).chain(queue.try_iter()).collect();
            self.drop_superseded(&mut tasks);
            for ask in tasks {
                let id = match &ask {
                    Task::MakeList(id, ..) => Some(*id),
                    _ => None,
                };
                // What goes wrong in a worker is said, and the next question may be answered.
                if catch_unwind(AssertUnwindSafe(|| self.answer_task(ask))).is_err() {
                    let why = "this failed; it is a defect of heapdump".to_string();
                    (self.send_result)(match id {
                        Some(id) => TaskResult::List(id, Err(why)),
                        None => TaskResult::StatusNote(Err(why)),
                    });
                }
            }
            self.dumps.all().for_each(crate::OpenDump::release_index_pages);
            #[cfg(target_os = "linux")]
            crate::large_blocks::give_back_free_blocks();
        }
    }

    /// Drops the questions that a newer one makes void.
    pub(super) fn drop_superseded(&self, tasks: &mut Vec<Task>) {
        let mut newer = HashSet::new();
        let mut is_newest: Vec<bool> =
            tasks.iter().rev().map(|ask| ask.question_key().is_none_or(|question| newer.insert(question))).collect();
        tasks.retain_mut(|ask| {
            let is_newest = is_newest.pop().unwrap_or(true);
            match ask {
                Task::MakeList(id, ..) if !is_newest => (self.send_result)(TaskResult::Superseded(*id)),
                // What went by is asked again when it is seen again.
                Task::ReadTexts(kind, nodes) if !is_newest => {
                    (self.send_result)(TaskResult::Texts(*kind, take(nodes), Vec::new()))
                }
                _ => {}
            }
            is_newest
        });
    }

    /// Answers a question, once or more.
    pub(super) fn answer_task(&self, ask: Task) {
        let BrowsedDumps { new, .. } = self.dumps;
        let answer = match ask {
            Task::ComputeDominators => {
                TaskResult::Dominators(new.dominators_unless_cut().map(drop).map_err(AnswerError::OutOfMemory))
            }
            Task::MakeList(id, view, context) => {
                return self.make_list(id, &view, &context);
            }
            Task::ArrangeRows(id, listing, sort, find) => {
                let browser = self.browser_if_needed_by(&listing);
                return self.arrange_and_send(id, &listing, browser.as_ref(), sort, find.as_ref(), None);
            }
            Task::FindRows(id, listing, rows, sort, pattern) => {
                let browser = self.browser_if_needed_by(&listing);
                let places = matching_places(&listing, browser.as_ref(), &rows, &pattern);
                TaskResult::FoundRows(id, sort, pattern.text().to_string(), places)
            }
            Task::ReadTexts(kind, nodes) => {
                let texts = HeapBrowser::of(new).map_or(vec![None; nodes.len()], |browser| match kind {
                    TextKind::Value => browser.value_texts(&nodes),
                    TextKind::ReferenceFrom(holder) => browser.reference_names_of_dominated(holder, &nodes),
                });
                TaskResult::Texts(kind, nodes, texts)
            }
            Task::ComputeExactRetained(name, scope) => {
                let exact = lists::exact_retained_bytes(new, &scope).map_err(|error| error.to_string());
                TaskResult::ExactRetained(name, exact)
            }
            Task::WriteIndex => TaskResult::StatusNote(match &self.write_index {
                Some(write) => write(new),
                None => Err("there is nothing to write an index beside".into()),
            }),
            Task::Export(export) => match export.write(self.dumps) {
                Err(why) if why == FILE_EXISTS_TEXT => TaskResult::FileExists(export.file_path),
                done => TaskResult::StatusNote(done),
            },
            Task::FillSidePane(place) => {
                let node = place.node;
                match lists::list_side_pane_facts(new, &place) {
                    Ok(listing) => TaskResult::SidePaneList(node, Arc::new(listing)),
                    Err(why) => TaskResult::StatusNote(Err(why)),
                }
            }
            Task::CopyText(_) | Task::Suspend | Task::Redraw | Task::Quit => return,
        };
        (self.send_result)(answer);
    }

    /// A browser for lists with rows of objects; `None` for others, and where there is no memory for one.
    fn browser_if_needed_by(&self, listing: &Listing) -> Option<HeapBrowser<'static>> {
        listing.has_objects().then(|| HeapBrowser::of(self.dumps.new).ok()).flatten()
    }

    fn make_list(&self, id: ListId, view: &BrowserView, context: &CommandContext) {
        match lists::make_listing(self.dumps, view, context, &self.allocation_tree_cache) {
            Err(error) => (self.send_result)(TaskResult::List(id, Err(error))),
            Ok(listing) => {
                let listing = Arc::new(listing);
                let browser = self.browser_if_needed_by(&listing);
                let sort = SortOrder { column: listing.sorted_by_column, is_reversed: false };
                self.arrange_and_send(id, &listing, browser.as_ref(), sort, None, Some(&listing));
            }
        }
    }

    /// The first rows in order, then all.
    fn arrange_and_send(
        &self,
        id: ListId,
        listing: &Listing,
        browser: Option<&HeapBrowser<'static>>,
        sort: SortOrder,
        find: Option<&TypePattern>,
        is_new: Option<&Arc<Listing>>,
    ) {
        let arranged = arrange(listing, browser, sort, find, FIRST_SORTED_ROW_COUNT);
        let is_part = arranged.rows.as_ref().is_some_and(|rows| rows.len() < arranged.row_count);
        let text = find.map(|find| find.text().to_string());
        (self.send_result)(match is_new {
            Some(listing) => TaskResult::List(id, Ok((Arc::clone(listing), arranged))),
            None => TaskResult::Arranged(id, sort, text.clone(), arranged),
        });
        if is_part {
            let all = arrange(listing, browser, sort, find, usize::MAX);
            (self.send_result)(TaskResult::Arranged(id, sort, text, all));
        }
    }
}
