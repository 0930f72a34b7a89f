//! Compresses the components of a folder, and writes the table of the built-in providers. The folder is
//! `LARDER_BUILTIN_PROVIDERS`, or else `target/plugins` of the repository. Without a folder, the table is empty.

#![allow(
    clippy::disallowed_methods,
    reason = "cargo tells a build script everything in variables"
)]

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use sha2::{Digest as _, Sha256};

const VARIABLE: &str = "LARDER_BUILTIN_PROVIDERS";

/// The largest component that becomes a part of the program, in bytes. A component in Python is ten times as large,
/// because it contains an interpreter.
const MAX_SIZE: u64 = 4 << 20;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed={VARIABLE}");
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    let mut table = Table::default();
    if let Some(folder) = folder() {
        for component in components(&folder)? {
            println!("cargo::rerun-if-changed={}", component.display());
            table.add(&component, &out)?;
        }
    }
    Ok(fs::write(out.join("table.rs"), table.source())?)
}

/// Returns the folder with the components.
fn folder() -> Option<PathBuf> {
    if let Some(folder) = std::env::var_os(VARIABLE) {
        return Some(folder.into()).filter(|folder: &PathBuf| !folder.as_os_str().is_empty());
    }
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    if !repository.join("plugins/Cargo.toml").exists() {
        return None;
    }
    let folder = repository.join("target/plugins");
    // Cargo runs this again when components appear in the folder, but only if the folder exists now. Without the
    // folder, cargo would run it for each build.
    fs::create_dir_all(&folder).ok()?;
    println!("cargo::rerun-if-changed={}", folder.display());
    Some(folder)
}

/// The components of a folder, sorted.
fn components(folder: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let unreadable = |error| format!("cannot read {}: {error}", folder.display());
    let mut found = Vec::new();
    for item in fs::read_dir(folder).map_err(unreadable)? {
        let path = item?.path();
        let is_hidden = path
            .file_name()
            .is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        if path
            .extension()
            .is_some_and(|extension| extension == "wasm")
            && !is_hidden
        {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

#[derive(Default)]
struct Table {
    embedded: String,
    too_large: Vec<String>,
}

impl Table {
    /// Adds a component, and writes its compressed bytes.
    fn add(&mut self, component: &Path, out: &Path) -> Result<(), Box<dyn Error>> {
        let stem = component.file_stem().unwrap_or_default();
        let name = stem
            .to_str()
            .ok_or("the name of a component is not UTF-8")?;
        // The crate of the provider `http` has another name than its folder.
        let name = name.strip_suffix("_provider").unwrap_or(name);
        let size = fs::metadata(component)?.len();
        if size > MAX_SIZE {
            self.too_large.push(name.to_owned());
            return Ok(());
        }
        let bytes = fs::read(component)?;
        let digest: [u8; 32] = Sha256::digest(&bytes).into();
        let compressed = out.join(format!("{name}.wasm.zst"));
        fs::write(
            &compressed,
            compress_to_vec(&*bytes, CompressionLevel::Fastest),
        )?;
        writeln!(
            self.embedded,
            "    BuiltinProvider {{ name: {name:?}, size: {}, digest: {digest:?}, compressed: include_bytes!({compressed:?}) }},",
            bytes.len(),
        )?;
        Ok(())
    }

    fn source(&self) -> String {
        format!(
            "static EMBEDDED: &[BuiltinProvider] = &[\n{}];\n\nstatic TOO_LARGE: &[&str] = &{:?};\n",
            self.embedded, self.too_large
        )
    }
}
