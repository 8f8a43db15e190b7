//! Texts that should not be in a heap: rules (`secrets.txt`), and what of a text they match.

use regex_lite::Regex;

use crate::regex::bounded_regex;

use super::collections::RuleLineError;

/// The rules that are known without being told.
const BUILT_IN_RULES_TEXT: &str = include_str!("secrets.txt");
/// Digits that a text has at least, to be looked through for numbers of cards.
const MIN_CARD_DIGITS: usize = 13;
/// Secrets of a rule in a text, at most.
const MAX_SECRETS_PER_RULE: usize = 100;

/// Rules for secrets.
#[derive(Debug, Clone, Default)]
pub struct SecretRules {
    rules: Vec<SecretRule>,
}

#[derive(Debug, Clone)]
struct SecretRule {
    secret_kind: String,
    /// A text is looked through where it has one of them.
    trigger_words: Vec<TriggerWord>,
    pattern: Regex,
    checks_card_number: bool,
}

#[derive(Debug, Clone)]
struct TriggerWord {
    /// In small letters where case does not matter.
    word: String,
    ignores_case: bool,
    characters: CharacterSet,
}

impl TriggerWord {
    /// Words end in `/` where case does not matter; not those that end in `:/` or `//`.
    fn new(word: &str) -> Self {
        let any_case = word.strip_suffix('/').filter(|word| !word.ends_with(':') && !word.ends_with('/'));
        let (word, ignores_case) = (any_case.unwrap_or(word), any_case.is_some());
        let word = if ignores_case { word.to_ascii_lowercase() } else { word.to_string() };
        TriggerWord { characters: CharacterSet::of(&word), word, ignores_case }
    }
}

/// Which bytes a text has, letters without their case; those above 127 count as others. Most texts do not have those of a word.
#[derive(Debug, Clone, Copy)]
struct CharacterSet(u128);

impl CharacterSet {
    fn of(text: &str) -> Self {
        CharacterSet(text.bytes().fold(0, |set, byte| set | 1 << (byte.to_ascii_lowercase() & 127)))
    }

    fn has_all_of(self, other: Self) -> bool {
        other.0 & !self.0 == 0
    }
}

/// A rule that is being read: its line, name, words, pattern, and whether it is of cards.
type RuleBeingRead = (usize, String, Vec<TriggerWord>, Option<Regex>, bool);

impl SecretRules {
    /// Those of `secrets.txt`.
    pub fn built_in() -> Self {
        let mut rules = SecretRules::default();
        // Held by a test.
        let _ = rules.add_lines(BUILT_IN_RULES_TEXT);
        rules
    }

