//! The contract in the words of a language: C and Go, whose compilers cannot read it, and the contract itself
//! for those that can.

use wit_bindgen_core::wit_parser::{Resolve, WorldId};
use wit_bindgen_core::{Files as Written, WorldGenerator};

use super::contract::{self, Ability};
use super::disk::Files;

/// What bindings can be had in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Language {
    /// A header, a source and an object with types.
    C,
    /// Packages below this one.
    Go {
        /// The import path of the folder that they are written to.
        package: String,
    },
    /// The contract as it is, for Python, JavaScript and all that have a generator of their own.
    Wit,
}

/// Why there are none.
#[derive(Debug, thiserror::Error)]
#[error("cannot make bindings: {0}")]
pub struct BindingsError(String);

macro_rules! runtime {
    ($($name:literal),* $(,)?) => {
        &[$((concat!("pkg/", $name), include_str!(concat!("../../vendor/go-pkg/", $name)))),*]
    };
}

/// What the Go bindings import: a module of the people who make the generator, without any other dependency.
/// It is written beside the bindings, so that no module has to be fetched. That of the generator's own version
/// lets Go's garbage collector ask for the time while memory is given to the host, which is a trap; this newer
/// one differs from it by nothing but that.
const RUNTIME: &[(&str, &str)] = runtime![
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

/// Makes bindings for a provider with these abilities.
pub fn bindings(language: &Language, abilities: &[Ability]) -> Result<Files, BindingsError> {
    let mut files = Files::new();
    match language {
        Language::Wit => add(&mut files, contract::wit()),
        Language::C => generate(&mut files, &mut *c(), abilities)?,
        Language::Go { package } => {
            generate(&mut files, &mut *go(package), abilities)?;
            add(&mut files, RUNTIME);
        }
    }
    Ok(files)
}

fn c() -> Box<dyn WorldGenerator> {
    // The same names whatever the abilities are.
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
    let mut written = Written::default();
    generator.generate(&mut resolve, world, &mut written).map_err(failed)?;
    files.extend(written.iter().map(|(name, bytes)| (name.to_owned(), bytes.to_vec())));
    Ok(())
}

fn add(files: &mut Files, texts: &[(&str, &str)]) {
    files.extend(texts.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec())));
}
