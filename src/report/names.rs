//! Names that are shortened to fit: whole segments of packages and namespaces go first, the class never.

use super::width::{columns_of, shorten_middle};

/// Of two texts that are shortened together neither has less.
const SHORTEST_OF_TWO: usize = 5;

/// A text with names of types in it, in `room` columns of a terminal at most (3 at least): leading segments of the names are taken
/// away, from left to right, as few as it takes (`System.Collections.Generic.List<Demo.Model.Tree>` as
/// `…Generic.List<Demo.Model.Tree>`, then `…List<…Tree>`); what is too long still loses its middle, two texts with two
/// blanks between them each its own: a reference and what it leads to, an id (which stays whole) and its type. O(length).
pub fn shorten_name(text: &str, room: usize) -> String {
    let mut over = columns_of(text).saturating_sub(room);
    if over == 0 {
        return text.to_string();
    }
    let mut shown = String::with_capacity(text.len());
    let is_in_name = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '$' | '`' | '+');
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(|c| !is_in_name(c)).unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        let cut = if over > 0 { cut_of(name, over) } else { 0 };
        if cut > 0 {
            shown.push('…');
            over = over.saturating_sub(columns_of(&name[..cut]) - 1);
        }
        shown.push_str(&name[cut..]);
        let between = after.find(is_in_name).unwrap_or(after.len());
        shown.push_str(&after[..between]);
        rest = &after[between..];
    }
    let counts = |(first, last): &(&str, &str)| (columns_of(first), columns_of(last));
    match shown.split_once("  ").filter(|_| columns_of(&shown) > room && room > 2 * SHORTEST_OF_TWO) {
        Some(both) => {
            let (first, last) = counts(&both);
            let is_id = both.0.starts_with(|c: char| c.is_ascii_digit() || c == '@') && !both.0.contains(' ');
            let room = room - 2;
            let last = match room.saturating_sub(first) {
                left if is_id && left >= SHORTEST_OF_TWO => left,
                left => last.min(left.max(room / 2)),
            };
            format!("{}  {}", shorten_middle(both.0, room - last), shorten_middle(both.1, last))
        }
        None => shorten_middle(&shown, room),
    }
}

/// The end of the leading segments that have to go so that a name is `over` characters shorter, or as much as can be: all
/// before the class, the last segment with a capital letter.
fn cut_of(name: &str, over: usize) -> usize {
    let mut starts = name.match_indices('.').map(|(at, _)| at + 1);
    let is_class = |at: &usize| name[*at..].chars().next().is_some_and(char::is_uppercase);
    let Some(class) = starts.clone().rfind(is_class) else { return 0 };
    // The mark takes one.
    let is_enough = |at: &usize| columns_of(&name[..*at]) > over;
    let cut = starts.find(is_enough).map_or(class, |at| at.min(class));
    // A segment of one letter gives way to nothing.
    if columns_of(&name[..cut]) > 1 { cut } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::{columns_of, shorten_name};

    #[test]
    fn whole_segments_go_from_the_front() {
        let name = "System.Collections.Generic.List<Demo.Model.Tree>";
        for (room, expected) in [
            (48, name),
            (47, "…Collections.Generic.List<Demo.Model.Tree>"),
            (41, "…Generic.List<Demo.Model.Tree>"),
            (29, "…List<Demo.Model.Tree>"),
            (21, "…List<…Model.Tree>"),
            (17, "…List<…Tree>"),
            (11, "…List…Tree>"),
        ] {
            assert_eq!(shorten_name(name, room), expected, "{room}");
        }
    }

    #[test]
    fn what_is_no_package_stays() {
        assert_eq!(shorten_name("static org.app.Cache.entries", 24), "static …Cache.entries");
        assert_eq!(shorten_name("static org.app.Cache.entries", 25), "static …app.Cache.entries");
        // Names of files, functions and of nothing else.
        for text in ["drop (sync.cc:42) of a_very_long_name_indeed", "java.lang.reflect.lowercase.only.names.here"] {
            let shown = shorten_name(text, 30);
            assert!(shown.chars().count() == 30 && shown.starts_with(&text[..8]), "{shown}");
        }
        assert_eq!(shorten_name("A.B", 2), "…B");
    }

    #[test]
    fn nothing_is_longer_than_its_room() {
        for text in [
            "a.B c.D.E[f.g.H, i.J] übergroß.Straße.Öl<x.Y>$z.W",
            ".名前  app.缓存.条目 \"一二三四五六七八九十\"",
            "한국어",
        ] {
            for room in 3..60 {
                assert!(columns_of(&shorten_name(text, room)) <= room, "{text} {room}");
            }
            assert_eq!(shorten_name(text, 60), text);
        }
    }
}
