//! Regular expressions of users and of files, which take bounded memory.

/// Bytes of a compiled expression, and groups in it: each match takes memory by their product.
const MAX_REGEX_BYTES: usize = 1 << 20;
const MAX_REGEX_GROUPS: usize = 50;

/// A regular expression that takes some 100 MiB at most. Error: in words.
pub(crate) fn bounded_regex(text: &str) -> Result<regex_lite::Regex, String> {
    let compiled = regex_lite::RegexBuilder::new(text).size_limit(MAX_REGEX_BYTES).build();
    let regex = compiled.map_err(|error| format!("\"{text}\" is not a regular expression: {error}"))?;
    if regex.captures_len() > MAX_REGEX_GROUPS {
        return Err(format!("\"{text}\" has more than {MAX_REGEX_GROUPS} groups"));
    }
    Ok(regex)
}
