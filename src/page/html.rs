//! The only way by which text gets into the page: markup is written in the source, everything else is escaped.

use std::fmt::Display;

/// A page that is being written.
#[derive(Debug, Default)]
pub(super) struct Html {
    text: String,
}

impl Html {
    /// Markup, as it stands in the source: no text from a dump can be a `&'static str`.
    pub(super) fn markup(&mut self, markup: &'static str) -> &mut Self {
        self.text.push_str(markup);
        self
    }

    /// Text, escaped for content and for attributes in double quotes.
    pub(super) fn text(&mut self, text: impl Display) -> &mut Self {
        for c in text.to_string().chars() {
            match c {
                '&' => self.text.push_str("&amp;"),
                '<' => self.text.push_str("&lt;"),
                '>' => self.text.push_str("&gt;"),
                '"' => self.text.push_str("&quot;"),
                '\'' => self.text.push_str("&#x27;"),
                c => self.text.push(c),
            }
        }
        self
    }

    /// JSON for `<script type="application/json">`: what could end the element, or a line of a script, is escaped.
    pub(super) fn json(&mut self, json: &str) -> &mut Self {
        for c in json.chars() {
            match c {
                '<' => self.text.push_str("\\u003c"),
                '\u{2028}' => self.text.push_str("\\u2028"),
                '\u{2029}' => self.text.push_str("\\u2029"),
                c => self.text.push(c),
            }
        }
        self
    }

    pub(super) fn into_string(self) -> String {
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::Html;

    #[test]
    fn text_is_never_markup() {
        let mut html = Html::default();
        html.markup("<p title=\"").text("\" onload='x'").markup("\">").text("</p><script>&").markup("</p>");
        let expected = "<p title=\"&quot; onload=&#x27;x&#x27;\">&lt;/p&gt;&lt;script&gt;&amp;</p>";
        assert_eq!(html.into_string(), expected);
    }

    #[test]
    fn json_cannot_end_its_element() {
        let mut html = Html::default();
        html.json("[\"</script><!--\u{2028}\"]");
        assert_eq!(html.into_string(), "[\"\\u003c/script>\\u003c!--\\u2028\"]");
    }
}
