//! The whole page: its sections, its data, its script.

use super::ask::PageAnswers;
use super::columns::Budgets;
use super::html::Html;
use super::sections::{SCRIPT, Sections};
use super::suspects::tickets;
use super::{PageError, PageOptions};
use crate::escape::json_text;

/// The whole page.
pub(super) fn page(page: &mut PageAnswers<'_>, budgets: &Budgets, options: &PageOptions) -> Result<String, PageError> {
    let mut data = page.data(budgets, options);
    data.tickets = tickets(page, options);
    let mut html = Html::default();
    let sections = Sections { page, data: &data, options };
    sections.head(&mut html);
    sections.figures(&mut html);
    sections.suspects(&mut html);
    sections.growth(&mut html);
    sections.map(&mut html);
    sections.types(&mut html);
    sections.groups(&mut html);
    sections.objects(&mut html);
    sections.threads(&mut html);
    sections.waste(&mut html);
    sections.problems(&mut html);
    sections.again(&mut html);
    html.markup("</main><footer class=\"top\"><p class=\"with-script\">Press <kbd>?</kbd> for keys. ");
    html.markup("Nothing is loaded from anywhere: everything is in this file.</p></footer>\n");
    html.markup("<div id=\"announce\" class=\"unseen\" role=\"status\" aria-live=\"polite\"></div>\n");
    html.markup("<script type=\"application/json\" id=\"data\">");
    html.json(&json_text(&data)).markup("</script>\n<script>").markup(SCRIPT).markup("</script></body></html>\n");
    Ok(html.into_string())
}
