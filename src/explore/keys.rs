//! The keys and their actions, in one table: the browser follows it, the last line and `?` show it.

/// A key, apart from any terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyPress {
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
pub(super) enum KeyAction {
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

impl KeyAction {
    /// Returns true if it is about the rows of the list that is shown: without them there is nothing to do.
    pub(super) fn is_for_rows(self) -> bool {
        use KeyAction::{
            CopyId, CopyName, Down, Exact, First, HalfDown, HalfUp, In, Last, Next, Object, PageDown, PageUp, Paths,
            Previous, Reverse, Sort, Up,
        };
        let moves = matches!(self, Down | Up | HalfDown | HalfUp | PageDown | PageUp | First | Last | Next | Previous);
        moves || matches!(self, In | Object | Paths | Exact | Sort | Reverse | CopyId | CopyName)
    }
}

/// The keys of an action.
pub(super) fn action(key: KeyPress) -> Option<KeyAction> {
    Some(match key {
        KeyPress::Char('j') | KeyPress::Down => KeyAction::Down,
        KeyPress::Char('k') | KeyPress::Up => KeyAction::Up,
        KeyPress::Ctrl('d') => KeyAction::HalfDown,
        KeyPress::Ctrl('u') => KeyAction::HalfUp,
        KeyPress::PageDown | KeyPress::Ctrl('f') => KeyAction::PageDown,
        KeyPress::PageUp | KeyPress::Ctrl('b') => KeyAction::PageUp,
        KeyPress::Char('G') | KeyPress::End => KeyAction::Last,
        KeyPress::Home => KeyAction::First,
        KeyPress::Char('l') | KeyPress::Right | KeyPress::Enter => KeyAction::In,
        KeyPress::Char('h' | 'b') | KeyPress::Left | KeyPress::Backspace => KeyAction::Back,
        KeyPress::Char(digit @ '1'..='5') => KeyAction::Tab(digit as usize - '0' as usize),
        KeyPress::Char(':') => KeyAction::Go,
        KeyPress::Char('o') => KeyAction::Object,
        KeyPress::Char('p') => KeyAction::Paths,
        KeyPress::Char('+') => KeyAction::MorePaths,
        KeyPress::Char('t') => KeyAction::Merge,
        KeyPress::Char('r') => KeyAction::Exact,
        KeyPress::Char('g') => KeyAction::First,
        KeyPress::Char('/') => KeyAction::Find,
        KeyPress::Char('n') => KeyAction::Next,
        KeyPress::Char('N') => KeyAction::Previous,
        KeyPress::Escape => KeyAction::Clear,
        KeyPress::Char('s') => KeyAction::Sort,
        KeyPress::Char('S') => KeyAction::Reverse,
        KeyPress::Char('y') => KeyAction::CopyId,
        KeyPress::Char('Y') => KeyAction::CopyName,
        KeyPress::Char('e') => KeyAction::CopyCommand,
        KeyPress::Char('x') => KeyAction::Export,
        KeyPress::Char('w') => KeyAction::WriteIndex,
        KeyPress::Char('m') => KeyAction::PlainBytes,
        KeyPress::Char('?') => KeyAction::Help,
        KeyPress::Char('q') | KeyPress::Ctrl('c') => KeyAction::Quit,
        KeyPress::Ctrl('z') => KeyAction::Suspend,
        _ => return None,
    })
}
