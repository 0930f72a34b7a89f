//! Why an engine rejects a component.

/// The supported version of the contract; patch versions are compatible.
pub const CONTRACT_VERSION: &str = "0.1";

/// Why a component is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    /// The file is empty.
    #[error("the file is empty")]
    Empty,
    /// The file is not WebAssembly.
    #[error("it is not a WebAssembly component (it does not begin with the magic bytes `\\0asm`)")]
    NotWasm,
    /// The file is a core module.
    #[error("it is a core module, not a component; `larder pack FILE -o OUT.wasm` makes one of it")]
    CoreModule,
    /// The file is machine code from a wasmtime compiler, which cannot be trusted.
    #[error(
        "it is precompiled machine code, which is never loaded from a plugins folder; put the component itself there"
    )]
    Precompiled,
    /// The engine rejects the component.
    #[error("it is not a valid component (truncated, damaged, or in a newer format): {0}")]
    Invalid(String),
    /// The component requires features of WebAssembly that the engine does not support.
    #[error(
        "it requires features of WebAssembly that this host does not support: {0}; build it without them"
    )]
    UnsupportedFeatures(String),
    /// The component imports something that the host does not offer.
    #[error("it imports `{0}`, which this host does not offer: {advice}", advice = import_advice(.0))]
    UnknownImport(String),
    /// The component imports an interface that the host offers, but with other types.
    #[error(
        "the types of an import differ from those that this host offers: {0}; see \"Components of other hosts\" in the book for the versions"
    )]
    ImportMismatch(String),
    /// The component does not export the required interface.
    #[error(
        "it exports neither `larder:provider/resource-provider@0.1.0` nor functions, so there is nothing to serve"
    )]
    NotAProvider,
    /// The component exports functions, but none of them can be called. Contains the reasons.
    #[error("none of its functions can be a tool: {0}")]
    NoCallableFunction(String),
    /// The component is built for a newer version of the contract.
    #[error(
        "it is built for version {0} of the contract; this host supports {CONTRACT_VERSION}: update larder or rebuild the component with the contract that `larder bindings wit` writes"
    )]
    NewerContract(String),
    /// The component is built for an older or a preliminary version of the contract.
    #[error(
        "it is built for version {0} of the contract; this host supports {CONTRACT_VERSION}: rebuild the component with the contract that `larder bindings wit` writes"
    )]
    OtherContract(String),
    /// The component exports the required names with other types.
    #[error(
        "its types do not match the contract: {0}; build it with the WIT that `larder bindings wit` writes"
    )]
    Mismatch(String),
    /// The compiler process crashed, took too long, or failed otherwise. The component may be valid, and
    /// another attempt may succeed.
    #[error("it could not be compiled: {0}")]
    Compiler(String),
    /// The code of the component does not fit into the share of the cache that the team can use at the moment.
    #[error("{0}")]
    NoRoom(String),
    /// The operating system does not let this process execute compiled code.
    #[error("{0}")]
    ExecutionDenied(String),
}

/// Says what an import belongs to, and what to do.
fn import_advice(import: &str) -> &'static str {
    let (interface, version) = import.split_once('@').unwrap_or((import, ""));
    let (package, _) = interface.split_once('/').unwrap_or((interface, ""));
    match package.split_once(':') {
        Some(("larder", "provider")) => {
            "it belongs to the contract; update larder, or rebuild the component with the contract that `larder bindings wit` writes"
        }
        Some(("wasi", _)) if version.starts_with("0.3") => {
            "it belongs to WASI 0.3; rebuild the component for WASI 0.2"
        }
        Some(("wasi", "io" | "cli" | "clocks" | "random" | "filesystem" | "sockets" | "http")) => {
            "it belongs to another version of WASI; rebuild the component for WASI 0.2"
        }
        Some(("wasi", _)) => "it is a proposal of WASI; build the component without it",
        Some(("spin" | "fermyon", _)) => {
            "it belongs to Spin; use `wasi:keyvalue`, `wasi:config` or `wasi:http` instead"
        }
        Some(("wasmcloud", _)) => {
            "it belongs to wasmCloud; use `wasi:keyvalue`, `wasi:config` or `wasi:http` instead"
        }
        Some(("wasmcp", _)) => {
            "it belongs to wasmcp; compose the component with the others of its server (`wasmcp compose`)"
        }
        _ => {
            "it belongs to another component; compose the two, for example with `wac plug`, or build the component without it"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_import_says_what_it_belongs_to() {
        for (import, owner) in [
            ("larder:provider/secrets@0.1.0", "the contract"),
            ("wasi:http/types@0.3.0", "WASI 0.3"),
            ("wasi:io/poll@0.2.0-rc.1", "another version of WASI"),
            ("wasi:nn/graph@0.2.0", "a proposal of WASI"),
            ("fermyon:spin/variables@2.0.0", "Spin"),
            ("wasmcloud:messaging/consumer@0.2.0", "wasmCloud"),
            ("wasmcp:mcp-v20250618/tools@0.1.0", "wasmcp"),
            ("other:thing/api", "another component"),
            ("plain", "another component"),
        ] {
            let message = Rejection::UnknownImport(import.to_owned()).to_string();
            assert!(
                message.contains(&format!("`{import}`")) && message.contains(owner),
                "{message}"
            );
        }
    }
}
