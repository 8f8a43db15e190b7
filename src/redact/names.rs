//! Other names for packages, classes, methods and fields, and names without what is no name in them.

use std::borrow::Cow;

/// Letters of a user's name, at most.
const MAX_USER_NAME_UNITS: usize = 64;
/// Folders with one folder for each user.
const HOME_PARENT_FOLDERS: [&str; 4] = ["/home/", "/Users/", "\\Users\\", "\\Documents and Settings\\"];

/// Starts of names, and what takes their place.
#[derive(Debug, Clone, Default)]
pub struct NameMap {
    /// (start, what takes its place), with dots, the longest first.
    prefix_pairs: Vec<(String, String)>,
}

impl NameMap {
    /// Reads `com.acme=a.b`, of several with line ends or commas between them; `#` begins a comment.
    ///
    /// # Errors
    /// At the first line that is no such pair.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut pairs = Vec::new();
        for line in text.split(['\n', ',']).map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let is_name = |name: &str| !name.is_empty() && !name.contains([' ', ';', '[', '/']);
            match line.split_once('=').map(|(from, to)| (from.trim(), to.trim())) {
                Some((from, to)) if is_name(from) && is_name(to) => pairs.push((from.to_string(), to.to_string())),
                _ => return Err(format!("\"{line}\": write it as com.acme=a.b")),
            }
        }
        pairs.sort_by_key(|(from, _)| std::cmp::Reverse(from.len()));
        Ok(NameMap { prefix_pairs: pairs })
    }

    /// Returns true if no name is changed.
    pub fn is_empty(&self) -> bool {
        self.prefix_pairs.is_empty()
    }

    /// The other name, or signature, in the form that it has (dots or slashes); `None` where it stays.
    pub(super) fn rename(&self, name: &[u8]) -> Option<Vec<u8>> {
        if self.is_empty() {
            return None;
        }
        let name = std::str::from_utf8(name).ok()?;
        let mut renamed = String::with_capacity(name.len());
        let (mut rest, mut is_start) = (name, true);
        while let Some(next) = rest.chars().next() {
            let found = self.prefix_pairs.iter().filter(|_| is_start).find_map(|(from, to)| {
                let slashed = from.replace('.', "/");
                let form = [(from.clone(), to.clone()), (slashed, to.replace('.', "/"))];
                form.into_iter().find(|(from, _)| {
                    let after = rest.strip_prefix(from.as_str());
                    after.is_some_and(|after| !after.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
                })
            });
            match found {
                Some((from, to)) => {
                    renamed += &to;
                    rest = &rest[from.len()..];
                    is_start = false;
                }
                None => {
                    renamed.push(next);
                    rest = &rest[next.len_utf8()..];
                    // A class within a signature or the name of an array.
                    let is_signature = name.starts_with(['(', '[']);
                    is_start = is_signature && ("[;()".contains(next) || (is_start && "LBCDFIJSZV".contains(next)));
                }
            }
        }
        (renamed != name).then(|| renamed.into_bytes())
    }
}

/// A name without what it has from the program's data, in its place a filler of the same length: queries and user names of
/// addresses and paths, attributes of elements, names of keys and values in V8's pairs of WeakMaps.
pub(super) fn without_program_data(name: &str) -> Cow<'_, str> {
    let mut data = Vec::new();
    if let Some(at) = name.find("://").map(|at| at + 3) {
        let end = name[at..].find(char::is_whitespace).map_or(name.len(), |length| at + length);
        let host = name[at..end].find(['/', '?', '#']).map_or(end, |length| at + length);
        data.extend(name[at..host].rfind('@').map(|length| at..at + length));
        data.extend(name[host..end].find(['?', '#']).map(|length| host + length + 1..end));
    }
    if name.starts_with('/') {
        data.extend(name.find('?').map(|at| at + 1..name.len()));
    }
    if name.starts_with("data:") {
        data.extend(name.find(',').map(|at| at + 1..name.len()));
    }
    if let Some(tag) = name.strip_prefix("Detached ").unwrap_or(name).strip_prefix('<')
        && let Some(blank) = tag.find(' ')
        && !tag.starts_with("symbol ")
    {
        data.push(name.len() - tag.len() + blank + 1..name.len() - usize::from(name.ends_with('>')));
    }
    if let (Some(key), Some(value)) = (name.find(" / part of key ("), name.find(") -> value (")) {
        let end = |from: usize| name[from..].find(" @").map(|length| from..from + length);
        data.extend(end(key + " / part of key (".len()).filter(|part| part.end <= value));
        // A value's text may have anything in it.
        let from = value + ") -> value (".len();
        data.extend(
            name[from..]
                .rfind(") pair in WeakMap (")
                .and_then(|length| name[from..from + length].rfind(" @"))
                .map(|length| from..from + length),
        );
    }
    data.retain(|part| !part.is_empty());
    if data.is_empty() && !HOME_PARENT_FOLDERS.iter().any(|home| name.contains(home)) {
        return Cow::Borrowed(name);
    }
    let mut cleaned = String::with_capacity(name.len());
    let mut at = 0;
    for part in data.into_iter().filter(|part| part.start <= part.end) {
        cleaned.push_str(&name[at..part.start]);
        let units = name[part.clone()].encode_utf16().count();
        cleaned.extend((0..units).map(|unit| if unit % 2 == 0 { '~' } else { '|' }));
        at = part.end;
    }
    cleaned.push_str(&name[at..]);
    let mut bytes = cleaned.into_bytes();
    hide_user_names(&mut bytes);
    Cow::Owned(String::from_utf8_lossy(&bytes).into_owned())
}

