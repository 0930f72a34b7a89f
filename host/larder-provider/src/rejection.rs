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
    #[error("it imports `{0}`, which this host does not offer")]
    UnknownImport(String),
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
