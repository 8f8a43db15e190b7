//! Actions of keys and the mouse, and lines that are typed: what to find, where to go, where to write.

use std::sync::Arc;

use super::export::ListExport;
use super::input_events::{KeyPress, Mouse};
use super::listing::{ListRow, Listing, RowStyle, RowTarget};
use super::state::{BrowserState, ClickTarget, Prompt};
use super::tasks::Task;
use super::view::{BrowsedObject, BrowserView, Tab};
use super::view_frame::ViewFrame;
use crate::analysis::type_patterns::TypePattern;
use crate::answers::browse::HeapBrowser;
use crate::answers::diff::DiffBy;
use crate::answers::{GroupBy, ObjectId, ScopeOptions};
use crate::graph::NodeId;

impl BrowserState {
    pub(super) fn press_key(&mut self, key: KeyPress, tasks: &mut Vec<Task>) {
        if key == KeyPress::Ctrl('c') || (self.dumps.is_none() && key == KeyPress::Char('q')) {
            tasks.push(Task::Quit);
            return;
        }
        if key == KeyPress::Ctrl('l') {
            tasks.push(Task::Redraw);
            return;
        }
        if key == KeyPress::Ctrl('z') {
            tasks.push(Task::Suspend);
            return;
        }
        // While the dump is read there is nothing else to do.
        if self.dumps.is_none() {
            return;
        }
        if self.must_wait(key) { self.typed_ahead.push_back(key) } else { self.press_key_now(key, tasks) }
    }

    /// Returns true if a key is for a list that is not there yet, or comes behind such a key. `Esc` forgets these keys, and
    /// another view does.
    fn must_wait(&mut self, key: KeyPress) -> bool {
        let is_behind = !self.typed_ahead.is_empty();
        // Behind these comes text.
        let types = |key: &KeyPress| matches!(key, KeyPress::Char('/' | ':' | 'x'));
        let is_text = self.prompt.is_some() || self.typed_ahead.iter().any(types);
        let is_tab = matches!(key, KeyPress::Char('1'..='5'));
        if key == KeyPress::Escape || (!is_text && (is_tab || key == KeyPress::Char('q'))) {
            self.typed_ahead.clear();
            return false;
        }
        let is_for_rows = self.prompt.is_none() && self.first_help_line.is_none() && key.is_for_rows();
        (is_behind || (is_for_rows && !self.is_settled())) && self.typed_ahead.len() < MAX_TYPED_AHEAD_KEYS
    }

    pub(super) fn press_key_now(&mut self, key: KeyPress, tasks: &mut Vec<Task>) {
        if self.prompt.is_some() {
            self.edit_prompt(key, tasks);
            return;
        }
        if let Some(first) = self.first_help_line {
            let page = usize::from(self.screen_size.1.saturating_sub(4));
            self.first_help_line = match key.without_aliases() {
                KeyPress::Char('g') | KeyPress::Home => Some(0),
                // Drawing knows where the end is.
                KeyPress::Char('G') => Some(usize::MAX),
                KeyPress::Char('q') => return tasks.push(Task::Quit),
                _ => key.cursor_steps(page).map(|steps| first.saturating_add_signed(steps)),
            };
            return;
        }
        self.status_note = None;
        self.act_on_key(key, tasks);
    }

