//! An MCP resource server whose content comes from sandboxed WebAssembly providers.
//!
//! The modules are layered: a module uses only modules of lower layers, as `tests/floors.rs` checks.

// Layer 0: small parsed values.
pub mod file_fingerprint;
pub mod name;
pub mod template;
pub mod trace;
pub mod uri;

// Layer 1: plain data, policies and task utilities.
pub mod drain;
pub mod health;
pub mod deadline;
pub mod metrics;
pub mod policy;
pub mod resource;
pub mod yield_batch;

// Layer 2: the WebAssembly sandbox, the audit log and traces.
pub mod audit;
pub mod sandbox;
pub mod telemetry;

// Layer 3: calls of one provider.
pub mod provider;

// Layer 4: the catalog of what providers offer, and the sources of components.
pub mod catalog;
pub mod source;

// Layer 5: requests, loading of components, and change detection.
pub mod change_detector;
pub mod gateway;
pub mod reconcile;

// Layer 6: the MCP protocol, and the admin address.
pub mod admin;
pub mod endpoint;

// Layer 7: configuration, the MCP client, and tools for component authors.
pub mod author;
pub mod client;
pub mod config;

// Layers 8 and 9: the assembly of the server, and the commands.
pub mod app;
pub mod cli;
