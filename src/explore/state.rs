//! The state of the browser, and its change by each key: no terminal, no files, no waiting.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::input_events::{KeyPress, Mouse};
use super::listing::Listing;
use super::load_progress::ReadProgress;
use super::setup::{BrowsedDumps, ScreenLook};
use super::tasks::{ListId, Task, TaskResult, TextKind};
use super::view::{BrowserView, CommandContext, Tab};
use super::view_frame::ViewFrame;
use crate::answers::browse::HeapBrowser;
use crate::answers::cut_word;
use crate::graph::{HeapGraph, NodeId};
use crate::units::{count_with_noun, format_bytes};

#[derive(Debug)]
pub(super) enum BrowserMessage {
    Key(KeyPress),
    Mouse(Mouse),
    Resize(u16, u16),
    /// The dumps are open.
    Opened(BrowsedDumps),
    Answer(TaskResult),
    /// Time went by, and this is being done.
    ReadProgressed(ReadProgress),
}

/// A line that is typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Prompt {
    Find(String),
    GoToObject(String),
    Export(String),
    /// Is that file to be replaced?
    ReplaceFile(String),
}

/// Places that can be clicked: a line, its columns, and what is there.
pub(super) type ClickTargets = Vec<(u16, std::ops::Range<u16>, ClickTarget)>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClickTarget {
    Tab(Tab),
    /// That many steps from the beginning of the way here.
    Breadcrumb(usize),
    /// A row, by its place among those that are shown.
    Row(usize),
}

/// All that the browser shows, and what it waits for.
#[derive(Debug, Default)]
pub(super) struct BrowserState {
    pub(super) context: CommandContext,
    pub(super) screen_look: ScreenLook,
    /// `None` while they are read.
    pub(super) dumps: Option<BrowsedDumps>,
    /// Once the tree is there.
    pub(super) browser: Option<HeapBrowser<'static>>,
    /// The reason why there is no dominator tree.
    pub(super) no_dominator_tree_reason: Option<String>,
    pub(super) is_dominator_tree_pending: bool,
    /// Of the dumps, as long as they are read.
    pub(super) read_progress: ReadProgress,
    /// What the first line says of the dump behind the names of files: its format, objects, what is wrong.
    pub(super) dump_summary: String,
    pub(super) screen_size: (u16, u16),
    /// By tab the way from its beginning.
    pub(super) frames_by_tab: Vec<(Tab, Vec<ViewFrame>)>,
    /// Place in `frames_by_tab` of the one that is shown.
    pub(super) tab_index: usize,
    pub(super) prompt: Option<Prompt>,
    pub(super) last_find: String,
    /// The first line that is shown of the help; `None` where there is none on the screen.
    pub(super) first_help_line: Option<usize>,
    /// Keys for a list that is not there yet.
    pub(super) typed_ahead: VecDeque<KeyPress>,
    pub(super) shows_plain_bytes: bool,
    /// Something to be said in the last line until the next key.
    pub(super) status_note: Option<String>,
    /// Warnings on the dumps, under `?`.
    pub(super) warnings: Vec<String>,
    pub(super) value_texts: ObjectTexts,
    /// Names of the references by which objects are held by what is above them in the dominator tree.
    pub(super) reference_names: ObjectTexts,
    /// The object under the cursor, beside a list on a wide terminal.
    pub(super) side_pane: Option<SidePane>,
    /// Of the list that was asked for last.
    last_list_id: ListId,
    start_tab_and_object: (Option<Tab>, Option<String>),
    pub(super) has_old_dump: bool,
    /// Places that can be clicked, as they were drawn last.
    pub(super) click_targets: ClickTargets,
}

/// Texts of objects, read for those on the screen.
#[derive(Debug, Default)]
pub(super) struct ObjectTexts {
    texts_by_node: HashMap<NodeId, Option<String>>,
    asked_nodes: Vec<NodeId>,
}

impl ObjectTexts {
    pub(super) fn of(&self, node: NodeId) -> Option<&str> {
        self.texts_by_node.get(&node)?.as_deref()
    }

    /// Those of some objects of which nothing is known and nothing was asked; from now on they are as asked.
    fn take_unasked(&mut self, seen: &[NodeId]) -> Vec<NodeId> {
        let is_new = |node: &&NodeId| !self.texts_by_node.contains_key(node) && !self.asked_nodes.contains(node);
        let new: Vec<NodeId> = seen.iter().filter(is_new).copied().collect();
        self.asked_nodes.extend(&new);
        new
    }