    /// Does what a key is for where nothing is typed and no help is shown. `?` has the keys in words.
    fn act_on_key(&mut self, key: KeyPress, tasks: &mut Vec<Task>) {
        use KeyPress::Char;
        let page = self.rows_on_page();
        if let (Some(frame), Some(steps)) = (self.current_frame_mut(), key.cursor_steps(page)) {
            return frame.move_cursor(steps);
        }
        match key.without_aliases() {
            Char('q') => tasks.push(Task::Quit),
            Char('?') => self.first_help_line = Some(0),
            Char('m') => self.shows_plain_bytes = !self.shows_plain_bytes,
            Char('g') if matches!(self.current_frame().map(|frame| &frame.view), Some(BrowserView::Groups(_))) => {
                self.switch_grouping()
            }
            Char('g') | KeyPress::Home => self.change_current_frame(|frame| frame.cursor = 0),
            Char('G') => self.change_current_frame(|frame| frame.cursor = frame.rows.row_count.saturating_sub(1)),
            Char(digit @ '1'..='5') => self.go_to_tab(digit as usize - '0' as usize),
            Char('l') => self.enter_selected_row(),
            Char('h') => self.go_back(),
            KeyPress::Escape if self.current_frame().is_some_and(|frame| !frame.find_text.is_empty()) => {
                self.set_find(String::new())
            }
            KeyPress::Escape => self.go_back(),
            Char('o') => self.open_selected_object(BrowserView::Object),
            Char('p') => self.show_paths(),
            Char('+') => self.show_more_paths(),
            Char('t') => self.switch_row_kind(),
            Char('r') => self.ask_exact_retained(tasks),
            Char('/') => self.prompt = Some(Prompt::Find(String::new())),
            Char('n') => self.find_again(1),
            Char('N') => self.find_again(-1),
            Char('s') => self.sort_by_next_column(),
            Char('S') => self.change_current_frame(ViewFrame::reverse_order),
            Char(':') => self.prompt = Some(Prompt::GoToObject(String::new())),
            Char('y') => {
                // Of the object that is looked at, where the row has none.
                let own = match self.current_frame().map(|frame| &frame.view) {
                    Some(BrowserView::Object(place) | BrowserView::Paths(place, _)) => place.id.clone(),
                    _ => String::new(),
                };
                self.copy_from_row(
                    tasks,
                    |row| if row.id.is_empty() { own.clone() } else { row.id.clone() },
                    "no id here",
                );
            }
            Char('Y') => self.copy_from_row(tasks, |row| row.name.clone(), "no name here"),
            Char('e') => {
                if let Some(command) = self.print_command() {
                    self.status_note = Some(format!("copied: {command}"));
                    tasks.push(Task::CopyText(command));
                }
            }
            Char('x') => self.prompt = Some(Prompt::Export(String::new())),
            Char('w') => {
                self.status_note = Some("writing the index".into());
                tasks.push(Task::WriteIndex);
            }
            _ => {}
        }
    }

    pub(super) fn change_current_frame(&mut self, change: impl FnOnce(&mut ViewFrame)) {
        if let Some(frame) = self.current_frame_mut() {
            change(frame);
        }
    }

    pub(super) fn go_to_tab(&mut self, number: usize) {
        let Some(at) = self.frames_by_tab.iter().position(|(tab, _)| tab.tab_number() == number) else {
            let tab = Tab::WORDS.get(number - 1).map_or(Tab::Growth, |(_, tab)| *tab);
            self.status_note = Some(match tab {
                Tab::Growth if !self.has_old_dump => "growth takes two dumps: heapdump explore OLD NEW".into(),
                tab => format!("dumps of allocation totals have no {}", tab.title(true).to_lowercase()),
            });
            return;
        };
        // Once more leads to its beginning.
        if at == self.tab_index {
            self.frames_by_tab[at].1.truncate(1);
        }
        self.tab_index = at;
    }

    pub(super) fn open_view(&mut self, view: BrowserView) {
        if let Some((_, way)) = self.frames_by_tab.get_mut(self.tab_index) {
            way.push(ViewFrame::new(view));
        }
    }

    pub(super) fn go_back(&mut self) {
        if let Some((_, way)) = self.frames_by_tab.get_mut(self.tab_index)
            && way.len() > 1
        {
            way.pop();
        }
    }

    /// The object of the row under the cursor.
    pub(super) fn selected_object(&self) -> Option<BrowsedObject> {
        let frame = self.current_frame()?;
        let node = frame.listing.as_ref()?.object_of_row(frame.selected_row()?)?;
        self.browsed_object(node)
    }

    pub(super) fn browsed_object(&self, node: NodeId) -> Option<BrowsedObject> {
        let row = self.browser?.row(node);
        Some(BrowsedObject { node, id: row.id.clone(), type_name: row.type_text() })
    }

