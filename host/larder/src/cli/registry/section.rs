//! The section of a provider in `larder.toml`. Edits keep comments and all other text unchanged.

use toml_edit::{InlineTable, Item, Table, TableLike, value};

use crate::toml_text::{self, TomlTextError};

/// The key with the reference.
const COMPONENT: &str = "component";

/// `[provider.NAME]`, or `[team.TEAM.provider.NAME]`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Section<'a> {
    /// None if the configuration has no teams.
    pub(super) team: Option<&'a str>,
    pub(super) name: &'a str,
}

impl Section<'_> {
    /// Returns the text with this reference in the section. If the section is missing, adds it.
    pub(super) fn with_component(
        &self,
        text: &str,
        reference: &str,
    ) -> Result<String, TomlTextError> {
        let path = self.path();
        let document = toml_text::parse(text)?;
        let is_new = toml_text::find(&document, &path)?.is_none();
        if is_new && toml_text::accepts_headers(&document, &path[..path.len() - 1])? {
            let mut table = Table::new();
            table.insert(COMPONENT, value(reference));
            return Ok(toml_text::append(text, &path, table));
        }
        toml_text::edit(text, |document| {
            let section = table_at(document.as_item_mut(), &path)?;
            match section.get_mut(COMPONENT) {
                Some(existing) => toml_text::replace(existing, value(reference)),
                None => {
                    section.insert(COMPONENT, value(reference));
                }
            }
            Ok(())
        })
    }

    /// Returns the text without the section and the tables in it.
    pub(super) fn removed_from(&self, text: &str) -> Result<String, TomlTextError> {
        let path = self.path();
        let document = toml_text::parse(text)?;
        match toml_text::find(&document, &path)? {
            None => Ok(text.to_owned()),
            Some(Item::Table(table)) if !table.is_dotted() => {
                Ok(toml_text::without_table(text, table))
            }
            Some(_) => toml_text::edit(text, |document| {
                table_at(document.as_item_mut(), &path[..path.len() - 1])?.remove(self.name);
                Ok(())
            }),
        }
    }

    /// Returns the keys of the section other than the reference.
    pub(super) fn other_keys(&self, text: &str) -> Result<Vec<String>, TomlTextError> {
        let document = toml_text::parse(text)?;
        let section = toml_text::find(&document, &self.path())?.and_then(Item::as_table_like);
        let keys = section
            .into_iter()
            .flat_map(|table| table.iter().map(|(key, _)| key.to_owned()));
        Ok(keys.filter(|key| key != COMPONENT).collect())
    }

    fn path(&self) -> Vec<&str> {
        let team = self.team.into_iter().flat_map(|team| ["team", team]);
        team.chain(["provider", self.name]).collect()
    }
}

/// Returns the table at this path. Tables that are missing become inline tables.
fn table_at<'a>(
    document: &'a mut Item,
    path: &[&str],
) -> Result<&'a mut dyn TableLike, TomlTextError> {
    let mut found = document;
    for key in path {
        let table = found.as_table_like_mut().ok_or_else(|| not_a_table(path))?;
        found = table
            .entry(key)
            .or_insert_with(|| Item::Value(InlineTable::new().into()));
    }
    found.as_table_like_mut().ok_or_else(|| not_a_table(path))
}

fn not_a_table(path: &[&str]) -> TomlTextError {
    TomlTextError::NotATable(format!("its `{}`", path.join(".")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const REFERENCE: &str = "r.example/wiki:1";

    fn section(team: Option<&str>) -> Section<'_> {
        Section { team, name: "wiki" }
    }

    /// Adds the reference. Checks the result, and checks that removing the section restores the text.
    fn check(before: &str, after: &str) {
        let section = section(None);
        let added = section.with_component(before, REFERENCE).unwrap();
        assert_eq!(added, after);
        assert_eq!(section.removed_from(&added).unwrap(), before);
    }

    #[test]
    fn a_new_section_follows_the_text_and_can_be_removed() {
        check("", "[provider.wiki]\ncomponent = \"r.example/wiki:1\"\n");
        check(
            "# All.\nplugins = 'p' # here\n\n[provider.files]\ndirs = ['d']\n",
            "# All.\nplugins = 'p' # here\n\n[provider.files]\ndirs = ['d']\n\n[provider.wiki]\ncomponent = \"r.example/wiki:1\"\n",
        );
        check(
            "[server]\r\nlisten = 'x'\r\n",
            "[server]\r\nlisten = 'x'\r\n\r\n[provider.wiki]\r\ncomponent = \"r.example/wiki:1\"\r\n",
        );
        check(
            "provider = {}\n",
            "provider = { wiki = { component = \"r.example/wiki:1\" } }\n",
        );
    }

    #[test]
    fn an_existing_section_keeps_its_keys_and_comments() {
        let before = "[provider.wiki] # ours\n# Grants.\nhosts = ['https://x.example'] # API\n\n[provider.wiki.settings]\na = 1\n";
        let added = section(None).with_component(before, REFERENCE).unwrap();
        assert_eq!(
            added,
            "[provider.wiki] # ours\n# Grants.\nhosts = ['https://x.example'] # API\ncomponent = \"r.example/wiki:1\"\n\n[provider.wiki.settings]\na = 1\n"
        );
        let moved = section(None)
            .with_component(&added, "r.example/wiki:2")
            .unwrap();
        assert_eq!(moved, added.replace("wiki:1", "wiki:2"));
        assert_eq!(
            section(None).other_keys(&moved).unwrap(),
            ["hosts", "settings"]
        );
        let dotted = section(None)
            .with_component("provider.wiki.prompts = true\n", REFERENCE)
            .unwrap();
        assert!(
            toml_text::find(
                &toml_text::parse(&dotted).unwrap(),
                &["provider", "wiki", "component"]
            )
            .is_err()
        );
        assert_eq!(section(None).removed_from(&dotted).unwrap().trim(), "");
    }

    #[test]
    fn teams_have_sections_of_their_own() {
        let section = section(Some("docs"));
        let before = "[team.docs]\nplugins = 'docs'\n";
        let added = section.with_component(before, REFERENCE).unwrap();
        assert_eq!(
            added,
            "[team.docs]\nplugins = 'docs'\n\n[team.docs.provider.wiki]\ncomponent = \"r.example/wiki:1\"\n"
        );
        assert_eq!(section.removed_from(&added).unwrap(), before);
        let inline = section
            .with_component("team.docs = { plugins = 'docs' }\n", REFERENCE)
            .unwrap();
        assert_eq!(section.other_keys(&inline).unwrap(), Vec::<String>::new());
        assert!(
            inline.contains(REFERENCE) && inline.contains("plugins = 'docs'"),
            "{inline}"
        );
    }

    #[test]
    fn refuses_what_is_not_a_table() {
        assert!(
            section(None)
                .with_component("provider = 1\n", REFERENCE)
                .is_err()
        );
        assert!(
            section(None)
                .with_component("provider.wiki = 1\n", REFERENCE)
                .is_err()
        );
        assert!(section(None).with_component("= 1\n", REFERENCE).is_err());
        assert_eq!(section(None).removed_from("a = 1\n").unwrap(), "a = 1\n");
    }
}
