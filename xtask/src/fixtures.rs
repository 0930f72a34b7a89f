//! `host/tests/fixtures`: one component for each released version of the contract and each language. They are made of
//! the examples as they are at the time, and never again.

use std::fs;

use anyhow::{Context as _, Result, ensure};

use crate::run::{Output, command, root, target};
use crate::tools::works;

const LANGUAGES: [&str; 5] = ["c", "go", "javascript", "python", "rust"];

/// Keeps the examples that `cargo xtask test example` has built, for the version that the contract has now.
pub(crate) fn keep(output: &Output) -> Result<()> {
    let version = crate::wit::current()?;
    let folder = root().join("host/tests/fixtures").join(&version);
    ensure!(!folder.exists(), "{version} has its fixtures already, and they stay as they are");
    ensure!(
        works(command("zstd").arg("--version")),
        "zstd is not installed; get it from your system's packages"
    );
    let built = LANGUAGES
        .map(|language| (language, target(&format!("examples/asked-{language}/plugins/changelog.wasm"))));
    for (language, component) in &built {
        ensure!(component.is_file(), "the example in {language} is not built: `cargo xtask test example`");
    }
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    for (language, component) in &built {
        let to = folder.join(format!("{language}.wasm.zst"));
        output.run(command("zstd").args(["-19", "-q"]).arg(component).arg("-o").arg(to))?;
    }
    output.say(&format!("kept {} components for {version}", built.len()))
}
