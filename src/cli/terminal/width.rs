//! The width of the terminal.

/// Columns of the terminal, else COLUMNS, else 80.
pub(crate) fn terminal_width() -> usize {
    let said = || std::env::var("COLUMNS").ok()?.parse().ok().filter(|&columns| columns > 0);
    terminal_size::terminal_size().map(|(width, _)| usize::from(width.0)).or_else(said).unwrap_or(80)
}