    /// Takes texts that were read; those of objects that were not read are asked for again when they are seen again.
    fn add_texts(&mut self, nodes: &[NodeId], texts: Vec<Option<String>>) {
        if self.texts_by_node.len() > MAX_TEXTS_KEPT {
            self.texts_by_node.clear();
        }
        self.asked_nodes.retain(|node| !nodes.contains(node));
        self.texts_by_node.extend(nodes.iter().copied().zip(texts));
    }
}

/// An object beside the list.
#[derive(Debug)]
pub(super) struct SidePane {
    pub(super) node: NodeId,
    pub(super) listing: Option<Arc<Listing>>,
}

/// On a wider screen the object under the cursor stands beside the list.
pub(super) const MAX_COLUMNS_WITHOUT_PANE: u16 = 160;

/// Texts of objects that are kept; all of them are forgotten beyond that.
const MAX_TEXTS_KEPT: usize = 20_000;

impl BrowserState {
    pub(super) fn new(
        context: CommandContext,
        look: ScreenLook,
        start: (Option<Tab>, Option<String>),
        size: (u16, u16),
    ) -> Self {
        BrowserState {
            has_old_dump: context.dump_paths.len() > 1,
            context,
            screen_look: look,
            start_tab_and_object: start,
            screen_size: size,
            ..BrowserState::default()
        }
    }

    /// Follows what happened. Gives what is to be done for it.
    pub(super) fn update(&mut self, msg: BrowserMessage) -> Vec<Task> {
        let mut tasks = Vec::new();
        match msg {
            BrowserMessage::Resize(width, height) => self.screen_size = (width, height),
            BrowserMessage::ReadProgressed(progress) => self.read_progress = progress,
            BrowserMessage::Opened(dumps) => self.take_dumps(dumps, &mut tasks),
            BrowserMessage::Answer(answer) => self.take_answer(answer),
            BrowserMessage::Mouse(mouse) => self.act_on_mouse(mouse, &mut tasks),
            BrowserMessage::Key(key) => self.press_key(key, &mut tasks),
        }
        self.ask_for_missing(&mut tasks);
        while self.is_settled()
            && let Some(key) = self.typed_ahead.pop_front()
        {
            self.press_key_now(key, &mut tasks);
            self.ask_for_missing(&mut tasks);
        }
        tasks
    }

    /// Returns true if there is something to look at, or a reason why there is nothing.
    pub(super) fn is_settled(&self) -> bool {
        self.current_frame().is_some_and(|frame| frame.listing.is_some() || frame.error.is_some())
    }

    pub(super) fn tabs(&self) -> Vec<Tab> {
        self.frames_by_tab.iter().map(|(tab, _)| *tab).collect()
    }

    /// The view that is shown; `None` while the dump is read.
    pub(super) fn current_frame(&self) -> Option<&ViewFrame> {
        self.frames_by_tab.get(self.tab_index)?.1.last()
    }

    pub(super) fn current_frame_mut(&mut self) -> Option<&mut ViewFrame> {
        self.frames_by_tab.get_mut(self.tab_index)?.1.last_mut()
    }

    /// The way from the beginning of the tab that is shown.
    pub(super) fn current_tab_frames(&self) -> &[ViewFrame] {
        self.frames_by_tab.get(self.tab_index).map_or(&[], |(_, way)| way)
    }

