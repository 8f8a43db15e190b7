//! Output for terminals that show ASCII alone (`LC_ALL=C`): frames, arrows and marks by their nearest character.

use std::io::{self, Write};

/// Writes what this program draws in ASCII; names from a dump stay as they are. Every write is to be whole characters.
pub(super) struct AsciiWriter<'w>(pub(super) &'w mut dyn Write);

impl Write for AsciiWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match std::str::from_utf8(bytes) {
            Ok(text) if !text.is_ascii() => {
                let text: String = text.chars().map(nearest_ascii).collect();
                self.0.write_all(text.as_bytes())?;
            }
            _ => self.0.write_all(bytes)?,
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Does the user's locale have more than ASCII? Where none is set, it does.
pub fn locale_has_unicode() -> bool {
    let locales = ["LC_ALL", "LC_CTYPE", "LANG"].iter().filter_map(std::env::var_os).find(|value| !value.is_empty());
    locales.is_none_or(|locale| locale.to_string_lossy().to_lowercase().replace('-', "").contains("utf8"))
}

/// One character for one, so that columns stay where they are.
fn nearest_ascii(c: char) -> char {
    match c {
        '─' => '-',
        '═' => '=',
        '│' | '┆' => '|',
        '\u{2500}'..='\u{257F}' => '+',
        '→' => '>',
        '×' => 'x',
        '≥' => '>',
        '…' => '~',
        '\u{2581}'..='\u{2588}' => '#',
        _ => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawings_become_ascii_and_names_stay() {
        let mut out = Vec::new();
        AsciiWriter(&mut out).write_all("┌─┬╪┐ → Öl …Ü×2".as_bytes()).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "+-+++ > Öl ~Üx2");
    }
}
