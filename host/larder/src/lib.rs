//! The program: the command line, and the wiring of all crates.

#![cfg_attr(test, allow(clippy::too_many_lines, reason = "tables are long"))]

pub mod app;
pub mod cli;
mod connect;
mod text_indexes;
mod toml_text;
