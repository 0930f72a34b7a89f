//! Bindings for the contract, generated from `wit/`.
#![allow(missing_docs, unreachable_pub, reason = "generated")]

wasmtime::component::bindgen!({
    path: "../../wit",
    world: "interactive-provider",
    imports: {
        "larder:provider/http-client.send": async | trappable,
        "larder:provider/http-client.send-all": async | trappable,
        default: trappable,
    },
    exports: { default: async },
});
