//! Builds the component with the commands of `larder-dev.toml`, and tests it with `larder call`.

use std::path::{Path, PathBuf};
use std::process::Command;

fn larder() -> Command {
    Command::new(std::env::var("LARDER").unwrap_or_else(|_| "larder".into()))
}

/// Returns a folder with the component and the grant of its tools.
fn plugins() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    // An explicit target folder, because Cargo's configuration may set another one.
    let build = ["build", "--release", "--target", "wasm32-wasip2", "--target-dir", "target"];
    assert!(Command::new(env!("CARGO")).args(build).current_dir(root).status().unwrap().success());
    let plugins = root.join("target/plugins");
    std::fs::create_dir_all(&plugins).unwrap();
    let mut pack = larder();
    pack.args(["pack", "target/wasm32-wasip2/release/provider.wasm", "--docs", "wit", "-o"]);
    assert!(pack.arg(plugins.join("@NAME@.wasm")).current_dir(root).status().unwrap().success());
    std::fs::write(root.join("target/larder.toml"), "[provider.@NAME@]\ntools = true\n").unwrap();
    plugins
}

/// Runs a client command in this process's own server. Returns its output, or None if the tool reports an error.
fn run(plugins: &Path, words: &[&str]) -> Option<String> {
    let config = plugins.with_file_name("larder.toml");
    let output = larder().args(words).arg("--plugins").arg(plugins).arg("--config").arg(config).output().unwrap();
    output.status.success().then(|| String::from_utf8(output.stdout).unwrap())
}

#[test]
fn functions_are_tools() {
    let plugins = plugins();
    let tools = run(&plugins, &["tools"]).unwrap();
    assert!(tools.contains("greet") && tools.contains("describe"), "{tools}");
    let greeting = run(&plugins, &["call", "greet", "--arg", "name=Ada", "--arg", "language=de"]);
    assert_eq!(greeting.unwrap().trim(), "Hallo, Ada!");
    assert_eq!(run(&plugins, &["call", "greet", "--arg", "name=Ada", "--arg", "language=xx"]), None);
    let described = run(&plugins, &["call", "describe", "--arg", "numbers=[1,2,6]"]).unwrap();
    assert!(described.contains("\"mean\""), "{described}");
}