    /// Adds the rules of a text, in the form of `secrets.txt`.
    ///
    /// # Errors
    /// At the first line that makes no sense.
    pub fn add_lines(&mut self, text: &str) -> Result<(), RuleLineError> {
        let mut open: Option<RuleBeingRead> = None;
        let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line.trim_end()));
        for (at, line) in lines.chain([(text.lines().count() + 1, "end")]) {
            let bad = |why: &str| RuleLineError { line: at, why: why.to_string() };
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let Some(rest) = line.strip_prefix("  ") else {
                if let Some((begun, kind, words, pattern, is_card_number)) = open.take() {
                    let no_pattern = || RuleLineError { line: begun, why: format!("{kind} has no pattern") };
                    let pattern = pattern.ok_or_else(no_pattern)?;
                    self.rules.push(SecretRule {
                        secret_kind: kind,
                        trigger_words: words,
                        pattern,
                        checks_card_number: is_card_number,
                    });
                }
                open = Some((at, line.to_string(), Vec::new(), None, false));
                continue;
            };
            let Some((_, _, words, pattern, is_card_number)) = &mut open else { return Err(bad("a name comes first")) };
            match rest.trim_start().split_once(' ').unwrap_or((rest, "")) {
                ("word", rest) => words.extend(rest.split_whitespace().map(TriggerWord::new)),
                ("pattern", rest) => {
                    let regex = bounded_regex(rest.trim()).map_err(|error| bad(&error))?;
                    *pattern = Some(regex);
                }
                ("check", "card") => *is_card_number = true,
                ("source", _) => {}
                _ => return Err(bad("word, pattern, check card or source is expected")),
            }
        }
        Ok(())
    }

    /// The secrets in a text, each by the name of its rule; what several rules match belongs to the first.
    pub fn find_in_text<'t>(&self, text: &'t str) -> Vec<(&str, &'t str)> {
        let digits = text.bytes().filter(u8::is_ascii_digit).count();
        let lower = std::cell::OnceCell::new();
        let characters = CharacterSet::of(text);
        let has_word = |trigger: &TriggerWord| match trigger.ignores_case {
            _ if !characters.has_all_of(trigger.characters) => false,
            true => lower.get_or_init(|| text.to_ascii_lowercase()).contains(&trigger.word),
            false => text.contains(&trigger.word),
        };
        let mut found: Vec<(&str, regex_lite::Match<'t>)> = Vec::new();
        for rule in &self.rules {
            let may_match = rule.trigger_words.is_empty() || rule.trigger_words.iter().any(has_word);
            if !may_match || (rule.checks_card_number && digits < MIN_CARD_DIGITS) {
                continue;
            }
            for captures in rule.pattern.captures_iter(text).take(MAX_SECRETS_PER_RULE) {
                let Some(secret) = captures.get(1).or(captures.get(0)) else { continue };
                let is_known = |(_, other): &(&str, regex_lite::Match<'t>)| {
                    secret.start() < other.end() && other.start() < secret.end()
                };
                if (!rule.checks_card_number || is_card_number(secret.as_str())) && !found.iter().any(is_known) {
                    found.push((&rule.secret_kind, secret));
                }
            }
        }
        found.into_iter().map(|(kind, secret)| (kind, secret.as_str())).collect()
    }
}

/// The check digit of ISO/IEC 7812-1 (Luhn), of a number that is not one digit again and again.
fn is_card_number(text: &str) -> bool {
    let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(10)).collect();
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(at, &digit)| match at % 2 {
            0 => digit,
            _ => 2 * digit - if digit > 4 { 9 } else { 0 },
        })
        .sum();
    sum.is_multiple_of(10) && digits.iter().any(|digit| *digit != digits[0])
}

/// Bits of information a character, by how often each occurs.
pub fn entropy_per_character(text: &str) -> f64 {
    let mut counts = std::collections::BTreeMap::<char, u32>::new();
    text.chars().for_each(|c| *counts.entry(c).or_default() += 1);
    let count = text.chars().count() as f64;
    counts.values().map(|&of_one| f64::from(of_one) / count).map(|share| -share * share.log2()).sum()
}

