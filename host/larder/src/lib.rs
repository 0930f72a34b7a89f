//! The program: command line, configuration, and the wiring of all crates.

#![cfg_attr(test, allow(clippy::too_many_lines, reason = "tables are long"))]

pub mod app;
pub mod cli;
pub mod config;
mod connect;
mod text_indexes;
mod toml_text;
