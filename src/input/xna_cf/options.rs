//! Options of this reader.

use serde::{Deserialize, Serialize};

/// How sizes are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum SizeRadix {
    /// As the runtime writes them.
    #[default]
    Hex,
    /// As some tool rewrote them.
    Dec,
}

/// Options of this reader.
#[derive(Debug, Clone, Default)]
pub struct XnaCfOptions {
    /// How sizes are written. Default: hexadecimal.
    pub size_radix: SizeRadix,
}