    pub(super) fn enter_selected_row(&mut self) {
        let Some(frame) = self.current_frame() else { return };
        let Some(row) = frame.row(frame.cursor, self.browser.as_ref()) else { return };
        let browser = self.browser;
        let retained = |node| browser.and_then(|browser| browser.sizes(node).retained_bytes_and_objects);
        let into = match (&frame.view, row.target) {
            (_, RowTarget::NoTarget) => {
                self.status_note = (row.style != RowStyle::Title).then(|| "nothing is below this row".into());
                None
            }
            (_, RowTarget::View(view)) => Some(*view),
            (_, RowTarget::Type(name)) => {
                self.view_of_type(name, |type_name, scope| BrowserView::Objects { type_name, scope })
            }
            (BrowserView::Dominators { dominator: of, .. }, RowTarget::MergedType(name)) => {
                let view = BrowserView::Dominators { dominator: of.clone(), is_merged_by_type: false };
                let pattern = self.browser.map(|browser| browser.pattern_of(&name).text().to_string());
                self.open_view(view);
                self.set_find(pattern.unwrap_or(name));
                None
            }
            (_, RowTarget::MergedType(_)) => None,
            // What keeps nothing else alive is looked at itself.
            (BrowserView::Dominators { .. } | BrowserView::Suspects, RowTarget::Object(node))
                if retained(node).is_some_and(|(_, objects)| objects > 1) =>
            {
                self.browsed_object(node)
                    .map(|place| BrowserView::Dominators { dominator: Some(place), is_merged_by_type: false })
            }
            (_, RowTarget::Object(node)) => self.browsed_object(node).map(BrowserView::Object),
        };
        into.into_iter().for_each(|view| self.open_view(view));
    }

    /// The objects of a type: those of the group whose types are shown.
    fn scope_of_type(&self, browser: HeapBrowser<'static>, name: &str) -> ScopeOptions {
        let group = match self.current_frame().map(|frame| &frame.view) {
            Some(BrowserView::Types(Some(group))) => group.scope.clone(),
            _ => ScopeOptions::default(),
        };
        ScopeOptions { types: Some(browser.pattern_of(name).into()), ..group }
    }

    /// The view that `view` makes of a type; a note where there can be none.
    pub(super) fn view_of_type(
        &mut self,
        name: String,
        view: impl Fn(String, ScopeOptions) -> BrowserView,
    ) -> Option<BrowserView> {
        match (self.browser, self.dumps) {
            (Some(browser), _) => {
                let scope = self.scope_of_type(browser, &name);
                Some(view(name, scope))
            }
            (None, Some(_)) if !self.context.has_object_graph => {
                self.status_note = Some("a dump of allocation totals has no objects".into());
                None
            }
            _ => {
                self.status_note = Some("the objects are shown when the dominator tree is there".into());
                None
            }
        }
    }

    pub(super) fn open_selected_object(&mut self, view: impl Fn(BrowsedObject) -> BrowserView) {
        match self.selected_object() {
            Some(place) => self.open_view(view(place)),
            None => match self.current_frame().map(|frame| frame.view.clone()) {
                Some(BrowserView::Dominators { dominator: Some(place), .. } | BrowserView::Paths(place, _)) => {
                    self.open_view(view(place))
                }
                _ => self.status_note = Some("the row is no object".into()),
            },
        }
    }

    pub(super) fn show_paths(&mut self) {
        const PATHS_SHOWN_FIRST: usize = 5;
        let row = self.current_frame().and_then(|frame| frame.row(frame.cursor, self.browser.as_ref()));
        if let Some(RowTarget::Type(name) | RowTarget::MergedType(name)) = row.map(|row| row.target) {
            let view = self.view_of_type(name, |type_name, scope| BrowserView::MergedPaths { type_name, scope });
            return view.into_iter().for_each(|view| self.open_view(view));
        }
        match self.current_frame().map(|frame| frame.view.clone()) {
            // Of what is looked at; of another object once that is entered.
            Some(BrowserView::Object(place)) => self.open_view(BrowserView::Paths(place, PATHS_SHOWN_FIRST)),
            _ => self.open_selected_object(|place| BrowserView::Paths(place, PATHS_SHOWN_FIRST)),
        }
    }

    pub(super) fn show_more_paths(&mut self) {
        let Some(frame) = self.current_frame_mut() else { return };
        let BrowserView::Paths(_, count) = &mut frame.view else { return };
        let titles = |listing: &Listing| (0..listing.len()).filter(|&at| listing.is_title_row(at)).count();
        if frame.listing.as_deref().is_some_and(|listing| titles(listing) < *count) {
            self.status_note = Some("these are all paths".into());
        } else {
            *count += 5;
            frame.drop_answer();
        }
    }

    /// Other rows of the same view: objects or types that are merged; what grew, by the next of what there is.
    pub(super) fn switch_row_kind(&mut self) {
        let is_objects = self.context.has_object_graph;
        self.change_current_frame(|frame| {
            match &mut frame.view {
                BrowserView::Dominators { is_merged_by_type: by_type, .. } => *by_type = !*by_type,
                BrowserView::Growth(by) => {
                    *by = match by {
                        DiffBy::Groups(_) if is_objects => DiffBy::Paths,
                        DiffBy::Groups(_) => DiffBy::Backtraces,
                        DiffBy::Paths => DiffBy::RootKinds,
                        _ => DiffBy::default(),
                    }
                }
                _ => return,
            }
            frame.drop_answer_and_position();
        });
    }

