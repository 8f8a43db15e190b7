//! The page of `heapdump report`: one file that a team can look at, without a server, a script from elsewhere, or a
//! network.
//!
//! `page_answers` asks the answers, `prune` takes the largest rows, `data` makes the `columns` that the page's script reads,
//! `sections` writes what stands there without a script, `html` is the only way by which text gets in. Not here: opening
//! dumps, options.

mod advice;
mod columns;
mod data;
mod growth;
mod head;
mod html;
mod names;
mod options;
mod page_answers;
mod prune;
mod sections;
mod series;
mod suspects;
mod tables;
mod thread_section;
mod trees;

use std::io::{self, Write};

pub use options::PageOptions;
pub use series::write_series_page;

use crate::answers::AnswerError;
use crate::dump::OpenDump;
use crate::escape::json_text;
use columns::PageBudgets;
use html::HtmlWriter;
use page_answers::PageAnswers;
use sections::{SCRIPT, SectionWriter};
use suspects::ticket_texts;

/// The reason why there is no page.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PageError {
    /// A question could not be answered.
    #[error(transparent)]
    Answer(#[from] AnswerError),
    /// The page could not be written.
    #[error(transparent)]
    Write(#[from] io::Error),
}

/// Writes the page of a dump, compared with an older one if that is given. The same dumps give the same bytes.
/// O(objects + references), the dominator trees, and memory for the page. Error: when a dump does not have what is
/// asked for or takes more memory than it may, or `out` cannot be written to.
pub fn write_page(
    old: Option<&OpenDump>,
    dump: &OpenDump,
    options: &PageOptions,
    out: &mut dyn Write,
) -> Result<(), PageError> {
    let page = PageAnswers::ask(old, dump, options)?;
    let mut budgets = PageBudgets::default();
    let text = loop {
        let text = page_html(&page, &budgets, options);
        match budgets.smaller() {
            Some(smaller) if text.len() as u64 > options.max_page_bytes => budgets = smaller,
            _ => break text,
        }
    };
    Ok(out.write_all(text.as_bytes())?)
}

/// The whole page: its sections, its data, its script.
fn page_html(page: &PageAnswers<'_>, budgets: &PageBudgets, options: &PageOptions) -> String {
    let mut data = page.page_data(budgets, options);
    data.tickets = ticket_texts(page, options);
    let sections = SectionWriter { page, data: &data, options };
    let (mut html, mut body) = (HtmlWriter::default(), HtmlWriter::default());
    sections.write_figures(&mut body);
    sections.write_suspects(&mut body);
    sections.write_growth(&mut body);
    sections.write_map(&mut body);
    // Of allocations: where they come from, before what they are.
    if data.objects.is_none() {
        sections.write_groups(&mut body);
    }
    sections.write_types(&mut body);
    if data.objects.is_some() {
        sections.write_groups(&mut body);
    }
    sections.write_objects(&mut body);
    sections.write_threads(&mut body);
    sections.write_waste(&mut body);
    sections.write_problems(&mut body);
    sections.write_how_to_remake(&mut body);
    body.markup("</main><footer class=\"top\"><p class=\"with-script\">Press <kbd>?</kbd> for keys. ");
    body.markup("Nothing is loaded from anywhere: everything is in this file.</p></footer>\n");
    body.markup("<div id=\"announce\" class=\"unseen\" role=\"status\" aria-live=\"polite\"></div>\n");
    body.markup("<script type=\"application/json\" id=\"data\">");
    body.json(&json_text(&data)).markup("</script>\n<script>").markup(SCRIPT).markup("</script></body></html>\n");
    sections.write_head(&body.sections, &mut html);
    html.into_string() + &body.into_string()
}
