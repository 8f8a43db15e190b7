//! Threads on the page: what each retains, and its stack with the objects on it. It stands there without a script.

use super::html::HtmlWriter;
use super::names::escaped_name;
use super::sections::SectionWriter;
use super::tables::{close_table, open_table, write_bar_cell, write_cell, write_type_name};
use crate::answers::ThreadsOptions;
use crate::answers::threads::{LocalRow, ThreadRow};
use crate::units::{count_with_noun, format_bytes, format_count};

/// Frames of a stack, and objects in a frame.
const FRAMES_SHOWN: usize = 60;
const LOCALS_SHOWN: usize = 10;

impl SectionWriter<'_, '_> {
    pub(super) fn write_threads(&self, html: &mut HtmlWriter) {
        let Some(threads) = &self.page.threads else { return };
        html.begin_section("threads", "Threads").markup("><h2>Threads</h2><p class=\"under\">");
        html.markup("Each retains what lies on its stack and nothing else holds. Open one for its stack.</p>\n");
        open_table(html, "Threads", &["", "Retained", "Objects on stack", "State", "Thread"]);
        let largest = threads.threads.iter().filter_map(|thread| thread.retained_bytes).max().unwrap_or(0);
        for thread in &threads.threads {
            html.markup("<tr>");
            write_bar_cell(html, thread.retained_bytes.unwrap_or(0), largest);
            write_cell(html, thread.retained_bytes.map_or("-".into(), format_bytes));
            write_cell(html, format_count(thread.local_count() as u64));
            write_cell(html, thread.fields.state.unwrap_or("-"));
            html.markup("<td class=\"name\">");
            write_thread(thread, html);
            html.markup("</td></tr>");
        }
        close_table(html);
        if threads.rows_hidden > 0 {
            let more = count_with_noun(threads.rows_hidden as u64, "threads that retain less");
            html.markup("<p class=\"quiet\">").text(format!("{more}: the command below has them.")).markup("</p>\n");
        }
        self.write_command(&ThreadsOptions::default().command_line(), html);
        html.markup("</section>\n");
    }
}

/// A thread's name, and behind it the stack.
fn write_thread(thread: &ThreadRow<'_>, html: &mut HtmlWriter) {
    let title = |html: &mut HtmlWriter| {
        html.text(escaped_name(&thread.title()))
            .markup(" <span class=\"quiet\">")
            .text(escaped_name(&thread.type_name));
        if thread.out_of_memory {
            html.markup(", out of memory");
        }
        html.markup("</span>");
    };
    if thread.frames.is_empty() && thread.locals.is_empty() {
        return title(html);
    }
    html.markup("<details><summary>");
    title(html);
    html.markup("</summary><ol class=\"stack\">");
    for frame in thread.frames.iter().take(FRAMES_SHOWN) {
        html.markup("<li><code>").text(escaped_name(&frame.text())).markup("</code>");
        write_locals(frame.locals, html);
        html.markup("</li>");
    }
    if thread.frames.len() > FRAMES_SHOWN {
        let more = count_with_noun((thread.frames.len() - FRAMES_SHOWN) as u64, "more frames");
        html.markup("<li class=\"quiet\">").text(more).markup("</li>");
    }
    if !thread.locals.is_empty() {
        html.markup("<li>in no frame that the dump names");
        write_locals(&thread.locals, html);
        html.markup("</li>");
    }
    html.markup("</ol></details>");
}

fn write_locals(locals: &[LocalRow], html: &mut HtmlWriter) {
    if locals.is_empty() {
        return;
    }
    html.markup("<ul>");
    for local in locals.iter().take(LOCALS_SHOWN) {
        html.markup("<li>").text(local.retained_bytes.map_or("-".into(), format_bytes));
        html.markup(" <span class=\"id\">").text(&local.object.id).markup("</span> ");
        write_type_name(html, &escaped_name(&local.object.type_name));
        if let Some(value) = &local.value {
            html.markup(" <span class=\"said\">").text(escaped_name(&value.words())).markup("</span>");
        }
        html.markup("</li>");
    }
    if locals.len() > LOCALS_SHOWN {
        html.markup("<li class=\"quiet\">").text(count_with_noun((locals.len() - LOCALS_SHOWN) as u64, "more objects"));
        html.markup("</li>");
    }
    html.markup("</ul>");
}
