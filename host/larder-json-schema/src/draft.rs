//! The drafts of JSON Schema.

use serde_json::{Map, Value};

use crate::InvalidSchema;

/// A draft, in the order of publication.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Draft {
    Draft4,
    Draft6,
    Draft7,
    Draft2019,
    Draft2020,
}

impl Draft {
    /// The draft that a schema names. `None` if the schema names no draft.
    pub(crate) fn named_by(schema: &Map<String, Value>) -> Result<Option<Self>, InvalidSchema> {
        let Some(name) = schema.get("$schema") else {
            return Ok(None);
        };
        let name = name
            .as_str()
            .ok_or(InvalidSchema::expected("$schema", "a URI"))?;
        match without_scheme(name) {
            "json-schema.org/draft-04/schema" => Ok(Some(Self::Draft4)),
            "json-schema.org/draft-06/schema" => Ok(Some(Self::Draft6)),
            "json-schema.org/draft-07/schema" => Ok(Some(Self::Draft7)),
            "json-schema.org/draft/2019-09/schema" => Ok(Some(Self::Draft2019)),
            "json-schema.org/draft/2020-12/schema" => Ok(Some(Self::Draft2020)),
            _ => Err(InvalidSchema::UnknownDraft(name.to_owned())),
        }
    }

    /// The keyword for the URI of a schema.
    pub(crate) fn id_keyword(self) -> &'static str {
        match self {
            Self::Draft4 => "id",
            _ => "$id",
        }
    }

    /// Whether keywords beside a `$ref` have no effect.
    pub(crate) fn ignores_siblings_of_references(self) -> bool {
        self <= Self::Draft7
    }

    /// Whether the fragment of a schema's URI is a name of the schema.
    pub(crate) fn has_anchors_in_ids(self) -> bool {
        self <= Self::Draft7
    }
}

/// The URI of a draft without its scheme and its empty fragment.
fn without_scheme(uri: &str) -> &str {
    let path = uri
        .strip_prefix("https://")
        .or(uri.strip_prefix("http://"))
        .unwrap_or(uri);
    path.strip_suffix('#').unwrap_or(path)
}
