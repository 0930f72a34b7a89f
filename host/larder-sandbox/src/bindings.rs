//! Bindings for the contract, generated from `wit/`.
#![allow(missing_docs, unreachable_pub, reason = "generated")]

wasmtime::component::bindgen!({
    path: "../../wit",
    world: "full-provider",
    imports: { "larder:provider/http-client.send": async | trappable, default: trappable },
    exports: { default: async },
});
