//! Bindings for the contract, generated from `wit/`.
#![allow(missing_docs, unreachable_pub, reason = "generated")]

wasmtime::component::bindgen!({
    path: "wit",
    world: "every-interface",
    imports: {
        "larder:provider/http-client.send": async | trappable,
        "larder:provider/http-client.send-all": async | trappable,
        "larder:provider/key-value.get": async | trappable,
        "larder:provider/key-value.set": async | trappable,
        "larder:provider/key-value.delete": async | trappable,
        "larder:provider/key-value.compare-and-swap": async | trappable,
        "larder:provider/key-value.list-keys": async | trappable,
        default: trappable,
    },
    exports: { default: async },
});
