//! Other names for packages, classes, methods and fields.

/// Starts of names, and what takes their place.
#[derive(Debug, Clone, Default)]
pub struct NameMap {
    /// With dots, the longest first.
    pairs: Vec<(String, String)>,
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
        Ok(NameMap { pairs })
    }

    /// Returns true if no name is changed.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
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
            let found = self.pairs.iter().filter(|_| is_start).find_map(|(from, to)| {
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

#[cfg(test)]
mod tests {
    use super::*;

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
