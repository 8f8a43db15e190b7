//! The paths of an object line by line: for each the root, then its objects.

use std::cell::RefCell;

use super::RootPathRows;
use crate::answers::{PathStep, PathSteps, RootRow};

/// A line of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PathLine {
    /// The path's place in the order of length.
    pub path_place: usize,
    /// Contents of the line.
    pub content: PathLineContent,
}

/// Contents of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathLineContent {
    /// The root that holds the first object: a path's first line.
    Root(RootRow),
    /// An object.
    Object {
        /// Its place on the path; 0 for the rooted object.
        place: usize,
        /// The object.
        step: Box<PathStep>,
    },
    /// The gap in a long path.
    Gap {
        /// Number of objects that are not shown.
        hidden_objects: usize,
    },
}

impl PathLine {
    /// How many lines before it are of objects inside the collection whose element its object is.
    pub fn inner_count(&self) -> usize {
        match &self.content {
            PathLineContent::Object { step, .. } => step.inner_count,
            _ => 0,
        }
    }

    /// The object of the line, if there is one.
    pub fn step_mut(&mut self) -> Option<&mut PathStep> {
        match &mut self.content {
            PathLineContent::Object { step, .. } => Some(step),
            _ => None,
        }
    }
}

/// The lines of all paths, which together may be longer than the heap has objects: made on demand, each from the one
/// before it where they are asked for in order.
pub struct PathLines<'a> {
    paths: &'a RootPathRows<'a>,
    /// Objects shown at each end of a path that is longer than both ends together; `None` for whole paths.
    end_length: Option<usize>,
    /// By path: where its lines end.
    line_ends: Vec<usize>,
    /// By path: its last objects, where long paths are shortened.
    tails: Vec<PathSteps<'a>>,
    /// A path, the place on it of the next object, and what comes from there on.
    cursor: RefCell<Option<(usize, usize, PathSteps<'a>)>>,
    /// Objects say what they have to say.
    shows_values: bool,
}

impl<'a> PathLines<'a> {
    /// The lines of `paths`, of long ones without their middle where an end's length is given. O(paths), and O(objects)
    /// where long paths are shortened.
    pub fn new(paths: &'a RootPathRows<'a>, end_length: Option<usize>) -> Self {
        let mut end = 0;
        let line_ends = paths.iter().map(|path| {
            let objects = path.length() + 1;
            end += 1 + end_length.map_or(objects, |half| objects.min(2 * half + 1));
            end
        });
        let line_ends = line_ends.collect();
        let tails = end_length.map_or(Vec::new(), |half| paths.path_ends(half));
        PathLines { paths, end_length, line_ends, tails, cursor: RefCell::new(None), shows_values: false }
    }

    /// The same lines, whose objects tell what they say of themselves. A few reads of the dump for each.
    pub fn with_values(self) -> Self {
        PathLines { shows_values: true, ..self }
    }

    /// Number of lines.
    pub fn len(&self) -> usize {
        self.line_ends.last().copied().unwrap_or(0)
    }

    /// The lines of a path. As [`get`](Self::get).
    pub fn lines_of_path(&self, path: usize) -> impl Iterator<Item = PathLine> + '_ {
        let end = self.line_ends.get(path).copied().unwrap_or(0);
        (self.first_line_of(path)..end).map(|line| self.get(line))
    }

    /// A line below `len`; past the last an empty gap. O(log objects) in order, else O(objects of the path).
    pub fn get(&self, line: usize) -> PathLine {
        let path = match self.cursor.borrow().as_ref().map(|&(path, ..)| path) {
            Some(path) if (self.first_line_of(path)..self.line_ends[path]).contains(&line) => path,
            _ => self.line_ends.partition_point(|&end| end <= line),
        };
        let mut part = self.content_at(path, line - self.first_line_of(path).min(line));
        if let Some(PathLineContent::Object { step, .. }) = part.as_mut().filter(|_| self.shows_values) {
            step.object.value_words = self.paths.value_text(step.node);
        }
        PathLine { path_place: path, content: part.unwrap_or(PathLineContent::Gap { hidden_objects: 0 }) }
    }

    fn first_line_of(&self, path: usize) -> usize {
        path.checked_sub(1).and_then(|before| self.line_ends.get(before)).copied().unwrap_or(0)
    }

    fn content_at(&self, path: usize, place: usize) -> Option<PathLineContent> {
        let row = self.paths.get(path)?;
        let objects = row.length() + 1;
        if place == 0 {
            return Some(PathLineContent::Root(row.root()));
        }
        let (number, step) = match self.end_length.filter(|half| objects > 2 * half) {
            Some(half) if place == half + 1 => {
                return Some(PathLineContent::Gap { hidden_objects: objects - 2 * half });
            }
            Some(half) if place > half => {
                let after = place - half - 2;
                (objects - half + after, self.tails.get(path)?.clone().nth(after)?)
            }
            _ => (place - 1, self.step_at(path, place - 1)?),
        };
        Some(PathLineContent::Object { place: number, step: Box::new(step) })
    }

    fn step_at(&self, path: usize, number: usize) -> Option<PathStep> {
        let mut cursor = self.cursor.borrow_mut();
        let (at, mut steps) = match cursor.take() {
            Some((known, at, steps)) if known == path && at <= number => (at, steps),
            _ => (0, self.paths.steps(path)?),
        };
        let step = steps.nth(number - at);
        *cursor = Some((path, number + 1, steps));
        step
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;
    use crate::answers::{RootPathsOptions, root_paths};
    use crate::dump::OpenOptions;

    #[test]
    fn long_paths_are_shown_without_their_middle() {
        let mut text = String::from("a 2 x\nt 1 A\n");
        for id in 1..=9 {
            let next = if id < 9 { format!(" {}", id + 1) } else { String::new() };
            text += &format!("o {id} 1 10{next}\n");
        }
        text += "r 1 3 0\nc x\n";
        let Ok(dump) = OpenOptions::default().open_reader(Cursor::new(text)) else { panic!("opens") };
        let answer = root_paths(&dump, &RootPathsOptions::new("9".parse().unwrap())).unwrap();
        let words = |end_length| -> Vec<String> {
            let lines = PathLines::new(&answer.paths, end_length);
            let word = |line: PathLine| match line.content {
                PathLineContent::Root(_) => "root".to_string(),
                PathLineContent::Object { place: number, step } => format!("{number}={}", step.object.id),
                PathLineContent::Gap { hidden_objects: objects } => format!("-{objects}"),
            };
            assert_eq!(lines.lines_of_path(0).count(), lines.len());
            (0..lines.len()).map(|line| word(lines.get(line))).collect()
        };
        assert_eq!(words(None).len(), 10);
        assert_eq!(words(Some(2)), ["root", "0=1", "1=2", "-5", "7=8", "8=9"]);
        assert_eq!(words(Some(5)), words(None));
    }
}
