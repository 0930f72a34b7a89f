//! The contract, as it is compiled in, and the worlds that can be made of it.

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
    /// Suggestions for the variables of templates.
    Completions,
    /// Current versions, more cheaply than by reading.
    Versions,
}

impl Ability {
    /// All there are.
    pub const ALL: [Self; 2] = [Self::Completions, Self::Versions];

    /// The interface of the contract.
    pub fn interface(self) -> &'static str {
        match self {
            Self::Completions => "completion-provider",
            Self::Versions => "version-provider",
        }
    }
}

/// The files of the contract: names and texts.
pub fn wit() -> &'static [(&'static str, &'static str)] {
    FILES
}

/// A world with resources and these abilities.
pub(super) fn world(abilities: &[Ability]) -> anyhow::Result<(Resolve, WorldId)> {
    let mut sources = SourceMap::new();
    for (name, text) in FILES {
        sources.push_str(name, *text);
    }
    sources.push_str("assembled.wit", assembled(abilities));
    let mut resolve = Resolve::default();
    let package = sources.parse().map_err(|(_, error)| error)?;
    let package = resolve.push_group(package)?;
    let world = resolve.select_world(&[package], Some("assembled"))?;
    Ok((resolve, world))
}

fn assembled(abilities: &[Ability]) -> String {
    // Every file of a package names it in its first line.
    let package = FILES[0].1.lines().next().unwrap_or_default();
    let exports: String =
        abilities.iter().map(|ability| format!("export {};", ability.interface())).collect();
    format!("{package}\nworld assembled {{ include provider; {exports} }}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_contract_is_compiled_in() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../wit");
        let mut names: Vec<_> = std::fs::read_dir(folder)
            .unwrap()
            .map(|item| item.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.ends_with(".wit"))
            .collect();
        names.sort();
        assert_eq!(names, FILES.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    }

    #[test]
    fn a_world_exports_what_it_is_made_for() {
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