    pub(super) fn take_dumps(&mut self, dumps: BrowsedDumps, tasks: &mut Vec<Task>) {
        let graph = dumps.new.graph();
        self.context.has_object_graph = graph.is_some();
        let info = dumps.new.info();
        self.dump_summary = match graph {
            Some(graph) => format!("{}  {}", info.format, count_with_noun(graph.node_count() as u64, "objects")),
            None => format!("{}  allocation totals", info.format),
        };
        for (dump, path) in dumps.all().zip(&self.context.dump_paths) {
            let file = dumps.old.map_or(String::new(), |_| format!("{}: ", path.display()));
            let problems = dump.diagnostics().sorted().into_iter();
            let warnings = problems.filter(|problem| !problem.is_note());
            self.warnings.extend(warnings.map(|problem| format!("{file}{problem}")));
        }
        if let Some(word) = cut_word(dumps.new.diagnostics()) {
            self.dump_summary += &format!("  {word}");
        }
        if graph.is_some_and(|graph| graph.roots_inferred()) {
            self.warnings.push("roots are inferred: the dump has no root records".into());
            self.dump_summary += "  roots inferred";
        }
        let known = Tab::WORDS.iter().map(|(_, tab)| *tab);
        let is_there = |tab: &Tab| match tab {
            Tab::Growth => dumps.old.is_some(),
            Tab::Dominators => graph.is_some(),
            Tab::Packages => graph.is_some_and(HeapGraph::types_may_have_packages),
            Tab::Suspects | Tab::Types => true,
        };
        let is_objects = self.context.has_object_graph;
        self.frames_by_tab =
            known.filter(is_there).map(|tab| (tab, vec![ViewFrame::new(tab.view(is_objects))])).collect();
        self.dumps = Some(dumps);
        match graph {
            Some(_) if dumps.new.is_indexed() => self.take_dominators_result(Ok(())),
            Some(_) => {
                self.is_dominator_tree_pending = true;
                tasks.push(Task::ComputeDominators);
            }
            None => {}
        }
        let (tab, object) = std::mem::take(&mut self.start_tab_and_object);
        let first = if dumps.old.is_some() { Tab::Growth } else { Tab::Dominators };
        let wanted = tab.unwrap_or(if is_objects || dumps.old.is_some() { first } else { Tab::Suspects });
        match self.frames_by_tab.iter().position(|(tab, _)| *tab == wanted) {
            Some(at) => {
                self.tab_index = at;
                if tab == Some(Tab::Suspects) && !is_objects {
                    self.status_note = Some("dumps of allocation totals have no suspects: these are the heaps".into());
                }
            }
            None => self.status_note = Some(format!("this dump has no {}", wanted.title(true).to_lowercase())),
        }
        if let Some(id) = object {
            self.go_to_object_or_type(&id);
        }
    }

    pub(super) fn take_dominators_result(&mut self, result: Result<(), String>) {
        let Some(dumps) = self.dumps else { return };
        self.is_dominator_tree_pending = false;
        match result {
            Ok(()) => {
                self.context.has_retained_bytes = dumps.new.graph().is_some_and(|graph| !graph.lacks_references())
            }
            Err(why) => self.no_dominator_tree_reason = Some(why),
        }
        if self.no_dominator_tree_reason.is_none() {
            self.browser = HeapBrowser::of(dumps.new).ok();
        }
        // What was shown without retained bytes is asked again.
        let has_references = self.context.has_retained_bytes;
        for frame in self.frames_by_tab.iter_mut().flat_map(|(_, way)| way) {
            if frame.was_asked_before_tree && has_references {
                frame.drop_answer();
            }
        }
    }

    pub(super) fn take_answer(&mut self, answer: TaskResult) {
        match answer {
            TaskResult::Dominators(result) => self.take_dominators_result(result.map_err(|error| error.to_string())),
            TaskResult::List(id, result) => {
                if let Some(frame) = self.frame_with_id(id) {
                    frame.take_listing(result);
                }
            }
            TaskResult::Arranged(id, sort, find, arranged) => {
                let last = self.rows_on_page();
                if let Some(frame) = self.frame_with_id(id) {
                    frame.take_arranged(sort, find.as_deref(), arranged);
                    frame.scroll_to_cursor(last);
                }
            }
            TaskResult::FoundRows(id, sort, find, places) => {
                let page = self.rows_on_page();
                if let Some(frame) = self.frame_with_id(id) {
                    frame.take_matches(sort, &find, places);
                    frame.scroll_to_cursor(page);
                }
            }
            TaskResult::Superseded(id) => {
                if let Some(frame) = self.frame_with_id(id) {
                    frame.is_pending = false;
                }
            }
            TaskResult::Texts(kind, nodes, texts) => match kind {
                TextKind::Value => self.value_texts.add_texts(&nodes, texts),
                TextKind::ReferenceFrom(_) => self.reference_names.add_texts(&nodes, texts),
            },
            TaskResult::ExactRetained(name, result) => {
                self.status_note = Some(match result {
                    Ok(bytes) => format!("{name}: exactly {} would be freed with all of them", format_bytes(bytes)),
                    Err(why) => why,
                });
            }
            TaskResult::FileExists(file) => self.prompt = Some(Prompt::ReplaceFile(file)),
            TaskResult::SidePaneList(node, listing) => {
                if let Some(pane) = self.side_pane.as_mut().filter(|pane| pane.node == node) {
                    pane.listing = Some(listing);
                }
            }
            TaskResult::StatusNote(result) => self.status_note = Some(result.unwrap_or_else(|why| why)),
        }
    }

