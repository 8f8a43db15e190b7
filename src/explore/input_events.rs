//! Keys and the mouse, apart from any terminal.

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

use KeyPress::{Backspace, Char, Ctrl, Down, End, Enter, Home, Left, PageDown, PageUp, Right, Up};

impl KeyPress {
    /// The one key that stands for all with the same action.
    pub(super) fn without_aliases(self) -> Self {
        match self {
            Down => Char('j'),
            Up => Char('k'),
            Ctrl('f') => PageDown,
            Ctrl('b') => PageUp,
            End => Char('G'),
            Right | Enter => Char('l'),
            Left | Backspace | Char('b') => Char('h'),
            key => key,
        }
    }

    /// Returns true if it is about the rows of the list that is shown: without them there is nothing to do.
    pub(super) fn is_for_rows(self) -> bool {
        let key = self.without_aliases();
        let moves = matches!(key, Char('j' | 'k' | 'g' | 'G' | 'n' | 'N') | Ctrl('d' | 'u') | PageDown | PageUp | Home);
        moves || matches!(key, Char('l' | 'o' | 'p' | 'r' | 's' | 'S' | 'y' | 'Y'))
    }

    /// By how many rows it moves the cursor, on a page of so many.
    pub(super) fn cursor_steps(self, page: usize) -> Option<isize> {
        let page = page as isize;
        Some(match self.without_aliases() {
            Char('j') => 1,
            Char('k') => -1,
            Ctrl('d') => page / 2,
            Ctrl('u') => -(page / 2),
            PageDown => page,
            PageUp => -page,
            _ => return None,
        })
    }
}
