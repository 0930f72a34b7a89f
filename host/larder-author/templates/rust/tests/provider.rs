//! Builds the component and tests it with `larder read`.

use std::path::{Path, PathBuf};
use std::process::Command;

fn plugins() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    // An explicit target folder, because Cargo's configuration may set another one.
    let build = ["build", "--release", "--target", "wasm32-wasip2", "--target-dir", "target"];
    assert!(Command::new(env!("CARGO")).args(build).current_dir(root).status().unwrap().success());
    let plugins = root.join("target/plugins");
    std::fs::create_dir_all(&plugins).unwrap();
    let built = root.join("target/wasm32-wasip2/release/provider.wasm");
    std::fs::copy(built, plugins.join("@NAME@.wasm")).unwrap();
    plugins
}

/// Returns the content of a URI, or None if it does not exist.
fn read(plugins: &Path, uri: &str) -> Option<String> {
    let larder = std::env::var("LARDER").unwrap_or_else(|_| "larder".into());
    let output = Command::new(larder).args(["read", uri, "--plugins"]).arg(plugins).output().unwrap();
    output.status.success().then(|| String::from_utf8(output.stdout).unwrap())
}

#[test]
fn returns_greetings() {
    let plugins = plugins();
    assert_eq!(read(&plugins, "@NAME@://hello").as_deref(), Some("Hello, world!\n"));
    assert_eq!(read(&plugins, "@NAME@://hello/Ada").as_deref(), Some("Hello, Ada!\n"));
    assert_eq!(read(&plugins, "@NAME@://nothing"), None);
}
