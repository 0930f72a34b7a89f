//! An MCP resource server whose content comes from sandboxed WebAssembly providers.

// Floor 0: small parsed values.
pub mod name;
pub mod stamp;
pub mod template;
pub mod trace;
pub mod uri;

// Floor 1: decisions and plain data.
pub mod drain;
pub mod health;
pub mod metrics;
pub mod patience;
pub mod policy;
pub mod resource;
pub mod round;

// Floor 2: the engine, who asked for what, and what is told of it elsewhere.
pub mod audit;
pub mod sandbox;
pub mod telemetry;

// Floor 3: one provider.
pub mod provider;

// Floor 4: who offers what, and where components come from.
pub mod catalog;
pub mod source;

// Floor 5: what can be asked, what loads, and what finds out that something differs.
pub mod gateway;
pub mod lookout;
pub mod reconcile;

// Floor 6: the protocol, and what operators look at.
pub mod admin;
pub mod endpoint;

// Floor 7: what the operator wants, the other end of the protocol, and what authors need.
pub mod author;
pub mod client;
pub mod config;

// The roof: what wires everything, and the commands.
pub mod app;
pub mod cli;
