//! Links the program and its tests at fixed addresses if they are built for tests. Otherwise, each start relocates ten
//! megabytes of a program without optimisation, and the tests start several thousand of them.

#![allow(
    clippy::disallowed_methods,
    reason = "cargo tells a build script everything in variables"
)]

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |variable: &str, expected: &str| {
        std::env::var(variable).is_ok_and(|value| value == expected)
    };
    let is_for_tests = is("PROFILE", "debug");
    if is_for_tests && is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") {
        println!("cargo::rustc-link-arg-bins=-no-pie");
        println!("cargo::rustc-link-arg-tests=-no-pie");
    }
}