    pub(super) fn frame_with_id(&mut self, id: ListId) -> Option<&mut ViewFrame> {
        self.frames_by_tab.iter_mut().flat_map(|(_, way)| way).find(|frame| frame.list_id == id)
    }

    /// Asks for what is not there yet of what is looked at.
    pub(super) fn ask_for_missing(&mut self, tasks: &mut Vec<Task>) {
        let tree_waits = self.context.has_object_graph && self.browser.is_none();
        let page = self.rows_on_page();
        let Some(frame) = self.frames_by_tab.get_mut(self.tab_index).and_then(|(_, way)| way.last_mut()) else {
            return;
        };
        if frame.listing.is_none() && frame.error.is_none() && !frame.is_pending {
            match &self.no_dominator_tree_reason {
                Some(why) if frame.view.needs_dominator_tree() => frame.error = Some(why.clone()),
                _ if tree_waits && frame.view.needs_dominator_tree() => {}
                _ => {
                    self.last_list_id += 1;
                    frame.list_id = self.last_list_id;
                    frame.is_pending = true;
                    frame.was_asked_before_tree = tree_waits;
                    tasks.push(Task::MakeList(self.last_list_id, frame.view.clone(), self.context.clone()));
                }
            }
            return;
        }
        frame.scroll_to_cursor(page);
        if let Some(listing) = &frame.listing {
            let listing = Arc::clone(listing);
            if frame.wants_arranging() {
                let pattern = frame.take_arrangement_request();
                tasks.push(Task::ArrangeRows(frame.list_id, listing, frame.sort_order, pattern));
            } else if let Some(pattern) = frame.take_find_request() {
                tasks.push(Task::FindRows(frame.list_id, listing, frame.rows.clone(), frame.sort_order, pattern));
            }
        }
        self.update_side_pane(tasks);
        self.ask_visible_texts(tasks);
    }

    /// Makes the side pane that of the object under the cursor, where there is room for one; else there is none.
    pub(super) fn update_side_pane(&mut self, tasks: &mut Vec<Task>) {
        let is_object = matches!(self.current_frame().map(|frame| &frame.view), Some(BrowserView::Object(_)));
        match self.selected_object().filter(|_| self.screen_size.0 > MAX_COLUMNS_WITHOUT_PANE && !is_object) {
            None => self.side_pane = None,
            Some(place) if self.side_pane.as_ref().is_none_or(|pane| pane.node != place.node) => {
                self.side_pane = Some(SidePane { node: place.node, listing: None });
                tasks.push(Task::FillSidePane(place));
            }
            Some(_) => {}
        }
    }

    /// Asks for the texts of the objects on the screen, and for the names of the references by which they are held.
    pub(super) fn ask_visible_texts(&mut self, tasks: &mut Vec<Task>) {
        let Some(has_values) = self.browser.map(|browser| browser.has_values()) else { return };
        let Some(frame) = self.current_frame() else { return };
        let Some(listing) = &frame.listing else { return };
        let holder = frame.view.holder_of_rows();
        let places = frame.first_shown_row..frame.first_shown_row + self.lines_for_rows();
        let seen: Vec<NodeId> = places.filter_map(|at| listing.object_of_row(frame.rows.get(at)?)).collect();
        let values = if has_values { self.value_texts.take_unasked(&seen) } else { Vec::new() };
        tasks.extend((!values.is_empty()).then_some(Task::ReadTexts(TextKind::Value, values)));
        if let Some(holder) = holder {
            let held = self.reference_names.take_unasked(&seen);
            tasks.extend((!held.is_empty()).then_some(Task::ReadTexts(TextKind::ReferenceFrom(holder), held)));
        }
    }

    /// Lines of the screen that are left for rows.
    fn lines_for_rows(&self) -> usize {
        let listing = self.current_frame().and_then(|frame| frame.listing.as_ref());
        let above = listing.map_or(0, |listing| listing.shown_header_lines(self.screen_size).len());
        // Tabs, the way, titles, the command, the keys.
        usize::from(self.screen_size.1).saturating_sub(5 + above).max(1)
    }

    /// Rows that were drawn last, or that there is room for before that.
    pub(super) fn rows_on_page(&self) -> usize {
        let lines = self.lines_for_rows();
        self.current_frame()
            .map(|frame| frame.drawn_row_count)
            .filter(|drawn| *drawn > 0)
            .map_or(lines, |drawn| drawn.min(lines))
    }
}
