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

/// The runtime module that the Go bindings import. The module is from the authors of the generator and has no
/// dependencies. It is written next to the bindings, so that no module has to be downloaded. Its version is newer than
/// the generator. The only difference is this: in the version of the generator, Go's garbage collector reads the clock
/// while the host allocates memory, which traps.
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
pub fn bindings(
    language: &BindingsLanguage,
    abilities: &[Ability],
) -> Result<Files, BindingsError> {
    let mut files = Files::new();
    match language {
        BindingsLanguage::Wit => add(&mut files, contract::wit()),
        BindingsLanguage::C => {
            generate(&mut files, &mut *c(), abilities)?;
            define_abilities(&mut files, abilities);
        }
        BindingsLanguage::Go { package } => {
            generate(&mut files, &mut *go(package), abilities)?;
            add(&mut files, GO_RUNTIME);
        }
    }
    Ok(files)
}

fn c() -> Box<dyn WorldGenerator> {
    // The name is fixed, so that the generated names do not depend on the abilities.
    wit_bindgen_c::Opts {
        rename_world: Some("provider".into()),
        ..Default::default()
    }
    .build()
}

/// Defines a macro for each ability in the header, because C code cannot find out which types exist.
fn define_abilities(files: &mut Files, abilities: &[Ability]) {
    let Some(header) = files.get_mut("provider.h") else {
        return;
    };
    let mut macros = String::from("\n// The interfaces of `--with`.\n");
    for ability in abilities {
        let name = ability
            .interface()
            .trim_end_matches("-provider")
            .to_ascii_uppercase();
        // The name has the plural, as in `--with`.
        let plural = if matches!(ability, Ability::Search | Ability::Settings) {
            ""
        } else {
            "S"
        };
        macros += &format!("#define LARDER_WITH_{name}{plural}\n");
    }
    let guard = b"#define __BINDINGS_PROVIDER_H\n";
    if let Some(at) = header.windows(guard.len()).position(|line| line == guard) {
        header.splice(at + guard.len()..at + guard.len(), macros.into_bytes());
    }
}

fn go(package: &str) -> Box<dyn WorldGenerator> {
    wit_bindgen_go::Opts {
        pkg_name: Some(package.to_owned()),
        ..Default::default()
    }
    .build()
}

fn generate(
    files: &mut Files,
    generator: &mut dyn WorldGenerator,
    abilities: &[Ability],
) -> Result<(), BindingsError> {
    let failed = |error: anyhow::Error| BindingsError(format!("{error:#}"));
    let (mut resolve, world): (Resolve, WorldId) = contract::world(abilities).map_err(failed)?;
    let mut generated = GeneratedFiles::default();
    generator
        .generate(&mut resolve, world, &mut generated)
        .map_err(failed)?;
    files.extend(
        generated
            .iter()
            .map(|(name, bytes)| (name.to_owned(), bytes.to_vec())),
    );
    Ok(())
}

fn add(files: &mut Files, texts: &[(&str, &str)]) {
    files.extend(
        texts
            .iter()
            .map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec())),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_defines_a_macro_for_each_ability() {
        let macros = |abilities: &[Ability]| {
            let files = bindings(&BindingsLanguage::C, abilities).unwrap();
            let header = String::from_utf8(files["provider.h"].clone()).unwrap();
            let names = header
                .lines()
                .filter_map(|line| line.strip_prefix("#define LARDER_WITH_"));
            names.map(str::to_owned).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(macros(&[]), "");
        assert_eq!(macros(&[Ability::Search]), "SEARCH");
        assert_eq!(
            macros(&Ability::ALL),
            "COMPLETIONS VERSIONS TOOLS PROMPTS SEARCH SETTINGS"
        );
    }
}
