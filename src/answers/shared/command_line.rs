//! The command line that asks what an answer answers: for pages and browsers, to be pasted into a shell.

use std::path::Path;

use super::figure::Figure;

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

    /// Options alone, of whatever command.
    pub fn without_command() -> Self {
        CommandLine { words: Vec::new() }
    }

    /// The words.
    pub fn into_words(self) -> Vec<String> {
        self.words
    }

    /// Adds a word.
    pub fn add_word(&mut self, word: impl Into<String>) -> &mut Self {
        self.words.push(word.into());
        self
    }

    /// Adds an option and its value, if there is one.
    pub fn add_option(&mut self, name: &str, value: Option<&str>) -> &mut Self {
        if let Some(value) = value {
            self.words.push(name.into());
            self.words.push(value.into());
        }
        self
    }

    /// Adds an option once for each value.
    pub(in crate::answers) fn add_repeated_option<'v>(
        &mut self,
        name: &str,
        values: impl IntoIterator<Item = &'v str>,
    ) -> &mut Self {
        values.into_iter().for_each(|value| _ = self.add_option(name, Some(value)));
        self
    }

    /// Adds `--sort` where an order is asked for that is not the default.
    pub(in crate::answers) fn add_sort_option(&mut self, order: Option<Figure>, default: Figure) -> &mut Self {
        self.add_option("--sort", order.filter(|order| *order != default).map(|order| order.sort_word))
    }

    /// Adds a switch, if it is on.
    pub fn add_switch(&mut self, name: &str, is_on: bool) -> &mut Self {
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
            _ if needs_no_quotes(word) => word.clone(),
            Ok(quoted) => quoted.into_owned(),
            Err(_) => shlex::try_quote(&word.replace('\0', "")).map(|word| word.into_owned()).unwrap_or_default(),
        });
        quoted.collect::<Vec<_>>().join(" ")
    }
}

/// Returns true if a shell takes the word as it is. shlex would quote more: every `#`, `=` and letter beyond ASCII, which
/// ids and file names are full of.
fn needs_no_quotes(word: &str) -> bool {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./+:,=@%#".contains(c);
    !word.is_empty() && !word.starts_with('#') && word.chars().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::CommandLine;
    use std::path::Path;

    #[test]
    fn words_are_quoted_where_they_must_be() {
        let mut line = CommandLine::new("stats");
        line.add_option("--type", Some("a b's")).add_option("--domain", None).add_switch("--retained", true);
        assert_eq!(line.for_shell(Some(Path::new("x.txt"))), "heapdump stats --type \"a b's\" --retained x.txt");
        for (word, quoted) in
            [("1#1cadcb", "1#1cadcb"), ("#1", "'#1'"), ("Größe=1%", "Größe=1%"), ("a*", "'a*'"), ("", "''")]
        {
            let mut line = CommandLine::new("show");
            assert_eq!(line.add_word(word).for_shell(None), format!("heapdump show {quoted}"));
        }
    }
}
