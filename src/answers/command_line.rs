//! The command line that asks what an answer answers: for pages and browsers, to be pasted into a shell.

use std::path::Path;

/// A command line, word by word.
#[derive(Debug, Clone)]
pub struct CommandLine {
    words: Vec<String>,
}

impl CommandLine {
    /// `heapdump <command>`.
    pub fn new(command: &str) -> Self {
        CommandLine { words: vec!["heapdump".into(), command.into()] }
    }

    /// Adds a word.
    pub fn word(&mut self, word: impl Into<String>) -> &mut Self {
        self.words.push(word.into());
        self
    }

    /// Adds an option and its value, if there is one.
    pub fn option(&mut self, name: &str, value: Option<&str>) -> &mut Self {
        if let Some(value) = value {
            self.words.push(name.into());
            self.words.push(value.into());
        }
        self
    }

    /// Adds a switch, if it is on.
    pub fn switch(&mut self, name: &str, is_on: bool) -> &mut Self {
        if is_on {
            self.words.push(name.into());
        }
        self
    }

    /// The line for a shell, quoted where it must be, with the dumps' paths at the end.
    pub fn for_shell<'p>(&self, dumps: impl IntoIterator<Item = &'p Path>) -> String {
        let paths: Vec<String> = dumps.into_iter().map(|path| path.display().to_string()).collect();
        let words = self.words.iter().chain(&paths);
        // A NUL cannot be part of a word; it is left out.
        let quoted = words.map(|word| match shlex::try_quote(word) {
            Ok(quoted) => quoted.into_owned(),
            Err(_) => shlex::try_quote(&word.replace('\0', "")).map(|word| word.into_owned()).unwrap_or_default(),
        });
        quoted.collect::<Vec<_>>().join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::CommandLine;
    use std::path::Path;

    #[test]
    fn words_are_quoted_where_they_must_be() {
        let mut line = CommandLine::new("stats");
        line.option("--type", Some("a b's")).option("--domain", None).switch("--retained", true);
        assert_eq!(line.for_shell(Some(Path::new("x.txt"))), "heapdump stats --type \"a b's\" --retained x.txt");
    }
}
