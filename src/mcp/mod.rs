//! The server of `heapdump mcp`: the Model Context Protocol on standard input and output, revisions 2026-07-28 (every
//! request says its version) and 2025-11-25 with the one before (`initialize`).
//!
//! - `messages`: JSON-RPC, one message a line; requests are answered at once but calls of tools, which wait for each other
//! - `tool`: what a tool is called with, as a JSON schema and as words
//! - `page`: an answer of bounded size, its text in one marked block
//! - `fence`: which files may be read; `watch`: which calls wait, which is answered, which were cancelled
//! - `worker`: the process that reads dumps and answers, with its progress; `orders`: what it is told and tells
//! - `wording`: sentences of the command line in words of tools
//!
//! Not here: what the tools are and what answers them (see `cli::commands::mcp`).

mod fence;
mod messages;
mod orders;
mod page;
mod tool;
mod watch;
mod wording;
mod worker;

pub use fence::Fence;
pub use messages::{Server, serve};
pub use page::Told;
pub use tool::{Kind, Parameter, Question, Tool};
pub use watch::Watch;
pub use wording::Wording;
pub use worker::{Reporter, Workers, work};