    /// Groups by the next of package, module, section, generation, as far as the dump has them.
    pub(super) fn switch_grouping(&mut self) {
        let Some(graph) = self.dumps.and_then(|dumps| dumps.new.graph()) else { return };
        let is_there = |by: &GroupBy| match by {
            GroupBy::Module => graph.types().have_modules(),
            GroupBy::Section => graph.sections().len() > 1,
            GroupBy::Generation => !graph.generations().is_empty(),
            _ => true,
        };
        let all = [GroupBy::Package, GroupBy::Module, GroupBy::Section, GroupBy::Generation];
        let there: Vec<GroupBy> = all.into_iter().filter(is_there).collect();
        if there.len() < 2 {
            self.status_note = Some("this dump can be grouped by package alone".into());
        }
        self.change_current_frame(|frame| {
            if let BrowserView::Groups(by) = &mut frame.view {
                let at = there.iter().position(|other| other == by).unwrap_or(0);
                *by = there[(at + 1) % there.len()];
                frame.drop_answer_and_position();
            }
        });
    }

    pub(super) fn ask_exact_retained(&mut self, tasks: &mut Vec<Task>) {
        let Some(frame) = self.current_frame() else { return };
        let row = frame.row(frame.cursor, self.browser.as_ref());
        match (row.map(|row| row.target), self.browser) {
            (Some(RowTarget::Type(name)), Some(browser)) => {
                self.status_note = Some(format!("computing what all {name} retain, exactly"));
                tasks.push(Task::ComputeExactRetained(name.clone(), self.scope_of_type(browser, &name)));
            }
            _ => self.status_note = Some("exact retained bytes are of types".into()),
        }
    }

    pub(super) fn sort_by_next_column(&mut self) {
        let sorted = self.current_frame_mut().is_some_and(ViewFrame::select_next_sort_column);
        if !sorted {
            self.status_note = Some("this list has one order".into());
        }
    }

    pub(super) fn find_again(&mut self, steps: isize) {
        let last = self.last_find.clone();
        match self.current_frame_mut() {
            Some(frame) if !frame.find_text.is_empty() => frame.move_to_next_match(steps),
            _ if !last.is_empty() => self.set_find(last),
            _ => {}
        }
    }

    pub(super) fn set_find(&mut self, find: String) {
        self.change_current_frame(|frame| frame.set_find(find));
    }

    pub(super) fn copy_from_row(&mut self, tasks: &mut Vec<Task>, what: impl Fn(&ListRow) -> String, none: &str) {
        let row = self.current_frame().and_then(|frame| frame.row(frame.cursor, self.browser.as_ref()));
        match row.map(|row| what(&row)).filter(|text| !text.is_empty()) {
            Some(text) => {
                self.status_note = Some(format!("copied: {text}"));
                tasks.push(Task::CopyText(text));
            }
            None => self.status_note = Some(none.into()),
        }
    }

    /// The command that prints what is looked at.
    pub(super) fn print_command(&self) -> Option<String> {
        let frame = self.current_frame()?;
        let seen = frame.first_shown_row + self.rows_on_page();
        let line = frame.view.print_command(
            &self.context,
            frame.sort_order,
            frame.find_pattern.as_ref(),
            frame.listing.as_deref(),
            seen,
        );
        Some(self.context.shell_command(&frame.view, line))
    }

    pub(super) fn act_on_mouse(&mut self, mouse: Mouse, tasks: &mut Vec<Task>) {
        if let Some(first) = self.first_help_line {
            self.first_help_line = match mouse {
                Mouse::WheelDown => Some(first.saturating_add(1)),
                Mouse::WheelUp => Some(first.saturating_sub(1)),
                Mouse::Click(..) => None,
            };
            return;
        }
        if self.prompt.is_some() {
            return;
        }
        self.status_note = None;
        match mouse {
            Mouse::WheelDown => self.act_on_key(KeyPress::Down, tasks),
            Mouse::WheelUp => self.act_on_key(KeyPress::Up, tasks),
            Mouse::Click(column, line) => {
                let target =
                    self.click_targets.iter().find(|(at, columns, _)| *at == line && columns.contains(&column));
                match target.map(|(.., target)| *target) {
                    Some(ClickTarget::Tab(tab)) => self.go_to_tab(tab.tab_number()),
                    Some(ClickTarget::Breadcrumb(at)) => {
                        if let Some((_, way)) = self.frames_by_tab.get_mut(self.tab_index) {
                            way.truncate(at + 1);
                        }
                    }
                    Some(ClickTarget::Row(at)) => self.click_row(at),
                    None => {}
                }
            }
        }
    }