/// A secret as it may be shown: four characters at the start and three at the end at most, less of a short one.
pub fn masked_secret(secret: &str) -> String {
    let count = secret.chars().count();
    let (start, end) = match count {
        0..8 => (0, 0),
        8..16 => (2, 0),
        _ => (4, 3),
    };
    let first: String = secret.chars().take(start).collect();
    let last: String = secret.chars().skip(count - end).collect();
    format!("{first}…{last}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A text of each rule, put together here so that no scanner takes this file for a leak, and nearly the same text that is
    /// none.
    #[test]
    fn each_rule_finds_its_own_and_nothing_else() {
        let join = |parts: &[&str]| parts.concat();
        let (a, b) = ("A1b2C3d4E5f6G7h8I9j0", "K1l2M3n4O5p6Q7r8S9t0");
        let key = "Zz09+/Zz09+/Zz09+/Zz09+/Zz09+/Zz09+/Zz09+/Zz09+/Zz09+/Zz09+/Zz09+/Zz09+/Zz09+/Zz09+/ab";
        let found = [
            ("private-key", join(&["-----BEGIN RSA PRIV", "ATE KEY-----\nMIIE"])),
            ("private-key", join(&["-----BEGIN PRIV", "ATE KEY-----"])),
            ("aws-access-key", join(&["AKI", "AIOSFODNN7EXAMPLE"])),
            ("aws-secret-key", join(&["aws_secret_access_key = ", a, b])),
            ("google-api-key", join(&["AIz", "aSyA-", a, "_1234567890"])),
            ("google-oauth-token", join(&["ya2", "9.", a, b])),
            ("azure-account-key", join(&["AccountName=x;AccountKey=", key, "=="])),
            ("azure-shared-access-signature", join(&["https://a.blob/x?sv=1&sig=", a, b, "abc%3D"])),
            ("github-token", join(&["gh", "p_", a, b])),
            ("github-token", join(&["github_", "pat_", a, b])),
            ("gitlab-token", join(&["glp", "at-", a])),
            ("slack-token", join(&["xo", "xb-123456789012-", a])),
            ("slack-webhook", join(&["https://hooks.slack.com/services/", "T0001/B0002/", a])),
            ("stripe-key", join(&["sk_", "live_", a])),
            ("npm-token", join(&["np", "m_", &a[..18], &b[..18]])),
            ("sendgrid-key", join(&["S", "G.", a, "ab.", a, b, "abc"])),
            ("json-web-token", join(&["ey", "JhbGciOiJIUzI1NiJ9.ey", "JzdWIiOiIxMjM0In0.", a])),
            ("bearer-header", join(&["Authorization: Bearer ", a])),
            ("basic-header", join(&["Basic ", "dXNlcjpwYXNzd29yZA=="])),
            ("password-in-url", "jdbc:postgresql://user:s3cr3t@db.example/app".to_string()),
            ("password-in-oracle-url", "jdbc:oracle:thin:scott/s3cr3t@//db.example:1521/app".to_string()),
            ("password-property", "jdbc:mysql://db/app?user=me&password=s3cr3t!".to_string()),
            ("card-number", join(&["paid with 4111 1111", " 1111 1111."])),
            ("card-number", join(&["3782", "82246310005"])),
        ];
        let rules = SecretRules::built_in();
        for (kind, text) in &found {
            assert_eq!(rules.find_in_text(text).iter().map(|(kind, _)| *kind).collect::<Vec<_>>(), [*kind], "{text}");
        }
        for (rule, _) in rules.rules.iter().map(|rule| (&rule.secret_kind, ())) {
            assert!(found.iter().any(|(kind, _)| kind == rule), "a text of {rule}");
        }
        for text in [
            "PRIVATE KEY",
            "AKIAlowercaseletters",
            "password=%s",
            "password=${db.password}",
            "http://localhost:8080/path@x",
            "4111 1111 1111 1112",
            "0000000000000000",
            "1700000000000",
            "Bearer token",
            "eyJ.eyJ.",
            "java.util.concurrent.ConcurrentHashMap",
        ] {
            assert_eq!(rules.find_in_text(text), [], "{text}");
        }
    }

    #[test]
    fn rules_of_a_file_are_added_and_bad_ones_named() {
        let mut rules = SecretRules::default();
        rules.add_lines("acme-key\n  word ACME\n  pattern ACME-([0-9]+)\n  source none\n").expect("a rule");
        assert_eq!(rules.find_in_text("the ACME-4711, ACME-12"), [("acme-key", "4711"), ("acme-key", "12")]);
        for (text, line) in [("  word x", 1), ("a\n  pattern (", 2), ("a\n  word x\n", 1), ("a\n  what x", 2)] {
            assert_eq!(SecretRules::default().add_lines(text).map_err(|bad| bad.line), Err(line), "{text}");
        }
        assert!(SecretRules::default().add_lines(BUILT_IN_RULES_TEXT).is_ok());
    }

    #[test]
    fn a_mask_shows_the_ends_of_long_ones_alone() {
        for (secret, shown) in [("hunter2", "…"), ("hunter2hunter2", "hu…"), ("ghp_0123456789abcXk2", "ghp_…Xk2")]
        {
            assert_eq!(masked_secret(secret), shown);
        }
    }
}
