//! Bindings of the contract for C and Go, and the contract itself for languages whose tools read WIT.

use wit_bindgen_core::wit_parser::{Resolve, WorldId};
use wit_bindgen_core::{Files as GeneratedFiles, WorldGenerator};

use super::contract::{self, Ability};
use super::disk::Files;

/// The language of bindings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BindingsLanguage {
    /// A header, a source file and an object file with the types.
    C,
    /// Packages below an import path.
    Go {
        /// The import path of the output folder.
        package: String,
    },
    /// The WIT files, for Python, JavaScript and other languages with their own generators.
    Wit,
}

/// Why bindings could not be generated.
#[derive(Debug, thiserror::Error)]
#[error("cannot generate bindings: {0}")]
pub struct BindingsError(String);

macro_rules! runtime {
    ($($name:literal),* $(,)?) => {
        &[$((concat!("pkg/", $name), include_str!(concat!("../vendor/go-pkg/", $name)))),*]
    };
}

/// The runtime module that the Go bindings import. It is from the authors of the generator and has no
/// dependencies. It is written next to the bindings, so that no module has to be downloaded. It is newer than
/// the generator: the version that belongs to the generator lets Go's garbage collector read the clock while
/// the host allocates memory, which traps. That is the only difference.
const GO_RUNTIME: &[(&str, &str)] = runtime![
    "go.mod",
    "LICENSE",
    "wit/async/async.go",
    "wit/async/empty.s",
    "wit/runtime/empty.s",
    "wit/runtime/runtime.go",
    "wit/types/future.go",
    "wit/types/option.go",
    "wit/types/result.go",
    "wit/types/stream.go",
    "wit/types/tuple.go",
    "wit/types/unit.go",
];

/// Generates bindings for a provider with these abilities.
pub fn bindings(language: &BindingsLanguage, abilities: &[Ability]) -> Result<Files, BindingsError> {
    let mut files = Files::new();
    match language {
        BindingsLanguage::Wit => add(&mut files, contract::wit()),
        BindingsLanguage::C => generate(&mut files, &mut *c(), abilities)?,
        BindingsLanguage::Go { package } => {
            generate(&mut files, &mut *go(package), abilities)?;
            add(&mut files, GO_RUNTIME);
        }
    }
    Ok(files)
}

fn c() -> Box<dyn WorldGenerator> {
    // A fixed name, so that the generated names do not depend on the abilities.
    wit_bindgen_c::Opts { rename_world: Some("provider".into()), ..Default::default() }.build()
}

fn go(package: &str) -> Box<dyn WorldGenerator> {
    wit_bindgen_go::Opts { pkg_name: Some(package.to_owned()), ..Default::default() }.build()
}

fn generate(
    files: &mut Files,
    generator: &mut dyn WorldGenerator,
    abilities: &[Ability],
) -> Result<(), BindingsError> {
    let failed = |error: anyhow::Error| BindingsError(format!("{error:#}"));
    let (mut resolve, world): (Resolve, WorldId) = contract::world(abilities).map_err(failed)?;
    let mut generated = GeneratedFiles::default();
    generator.generate(&mut resolve, world, &mut generated).map_err(failed)?;
    files.extend(generated.iter().map(|(name, bytes)| (name.to_owned(), bytes.to_vec())));
    Ok(())
}

fn add(files: &mut Files, texts: &[(&str, &str)]) {
    files.extend(texts.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec())));
}
