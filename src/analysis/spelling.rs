//! Near spellings of a name that is not there.

/// The word among `known`, in small letters, that was probably meant: one of another case, a longer or shorter form, or a typing
/// error away.
pub fn nearest<'w>(typed: &str, known: &[&'w str]) -> Option<&'w str> {
    let lower = typed.to_lowercase();
    let is_form = |word: &&&str| lower.len() > 2 && (lower.starts_with(**word) || word.starts_with(&lower));
    let most = (typed.chars().count() / 3).clamp(1, 3);
    nearest_of(typed, known.iter().copied(), most).or_else(|| known.iter().find(is_form).copied())
}

/// The name that was probably meant: one of another case, or a typing error away; of a dotted one also what stands behind a dot or
/// a dollar sign. The first of those that are as near. O(names).
pub fn nearest_name<'n>(typed: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    nearest_of(typed, names, (typed.chars().count() / 3).min(3))
}

fn nearest_of<'n>(typed: &str, names: impl IntoIterator<Item = &'n str>, most: usize) -> Option<&'n str> {
    let typed = Some(typed.to_lowercase()).filter(|typed| !typed.is_empty())?;
    let of_name = |name: &'n str| {
        let lower = name.to_lowercase();
        let ends = lower.match_indices(['.', '$']).map(|(at, sign)| at + sign.len());
        let near = std::iter::once(0).chain(ends).filter_map(|start| distance(&typed, &lower[start..], most));
        Some((near.min()?, name))
    };
    names.into_iter().filter_map(of_name).min_by_key(|(distance, _)| *distance).map(|(_, name)| name)
}

/// Characters to add, take out, replace or exchange with their neighbour, up to `most` of them. O(a x b), for words of nearly one
/// length.
fn distance(a: &str, b: &str, most: usize) -> Option<usize> {
    if a.len().abs_diff(b.len()) > 4 * most {
        return None;
    }
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().abs_diff(b.len()) > most || a.len() > MOST_CHARACTERS {
        return None;
    }
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            rows[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
                let least = replaced.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
                match i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                    true => least.min(rows[i - 2][j - 2] + 1),
                    false => least,
                }
            };
        }
    }
    Some(rows[a.len()][b.len()]).filter(|distance| *distance <= most)
}

/// Names that are longer are not compared.
const MOST_CHARACTERS: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_words_are_found() {
        let known = ["retained", "shallow", "type", "references", "root", "root_kind"];
        for (typed, meant) in [
            ("retined", Some("retained")),
            ("Type", Some("type")),
            ("shalow", Some("shallow")),
            ("rteained", Some("retained")),
            ("retained_bytes", Some("retained")),
            ("refs", None),
            ("ref", Some("references")),
            ("elephant", None),
        ] {
            assert_eq!(nearest(typed, &known), meant, "{typed}");
        }
    }

    #[test]
    fn near_names_are_found_behind_dots_too() {
        let known = ["app.Big$Session", "app.Bag", "java.lang.String", "java.lang.String[]", "äö.Ü"];
        for (typed, meant) in [
            ("Big$Sesion", Some("app.Big$Session")),
            ("session", Some("app.Big$Session")),
            ("app.Bug", Some("app.Bag")),
            ("Strnig", Some("java.lang.String")),
            ("java.lang.Strng[]", Some("java.lang.String[]")),
            ("ü", Some("äö.Ü")),
            ("Elephant", None),
            ("", None),
        ] {
            assert_eq!(nearest_name(typed, known), meant, "{typed}");
        }
    }
}
