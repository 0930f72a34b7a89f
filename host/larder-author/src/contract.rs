//! The WIT files of the contract, and worlds assembled from them.

use wit_bindgen_core::wit_parser::{Resolve, SourceMap, WorldId};

macro_rules! files {
    ($($name:literal),*) => {
        &[$(($name, include_str!(concat!("../../../wit/", $name)))),*]
    };
}

const FILES: &[(&str, &str)] = files![
    "completion-provider.wit",
    "http-client.wit",
    "provider-host.wit",
    "provider-types.wit",
    "resource-provider.wit",
    "version-provider.wit",
    "world.wit"
];

/// What a provider may export beyond resources.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ability {
    /// Completion of template variables.
    Completions,
    /// Versions of resources without reading them.
    Versions,
}

impl Ability {
    /// All abilities.
    pub const ALL: [Self; 2] = [Self::Completions, Self::Versions];

    /// Returns the interface of the contract.
    pub fn interface(self) -> &'static str {
        match self {
            Self::Completions => "completion-provider",
            Self::Versions => "version-provider",
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
    let exports: String =
        abilities.iter().map(|ability| format!("export {};", ability.interface())).collect();
    format!("{package}\nworld assembled {{ include provider; {exports} }}\n")
}

#[cfg(test)]
mod tests {
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
        assert_eq!(names, FILES.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    }

    #[test]
    fn worlds_export_the_abilities() {
        let check = |abilities: &[Ability], expected: &[&str]| {
            let (resolve, world) = world(abilities).unwrap();
            let exports = resolve.worlds[world].exports.keys().map(|key| resolve.name_world_key(key));
            let mut names: Vec<_> = exports.filter(|name| !name.contains("provider-types")).collect();
            names.sort();
            let full = |name: &&str| format!("larder:provider/{name}@0.1.0");
            assert_eq!(names, expected.iter().map(full).collect::<Vec<_>>());
        };
        check(&[], &["resource-provider"]);
        check(&[Ability::Versions], &["resource-provider", "version-provider"]);
        check(&Ability::ALL, &["completion-provider", "resource-provider", "version-provider"]);
    }
}
