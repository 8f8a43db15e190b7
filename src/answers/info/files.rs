//! What several files are, a row each.

use serde::Serialize;

use super::Info;
use crate::answers::words::shared_folder_of;
use crate::answers::{Limits, OrderWords};

/// What several files are. The serde form is the JSON of `info` with several files.
#[derive(Serialize)]
#[non_exhaustive]
pub struct InfoOfFiles {
    /// The rows that are shown, in their order.
    pub files: Vec<InfoOfFile>,
    /// Rows that a limit left out.
    #[serde(skip)]
    pub rows_hidden: usize,
}

/// What one of several files is.
#[derive(Serialize)]
#[non_exhaustive]
pub struct InfoOfFile {
    /// Its name.
    pub file: String,
    /// What it is.
    #[serde(flatten)]
    pub info: Info,
}

/// What rows of files are sorted by: names and formats from A on, figures largest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileOrder {
    /// The file's name.
    File,
    /// Its format.
    Format,
    /// Its sections.
    Sections,
    /// Its objects.
    Objects,
    /// Their shallow bytes.
    ShallowBytes,
    /// Allocated bytes.
    TotalBytes,
    /// Problems met.
    Problems,
}

impl FileOrder {
    /// The orders, each by the words for it: its short name, and its key as in CSV.
    pub const WORDS: OrderWords<Self> = &[
        (&["file"], FileOrder::File),
        (&["format"], FileOrder::Format),
        (&["sections"], FileOrder::Sections),
        (&["objects"], FileOrder::Objects),
        (&["shallow", "shallow_bytes"], FileOrder::ShallowBytes),
        (&["bytes", "total_bytes"], FileOrder::TotalBytes),
        (&["problems"], FileOrder::Problems),
    ];
}

impl InfoOfFile {
    /// How often anything was wrong; notes do not count.
    pub fn problem_count(&self) -> u64 {
        self.info
            .problems()
            .iter()
            .filter(|problem| !problem.is_note())
            .fold(0, |sum, problem| sum.saturating_add(problem.count))
    }

    fn figure(&self, order: FileOrder) -> u64 {
        match order {
            FileOrder::File | FileOrder::Format => 0,
            FileOrder::Sections => self.info.section_count() as u64,
            FileOrder::Objects => self.info.objects().map_or(0, |(objects, _)| objects),
            FileOrder::ShallowBytes => self.info.objects().map_or(0, |(_, bytes)| bytes),
            FileOrder::TotalBytes => self.info.allocated().map_or(0, |(_, bytes)| bytes),
            FileOrder::Problems => self.problem_count(),
        }
    }
}

impl InfoOfFiles {
    /// The folder that all files are in, as they were named, with the slash behind it; else empty.
    pub fn shared_folder(&self) -> &str {
        shared_folder_of(self.files.iter().map(|file| file.file.as_str()))
    }

    /// Rows of these files; without an order, and where they are equal, as they were named. O(files x log).
    pub fn new(files: Vec<(String, Info)>, order: Option<FileOrder>, limits: Limits) -> Self {
        let mut files: Vec<InfoOfFile> = files.into_iter().map(|(file, info)| InfoOfFile { file, info }).collect();
        match order {
            None => {}
            Some(FileOrder::File) => files.sort_by(|a, b| a.file.cmp(&b.file)),
            Some(FileOrder::Format) => files.sort_by(|a, b| a.info.format().format.cmp(&b.info.format().format)),
            Some(figure) => files.sort_by_key(|row| std::cmp::Reverse(row.figure(figure))),
        }
        if limits.reverse {
            files.reverse();
        }
        let shown = limits.shown(files.len());
        let rows_hidden = files.len() - shown;
        files.truncate(shown);
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
        assert_eq!(names(Some(FileOrder::File), all), ("abc".into(), 0));
        assert_eq!(names(Some(FileOrder::Objects), all), ("cba".into(), 0));
        assert_eq!(names(Some(FileOrder::ShallowBytes), Limits { rows: Some(1), reverse: true }), ("a".into(), 2));
    }
}
