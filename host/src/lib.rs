//! An MCP resource server whose content comes from sandboxed WebAssembly providers.

// Floor 0: small parsed values.
pub mod name;
pub mod template;
pub mod uri;

// Floor 1: decisions and plain data.
pub mod drain;
pub mod policy;
pub mod resource;
