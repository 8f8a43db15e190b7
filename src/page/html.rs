//! The only way by which text gets into the page: markup is written in the source, everything else is escaped.

use std::fmt::Display;

use crate::escape::escape_controls;

/// A page that is being written.
#[derive(Debug, Default)]
pub(super) struct HtmlWriter {
    written_html: String,
    /// Its sections, by address and title.
    pub(super) sections: Vec<(&'static str, String)>,
}

impl HtmlWriter {
    /// Markup, as it stands in the source: no text from a dump can be a `&'static str`.
    pub(super) fn markup(&mut self, markup: &'static str) -> &mut Self {
        self.written_html.push_str(markup);
        self
    }

    /// Text, escaped for content and for attributes in double quotes; what steers or hides is `\u{..}`.
    pub(super) fn text(&mut self, text: impl Display) -> &mut Self {
        for c in escape_controls(&text.to_string()).chars() {
            match c {
                '&' => self.written_html.push_str("&amp;"),
                '<' => self.written_html.push_str("&lt;"),
                '>' => self.written_html.push_str("&gt;"),
                '"' => self.written_html.push_str("&quot;"),
                '\'' => self.written_html.push_str("&#x27;"),
                c => self.written_html.push(c),
            }
        }
        self
    }

    /// The beginning of a section's first tag.
    pub(super) fn begin_section(&mut self, id: &'static str, title: impl Into<String>) -> &mut Self {
        self.sections.push((id, title.into()));
        self.markup("<section id=\"").markup(id).markup("\"")
    }

    /// JSON without raw controls, for `<script type="application/json">`: what could end the element is escaped.
    pub(super) fn json(&mut self, json: &str) -> &mut Self {
        self.written_html.push_str(&json.replace('<', "\\u003c"));
        self
    }

    pub(super) fn into_string(self) -> String {
        self.written_html
    }
}

#[cfg(test)]
mod tests {
    use super::HtmlWriter;

    #[test]
    fn text_is_never_markup() {
        let mut html = HtmlWriter::default();
        html.markup("<p title=\"").text("\" onload='x'").markup("\">").text("</p><script>&\u{1b}").markup("</p>");
        let expected = "<p title=\"&quot; onload=&#x27;x&#x27;\">&lt;/p&gt;&lt;script&gt;&amp;\\u{1b}</p>";
        assert_eq!(html.into_string(), expected);
    }

    #[test]
    fn json_cannot_end_its_element() {
        let mut html = HtmlWriter::default();
        html.json("[\"</script><!--\"]");
        assert_eq!(html.into_string(), "[\"\\u003c/script>\\u003c!--\"]");
    }
}
