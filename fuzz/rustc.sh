#!/bin/sh
# A compiler wrapper (RUSTC_WRAPPER) that adds coverage instrumentation to the crates that are fuzzed and to the parsers
# below them. The engine is not instrumented: libFuzzer looks at all counters after each input, and the engine has most of
# them. The options are stable; only the sanitizers of `cargo fuzz` need a nightly compiler, and the server has no `unsafe`
# code for them to check. After a change of this file, delete target/fuzz: cargo does not notice it.
rustc=$1
shift
name=
previous=
is_optimized=
for argument; do
    [ "$previous" = --crate-name ] && name=$argument
    # Build scripts and procedural macros are not optimized. They run in the compiler, which has no counters.
    [ "$argument" = opt-level=2 ] && is_optimized=yes
    previous=$argument
done
[ -n "$is_optimized" ] || exec "$rustc" "$@"
case $name in
larder* | base64_simd | fluent_uri | http | http_auth | httparse | hyper | percent_encoding | serde_json | toml* | winnow \
    | cursor | grant_request | http_head | json_rpc | registry_token | uri_template | wit_conversion)
    set -- "$@" -Cpasses=sancov-module -Ccodegen-units=1 \
        -Cllvm-args=-sanitizer-coverage-level=4 \
        -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
        -Cllvm-args=-sanitizer-coverage-pc-table \
        -Cllvm-args=-sanitizer-coverage-trace-compares
    ;;
esac
exec "$rustc" "$@"
