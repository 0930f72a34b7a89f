//! Links the program and its tests at fixed addresses if they are built for tests. Otherwise, each start applies 400,000
//! relocations of a program without optimisation, and the tests start it several thousand times.

#![allow(
    clippy::disallowed_methods,
    reason = "cargo tells a build script everything in variables"
)]

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is_for_tests = has_value("PROFILE", "debug");
    let has_glibc =
        has_value("CARGO_CFG_TARGET_OS", "linux") && has_value("CARGO_CFG_TARGET_ENV", "gnu");
    if is_for_tests && has_glibc {
        println!("cargo::rustc-link-arg=-no-pie");
    }
}

/// Whether a variable of cargo has this value.
fn has_value(variable: &str, expected: &str) -> bool {
    env::var(variable).is_ok_and(|value| value == expected)
}