/// Puts letters in place of users' names in paths, in one byte a character and in two.
pub(super) fn hide_user_names(bytes: &mut [u8]) {
    for home in HOME_PARENT_FOLDERS {
        let wide: Vec<u8> = home.bytes().flat_map(|byte| [byte, 0]).collect();
        for (pattern, width) in [(home.as_bytes(), 1), (&wide[..], 2)] {
            let mut from = 0;
            while let Some(at) = memchr::memmem::find(&bytes[from..], pattern) {
                from += at + pattern.len();
                let mut name = bytes[from..].chunks_exact_mut(width).peekable();
                // A separator that is escaped.
                _ = name.next_if(|unit| unit[0] == b'\\');
                let is_letter = |unit: &&mut [u8]| {
                    unit[0] >= b' ' && !b"/\\\":;<>|*?'".contains(&unit[0])
                        || unit.get(1).is_some_and(|high| *high != 0)
                };
                for unit in name.take_while(is_letter).take(MAX_USER_NAME_UNITS) {
                    unit.fill(0);
                    unit[0] = b'x';
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lose_what_is_data_in_them() {
        for (name, expected) in [
            ("https://a.example/x.js?user=1", "https://a.example/x.js?~|~|~|"),
            ("Window / https://me:pw@a.example/#top rest", "Window / https://~|~|~@a.example/#~|~ rest"),
            ("file:///srv/x.js", "file:///srv/x.js"),
            ("/home/jörg/x.js?token=1", "/home/xxxxx/x.js?~|~|~|~"),
            ("data:text/javascript,alert", "data:text/javascript,~|~|~"),
            ("Detached <div class=\"a\">", "Detached <div ~|~|~|~|~>"),
            ("<div>", "<div>"),
            ("<symbol Symbol.iterator>", "<symbol Symbol.iterator>"),
            (
                "5 / part of key (Key @7) -> value (a) @b @9) pair in WeakMap (table @11)",
                "5 / part of key (~|~ @7) -> value (~|~|~ @9) pair in WeakMap (table @11)",
            ),
        ] {
            assert_eq!(without_program_data(name), expected);
            assert_eq!(without_program_data(expected), expected);
        }
    }

    #[test]
    fn names_of_users_go() {
        for (text, expected) in [
            ("in /home/alice/app.dll", "in /home/xxxxx/app.dll"),
            ("C:\\Users\\bob b\\a.dll\"", "C:\\Users\\xxxxx\\a.dll\""),
            ("C:\\\\Users\\\\bob\\\\a", "C:\\\\Users\\\\xxx\\\\a"),
            ("/homes/alice /home/", "/homes/alice /home/"),
        ] {
            let wide = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
            let (mut narrow, mut both) = (text.as_bytes().to_vec(), wide(text));
            hide_user_names(&mut narrow);
            hide_user_names(&mut both);
            assert_eq!((String::from_utf8_lossy(&narrow).as_ref(), both), (expected, wide(expected)));
        }
    }

    #[test]
    fn names_and_signatures_are_renamed_by_their_starts() {
        let map = NameMap::parse("com.acme=a.b\n# a comment\ncom.acme.secret=x, Launcher=M").expect("a map");
        for (name, renamed) in [
            ("com/acme/Order", "a/b/Order"),
            ("com.acme.Order$Item", "a.b.Order$Item"),
            ("com/acme/secret/Key", "x/Key"),
            ("[Lcom/acme/Order;", "[La/b/Order;"),
            ("(ILcom/acme/Order;[Lcom/acme/secret/Key;)Lcom/acme/A;", "(ILa/b/Order;[Lx/Key;)La/b/A;"),
            ("com/acmeother/Order", "com/acmeother/Order"),
            ("org/com/acme/Order", "org/com/acme/Order"),
            ("Launcher", "M"),
            ("main", "main"),
        ] {
            let found = map.rename(name.as_bytes()).map_or(name.to_string(), |name| String::from_utf8(name).unwrap());
            assert_eq!(found, renamed, "{name}");
        }
        assert!(NameMap::parse("com.acme").is_err());
    }
}
