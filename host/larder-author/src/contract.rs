//! The WIT files of the contract, and worlds assembled from them.

use wit_bindgen_core::wit_parser::{Resolve, SourceMap, WorldId};

macro_rules! files {
    ($($name:literal),*) => {
        &[$(($name, include_str!(concat!("../wit/", $name)))),*]
    };
}

const FILES: &[(&str, &str)] = files![
    "completion-provider.wit",
    "directory-provider.wit",
    "http-client.wit",
    "interaction-host.wit",
    "interaction-types.wit",
    "key-value.wit",
    "prompt-provider.wit",
    "provider-host.wit",
    "provider-types.wit",
    "resource-provider.wit",
    "search-provider.wit",
    "settings-provider.wit",
    "tool-provider.wit",
    "version-provider.wit",
    "world.wit"
];

/// The optional interfaces that a provider may export in addition to resources.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ability {
    /// Completion of template variables.
    Completions,
    /// Versions of resources without reading them.
    Versions,
    /// Functions that a model may call.
    Tools,
    /// Prompts that a user selects.
    Prompts,
    /// Search in the content of the provider.
    Search,
    /// A declaration of the provider's settings.
    Settings,
}

impl Ability {
    /// All abilities.
    pub const ALL: [Self; 6] = [
        Self::Completions,
        Self::Versions,
        Self::Tools,
        Self::Prompts,
        Self::Search,
        Self::Settings,
    ];

    /// Returns the interface of the contract.
    pub fn interface(self) -> &'static str {
        match self {
            Self::Completions => "completion-provider",
            Self::Versions => "version-provider",
            Self::Tools => "tool-provider",
            Self::Prompts => "prompt-provider",
            Self::Search => "search-provider",
            Self::Settings => "settings-provider",
        }
    }

    /// Returns whether calls of this interface may use `interaction-host`.
    fn is_interactive(self) -> bool {
        match self {
            Self::Tools | Self::Prompts => true,
            Self::Completions | Self::Versions | Self::Search | Self::Settings => false,
        }
    }
}

/// Returns the names and texts of the WIT files.
pub fn wit() -> &'static [(&'static str, &'static str)] {
    FILES
}

/// Builds a world that exports resources and these abilities.
pub(super) fn world(abilities: &[Ability]) -> anyhow::Result<(Resolve, WorldId)> {
    let mut sources = SourceMap::new();
    for (name, text) in FILES {
        sources.push_str(name, *text);
    }
    sources.push_str("assembled.wit", assembled_world(abilities));
    let mut resolve = Resolve::default();
    let package = sources.parse().map_err(|(_, error)| error)?;
    let package = resolve.push_group(package)?;
    let world = resolve.select_world(&[package], Some("assembled"))?;
    Ok((resolve, world))
}

fn assembled_world(abilities: &[Ability]) -> String {
    // Every WIT file begins with the line that names the package.
    let package = FILES[0].1.lines().next().unwrap_or_default();
    let exports: String = abilities
        .iter()
        .map(|ability| format!("export {};", ability.interface()))
        .collect();
    let interactive = abilities.iter().any(|ability| ability.is_interactive());
    let import = if interactive {
        "import interaction-host;"
    } else {
        ""
    };
    format!("{package}\nworld assembled {{ include provider; {import} {exports} }}\n")
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use wit_bindgen_core::wit_parser::WorldKey;

    use super::*;

    #[test]
    fn contains_all_files_of_the_contract() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../wit");
        let mut names: Vec<_> = std::fs::read_dir(folder)
            .unwrap()
            .map(|item| item.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.ends_with(".wit"))
            .collect();
        names.sort();
        assert_eq!(
            names,
            FILES.iter().map(|(name, _)| *name).collect::<Vec<_>>()
        );
    }

    /// Returns the names of the interfaces. Interfaces that only contain types are omitted.
    fn names<'a>(resolve: &Resolve, keys: impl Iterator<Item = &'a WorldKey>) -> String {
        let names = keys.map(|key| resolve.name_world_key(key));
        let short = |name: String| {
            name.replace("larder:provider/", "")
                .trim_end_matches("@0.1.0")
                .trim_end_matches("-provider")
                .to_owned()
        };
        let mut names: Vec<_> = names
            .map(short)
            .filter(|name| !name.ends_with("-types"))
            .collect();
        names.sort();
        names.join(" ")
    }

    #[test]
    fn worlds_export_the_abilities() {
        let check = |abilities: &[Ability], expected: Expect| {
            let (resolve, world) = world(abilities).unwrap();
            let world = &resolve.worlds[world];
            let imports = names(&resolve, world.imports.keys());
            let exports = names(&resolve, world.exports.keys());
            expected.assert_eq(&format!("{imports} -> {exports}"));
        };
        check(
            &[],
            expect!["http-client key-value provider-host -> resource"],
        );
        check(
            &[Ability::Versions],
            expect!["http-client key-value provider-host -> resource version"],
        );
        check(
            &[Ability::Search, Ability::Settings],
            expect!["http-client key-value provider-host -> resource search settings"],
        );
        check(
            &[Ability::Tools],
            expect!["http-client interaction-host key-value provider-host -> resource tool"],
        );
        check(
            &[Ability::Prompts],
            expect!["http-client interaction-host key-value provider-host -> prompt resource"],
        );
        check(
            &Ability::ALL,
            expect![
                "http-client interaction-host key-value provider-host -> completion prompt resource search settings tool version"
            ],
        );
    }

    /// The world of the contract with all optional interfaces contains the same interfaces as an assembled world.
    #[test]
    fn interactive_provider_has_all_abilities() {
        let (resolve, assembled) = world(&Ability::ALL).unwrap();
        let package = resolve.worlds[assembled].package.unwrap();
        let written = resolve
            .select_world(&[package], Some("interactive-provider"))
            .unwrap();
        let both = |world: WorldId| {
            let world = &resolve.worlds[world];
            (
                names(&resolve, world.imports.keys()),
                names(&resolve, world.exports.keys()),
            )
        };
        assert_eq!(both(written), both(assembled));
    }
}