    /// Selects a row, and goes in when it was selected before.
    fn click_row(&mut self, at: usize) {
        match self.current_frame().map(|frame| frame.cursor == at) {
            Some(true) => self.enter_selected_row(),
            _ => self.change_current_frame(|frame| frame.cursor = at),
        }
    }

    /// Goes to an object by its id, or to the types that match.
    pub(super) fn go_to_object_or_type(&mut self, text: &str) {
        let text = text.trim();
        if let Some(pattern) = text.strip_prefix("type ") {
            self.go_to_tab(Tab::Types.tab_number());
            self.set_find(pattern.trim().to_string());
            return;
        }
        let Some(graph) = self.dumps.and_then(|dumps| dumps.new.graph()) else {
            self.status_note = Some("a dump of allocation totals has no objects".into());
            return;
        };
        let found = text.parse::<ObjectId>().map_err(|error| error.to_string());
        let found = found.and_then(|id| id.find(graph, &ScopeOptions::default()).map_err(|error| error.to_string()));
        match found {
            Ok(node) => {
                let types = graph.types();
                let type_name = types.type_of_class_object(node).unwrap_or_else(|| graph.type_of(node));
                let type_name = graph.type_name(type_name).to_string();
                self.open_view(BrowserView::Object(BrowsedObject { node, id: graph.display_id(node), type_name }));
            }
            Err(why) => self.status_note = Some(why),
        }
    }

    pub(super) fn start_export(&mut self, file: String, replaces: bool, tasks: &mut Vec<Task>) {
        let Some(frame) = self.current_frame() else { return };
        let Some(listing) = frame.listing.as_ref().filter(|_| frame.is_arranged()) else {
            self.status_note = Some("nothing is written: the rows are not all there yet; try again in a moment".into());
            return;
        };
        let (listing, rows) = (Arc::clone(listing), frame.rows.clone());
        tasks.push(Task::Export(ListExport { listing, rows, file_path: file, replaces_existing: replaces }));
    }

    pub(super) fn edit_prompt(&mut self, key: KeyPress, tasks: &mut Vec<Task>) {
        let Some(mut prompt) = self.prompt.take() else { return };
        self.status_note = None;
        let is_question = matches!(prompt, Prompt::ReplaceFile(_));
        let (Prompt::Find(text) | Prompt::GoToObject(text) | Prompt::Export(text) | Prompt::ReplaceFile(text)) =
            &mut prompt;
        match key {
            KeyPress::Escape => {
                if matches!(prompt, Prompt::Find(_)) {
                    self.set_find(String::new());
                }
                return;
            }
            KeyPress::Enter if !is_question => return self.finish_prompt(prompt, tasks),
            KeyPress::Char('y') if is_question => return self.finish_prompt(prompt, tasks),
            _ if is_question => return,
            KeyPress::Char(ch) => text.push(ch),
            KeyPress::Backspace => _ = text.pop(),
            KeyPress::Ctrl('u') => text.clear(),
            _ => {}
        }
        if let Prompt::Find(text) = &prompt {
            let text = text.clone();
            self.set_find(text);
        }
        self.prompt = Some(prompt);
    }

    pub(super) fn finish_prompt(&mut self, prompt: Prompt, tasks: &mut Vec<Task>) {
        match prompt {
            Prompt::Find(mut text) => {
                // The second slash may be left out.
                if text.starts_with('/') && (text.len() == 1 || !text.ends_with('/')) {
                    text.push('/');
                    self.set_find(text.clone());
                }
                if let Err(why) = TypePattern::parse(&text) {
                    self.status_note = Some(why);
                }
                self.last_find = text;
            }
            Prompt::GoToObject(text) if text.is_empty() => {}
            Prompt::GoToObject(text) => self.go_to_object_or_type(&text),
            Prompt::Export(file) if file.trim().is_empty() => {}
            Prompt::Export(file) => self.start_export(file, false, tasks),
            Prompt::ReplaceFile(file) => self.start_export(file, true, tasks),
        }
    }
}

/// Keys that wait for a list, at most.
const MAX_TYPED_AHEAD_KEYS: usize = 10_000;
