//! The server of `heapdump mcp`: the Model Context Protocol on standard input and output, revisions 2026-07-28 (every
//! request says its version) and 2025-11-25 with the one before (`initialize`).
//!
//! - `messages`: JSON-RPC, one message a line; requests are answered at once but calls of tools, which wait for each other
//! - `tool`: what a tool is called with, as a JSON schema and as words
//! - `answer_page`: an answer of bounded size, its text in one marked block
//! - `allowlist`: which files may be read; `call_monitor`: which calls wait, which is answered, which were cancelled
//! - `worker`: the process that reads dumps and answers, with its progress; `worker_protocol`: what it is told and tells
//! - `wording`: sentences of the command line in words of tools
//!
//! Not here: what the tools are and what answers them (see `cli::commands::mcp`).

mod allowlist;
mod answer_page;
mod call_monitor;
mod messages;
mod tool;
mod wording;
mod worker;
mod worker_protocol;

pub use allowlist::Allowlist;
pub use answer_page::CommandAnswer;
pub use call_monitor::CallMonitor;
pub use messages::{ToolServer, serve};
pub use tool::{CheckedCall, Parameter, ParameterKind, Tool};
pub use wording::ToolWording;
pub use worker::{WorkerClient, WorkerReporter, serve_worker_orders};
