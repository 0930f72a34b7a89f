//! `host/tests/fixtures`: one component for each released version of the contract and each language. They are
//! built from the examples once, when the version is released, and never change.

use std::fs;

use anyhow::{Context as _, Result, ensure};

use crate::languages::example_component;
use crate::run::{Output, command, root};
use crate::tools::succeeds;

const LANGUAGES: [&str; 5] = ["c", "go", "javascript", "python", "rust"];

/// Stores the examples that `cargo xtask test language` has built as fixtures of the current contract version.
pub(crate) fn store(output: &Output) -> Result<()> {
    let version = crate::wit::current_version()?;
    let folder = root().join("host/tests/fixtures").join(&version);
    ensure!(
        !folder.exists(),
        "version {version} already has fixtures; fixtures are never changed"
    );
    ensure!(
        succeeds(command("zstd").arg("--version")),
        "zstd is not installed; get it from your system's packages"
    );
    let built = LANGUAGES.map(|language| (language, example_component(language)));
    for (language, component) in &built {
        ensure!(
            component.is_file(),
            "the {language} example is not built; run `cargo xtask test language`"
        );
    }
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    for (language, component) in &built {
        let to = folder.join(format!("{language}.wasm.zst"));
        output.run(
            command("zstd")
                .args(["-19", "-q"])
                .arg(component)
                .arg("-o")
                .arg(to),
        )?;
    }
    output.write_line(&format!(
        "stored {} components for version {version}",
        built.len()
    ))
}
