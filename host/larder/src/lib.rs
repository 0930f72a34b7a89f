//! The program: command line, configuration, and the wiring of all crates.

pub mod app;
pub mod cli;
pub mod config;
mod connect;
mod text_indexes;
mod toml_text;
