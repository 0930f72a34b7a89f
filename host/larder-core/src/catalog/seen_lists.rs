//! The lists of tools and prompts as clients see them. If clients see several catalogs together and a tool of one
//! catalog has the name of a tool in an earlier one, clients do not see the later tool, and its changes do not count.

use std::collections::HashSet;

use super::Catalog;
use larder_model::name::Digest;

/// The digests of the lists of tools and of prompts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SeenLists {
    pub(super) tools: Digest,
    pub(super) prompts: Digest,
}

impl SeenLists {
    /// Computes the lists of these catalogs. An earlier catalog takes precedence.
    pub(super) fn of(catalogs: &[&Catalog]) -> Self {
        let own_tools = catalogs.iter().any(|catalog| catalog.has_resource_tools());
        let mut reserved = HashSet::new();
        let mut tools = Vec::new();
        for catalog in catalogs {
            let all = catalog
                .tools()
                .filter(|(_, tool)| !reserved.contains(tool.name.as_str()));
            tools.extend(all.map(|(_, tool)| (tool.name.as_str(), tool.digest)));
            reserved.extend(catalog.reserved_tools());
        }
        let prompts = catalogs.iter().flat_map(|catalog| catalog.prompts());
        Self {
            tools: digest(own_tools, tools.into_iter()),
            prompts: digest(
                false,
                prompts.map(|(_, prompt)| (prompt.name.as_str(), prompt.digest)),
            ),
        }
    }
}

/// Names contain no line breaks, so that the text is unambiguous.
fn digest<'a>(more: bool, definitions: impl Iterator<Item = (&'a str, Digest)>) -> Digest {
    let mut names = HashSet::new();
    let first_ones = definitions.filter(|(name, _)| names.insert(*name));
    let lines = first_ones.map(|(name, digest)| format!("{name}\n{digest}\n"));
    Digest::of(
        std::iter::once(format!("{more}\n"))
            .chain(lines)
            .collect::<String>()
            .as_bytes(),
    )
}
