//! Facts about several files, a row each.

use serde::Serialize;

use super::Info;
use crate::answers::figure::{ALLOCATIONS, FILE, FORMAT, OBJECTS, PROBLEMS, SECTIONS, SHALLOW, TOTAL};
use crate::answers::words::shared_folder_of;
use crate::answers::{Figure, Limits};
use crate::sort;

/// Facts about several files. Serialises as the JSON of `info` with several files.
#[derive(Serialize)]
#[non_exhaustive]
pub struct InfoOfFiles {
    /// The rows that are shown, in their order.
    pub files: Vec<InfoOfFile>,
    /// Rows that a limit left out.
    #[serde(skip)]
    pub rows_hidden: usize,
}

/// Facts about one of several files.
#[derive(Serialize)]
#[non_exhaustive]
pub struct InfoOfFile {
    /// Its name.
    pub file: String,
    /// The facts.
    #[serde(flatten)]
    pub info: Info,
}

impl InfoOfFile {
    /// Number of problems; notes do not count.
    pub fn problem_count(&self) -> u64 {
        self.info
            .problems()
            .iter()
            .filter(|problem| !problem.is_note())
            .fold(0, |sum, problem| sum.saturating_add(problem.count))
    }

    /// A figure of the file, where it has that.
    pub fn figure(&self, figure: Figure) -> Option<u64> {
        match figure {
            SECTIONS => Some(self.info.section_count() as u64),
            OBJECTS => self.info.objects().map(|(objects, _)| objects),
            SHALLOW => self.info.objects().map(|(_, bytes)| bytes),
            ALLOCATIONS => self.info.allocated().and_then(|(allocations, _)| allocations),
            TOTAL => self.info.allocated().map(|(_, bytes)| bytes),
            PROBLEMS => Some(self.problem_count()),
            _ => None,
        }
    }
}

impl InfoOfFiles {
    /// Figures that rows can be ordered by: names and formats from A on, figures largest first.
    pub const ORDERS: [Figure; 7] = [FILE, FORMAT, SECTIONS, OBJECTS, SHALLOW, TOTAL, PROBLEMS];

    /// The folder that all files are in, as they were named, with the slash behind it; else empty.
    pub fn shared_folder(&self) -> &str {
        shared_folder_of(self.files.iter().map(|file| file.file.as_str()))
    }

    /// Rows of these files; without an order, and where they are equal, as they were named. O(files x log).
    pub fn new(files: Vec<(String, Info)>, order: Option<Figure>, limits: Limits) -> Self {
        let mut files: Vec<InfoOfFile> = files.into_iter().map(|(file, info)| InfoOfFile { file, info }).collect();
        match order {
            None => {}
            Some(FILE) => sort::by(&mut files, &|a, b| a.file.cmp(&b.file)),
            Some(FORMAT) => sort::by(&mut files, &|a, b| a.info.format().format.cmp(&b.info.format().format)),
            Some(figure) => sort::by_key(&mut files, |row| std::cmp::Reverse(row.figure(figure).unwrap_or(0))),
        }
        let rows_hidden = limits.cut(&mut files);
        InfoOfFiles { files, rows_hidden }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answers::{InfoOptions, info};
    use crate::dump::OpenOptions;

    fn info_of(dump: &'static str) -> Info {
        info(&OpenOptions::default().open_reader(dump.as_bytes()).unwrap(), &InfoOptions::default()).unwrap()
    }

    #[test]
    fn figures_come_largest_first_and_equals_as_named() {
        let small = "a 2 x\nt 1 A\no 10 1 20\nr 10 3 0\nc x\n";
        let large = "a 2 x\nt 1 A\no 10 1 20\no 20 1 20\nr 10 3 0\nc x\n";
        let names = |order, limits| {
            let files = [("b", small), ("c", large), ("a", small)].map(|(name, dump)| (name.into(), info_of(dump)));
            let answer = InfoOfFiles::new(files.into(), order, limits);
            (answer.files.iter().map(|row| row.file.as_str()).collect::<String>(), answer.rows_hidden)
        };
        let all = Limits::default();
        assert_eq!(names(None, all), ("bca".into(), 0));
        assert_eq!(names(Some(FILE), all), ("abc".into(), 0));
        assert_eq!(names(Some(OBJECTS), all), ("cba".into(), 0));
        assert_eq!(names(Some(SHALLOW), Limits { rows: Some(1), reverse: true }), ("a".into(), 2));
    }
}
