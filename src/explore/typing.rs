//! Lines that are typed: what to find, where to go, where to write.

use std::sync::Arc;

use super::ask::Ask;
use super::export::Export;
use super::keys::Key;
use super::state::{Prompt, State};
use super::view::{Place, Tab, View};
use crate::analysis::selection::TypePattern;
use crate::answers::{ObjectId, ScopeOptions};

impl State {
    /// Goes to an object by its id, or to the types that match.
    pub(super) fn go(&mut self, text: &str) {
        let text = text.trim();
        if let Some(pattern) = text.strip_prefix("type ") {
            self.go_to_tab(Tab::Types.number());
            self.set_find(pattern.trim().to_string());
            return;
        }
        let Some(graph) = self.dumps.and_then(|dumps| dumps.new.graph()) else {
            self.note = Some("a dump of allocation totals has no objects".into());
            return;
        };
        let found = text.parse::<ObjectId>().map_err(|error| error.to_string());
        let found = found.and_then(|id| id.find(graph, &ScopeOptions::default()).map_err(|error| error.to_string()));
        match found {
            Ok(node) => {
                let types = graph.types();
                let type_name = types.of_class_object(node).unwrap_or_else(|| graph.type_of(node));
                let type_name = graph.type_name(type_name).to_string();
                self.push(View::Object(Place { node, id: graph.display_id(node), type_name }));
            }
            Err(why) => self.note = Some(why),
        }
    }

    pub(super) fn export(&mut self, file: String, replaces: bool, asks: &mut Vec<Ask>) {
        let Some(frame) = self.frame() else { return };
        let Some(listing) = frame.listing.as_ref().filter(|_| frame.is_arranged()) else {
            self.note = Some("nothing is written: the rows are not all there yet; try again in a moment".into());
            return;
        };
        let (listing, rows) = (Arc::clone(listing), frame.rows.clone());
        asks.push(Ask::Export(Export { listing, rows, file, replaces }));
    }

    pub(super) fn type_key(&mut self, key: Key, asks: &mut Vec<Ask>) {
        let Some(mut prompt) = self.prompt.take() else { return };
        self.note = None;
        let is_question = matches!(prompt, Prompt::Replace(_));
        let (Prompt::Find(text) | Prompt::Go(text) | Prompt::Export(text) | Prompt::Replace(text)) = &mut prompt;
        match key {
            Key::Escape => {
                if matches!(prompt, Prompt::Find(_)) {
                    self.set_find(String::new());
                }
                return;
            }
            Key::Enter if !is_question => return self.typed(prompt, asks),
            Key::Char('y') if is_question => return self.typed(prompt, asks),
            _ if is_question => return,
            Key::Char(ch) => text.push(ch),
            Key::Backspace => _ = text.pop(),
            Key::Ctrl('u') => text.clear(),
            _ => {}
        }
        if let Prompt::Find(text) = &prompt {
            let text = text.clone();
            self.set_find(text);
        }
        self.prompt = Some(prompt);
    }

    pub(super) fn typed(&mut self, prompt: Prompt, asks: &mut Vec<Ask>) {
        match prompt {
            Prompt::Find(mut text) => {
                // The second slash may be left out.
                if text.starts_with('/') && (text.len() == 1 || !text.ends_with('/')) {
                    text.push('/');
                    self.set_find(text.clone());
                }
                if let Err(why) = TypePattern::parse(&text) {
                    self.note = Some(why);
                }
                self.last_find = text;
            }
            Prompt::Go(text) if text.is_empty() => {}
            Prompt::Go(text) => self.go(&text),
            Prompt::Export(file) if file.trim().is_empty() => {}
            Prompt::Export(file) => self.export(file, false, asks),
            Prompt::Replace(file) => self.export(file, true, asks),
        }
    }
}
