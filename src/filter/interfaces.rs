//! Interfaces that a class implements, of those of the JDK that are well known: dumps of Java name superclasses alone.

use std::collections::HashMap;
use std::sync::OnceLock;

/// Each interface between brackets, and its classes behind it.
static INTERFACES: &str = include_str!("interfaces.txt");

/// The well-known interfaces that a class of the JDK implements and its superclass does not. O(1).
pub(super) fn interfaces_of(class: &str) -> &'static [&'static str] {
    static BY_CLASS: OnceLock<HashMap<&'static str, Vec<&'static str>>> = OnceLock::new();
    let by_class = BY_CLASS.get_or_init(|| {
        let (mut by_class, mut interface) = (HashMap::<_, Vec<_>>::new(), "");
        for line in INTERFACES.lines().filter(|line| !line.starts_with('#')) {
            match line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
                Some(name) => interface = name,
                None => line.split(' ').for_each(|class| by_class.entry(class).or_default().push(interface)),
            }
        }
        by_class
    });
    by_class.get(class).map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_have_their_interfaces() {
        assert_eq!(interfaces_of("java.util.Hashtable"), ["java.util.Map"]);
        assert!(
            interfaces_of("java.util.concurrent.ConcurrentHashMap").contains(&"java.util.concurrent.ConcurrentMap")
        );
        assert!(interfaces_of("java.util.HashMap").is_empty() && interfaces_of("").is_empty());
    }
}
