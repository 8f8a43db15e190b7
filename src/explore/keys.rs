//! The keys and their actions, in one table: the browser follows it, the last line and `?` show it.

/// A key, apart from any terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    Char(char),
    Ctrl(char),
    Enter,
    Escape,
    Backspace,
    Up,
    Down,
    Left,
    Right,
    PageUp,
    PageDown,
    Home,
    End,
}

/// An event of the mouse, in cells from the top left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mouse {
    Click(u16, u16),
    WheelUp,
    WheelDown,
}

/// The action of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Down,
    Up,
    HalfDown,
    HalfUp,
    PageDown,
    PageUp,
    First,
    Last,
    In,
    Back,
    Tab(usize),
    Go,
    Object,
    Paths,
    MorePaths,
    Merge,
    Exact,
    NextGroup,
    Find,
    Next,
    Previous,
    Clear,
    Sort,
    Reverse,
    CopyId,
    CopyName,
    CopyCommand,
    Export,
    WriteIndex,
    PlainBytes,
    Help,
    Quit,
    Suspend,
}

impl Action {
    /// Returns true if it is about the rows of the list that is shown: without them there is nothing to do.
    pub(super) fn is_for_rows(self) -> bool {
        use Action::{
            CopyId, CopyName, Down, Exact, First, HalfDown, HalfUp, In, Last, Next, Object, PageDown, PageUp, Paths,
            Previous, Reverse, Sort, Up,
        };
        let moves = matches!(self, Down | Up | HalfDown | HalfUp | PageDown | PageUp | First | Last | Next | Previous);
        moves || matches!(self, In | Object | Paths | Exact | Sort | Reverse | CopyId | CopyName)
    }
}

/// The keys of an action.
pub(super) fn action(key: Key) -> Option<Action> {
    Some(match key {
        Key::Char('j') | Key::Down => Action::Down,
        Key::Char('k') | Key::Up => Action::Up,
        Key::Ctrl('d') => Action::HalfDown,
        Key::Ctrl('u') => Action::HalfUp,
        Key::PageDown | Key::Ctrl('f') => Action::PageDown,
        Key::PageUp | Key::Ctrl('b') => Action::PageUp,
        Key::Char('G') | Key::End => Action::Last,
        Key::Home => Action::First,
        Key::Char('l') | Key::Right | Key::Enter => Action::In,
        Key::Char('h' | 'b') | Key::Left | Key::Backspace => Action::Back,
        Key::Char(digit @ '1'..='5') => Action::Tab(digit as usize - '0' as usize),
        Key::Char(':') => Action::Go,
        Key::Char('o') => Action::Object,
        Key::Char('p') => Action::Paths,
        Key::Char('+') => Action::MorePaths,
        Key::Char('t') => Action::Merge,
        Key::Char('r') => Action::Exact,
        Key::Char('g') => Action::First,
        Key::Char('/') => Action::Find,
        Key::Char('n') => Action::Next,
        Key::Char('N') => Action::Previous,
        Key::Escape => Action::Clear,
        Key::Char('s') => Action::Sort,
        Key::Char('S') => Action::Reverse,
        Key::Char('y') => Action::CopyId,
        Key::Char('Y') => Action::CopyName,
        Key::Char('e') => Action::CopyCommand,
        Key::Char('x') => Action::Export,
        Key::Char('w') => Action::WriteIndex,
        Key::Char('m') => Action::PlainBytes,
        Key::Char('?') => Action::Help,
        Key::Char('q') | Key::Ctrl('c') => Action::Quit,
        Key::Ctrl('z') => Action::Suspend,
        _ => return None,
    })
}
